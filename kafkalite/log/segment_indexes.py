"""The two indexes of one segment as one thing: when entries are added, and how they reach the disk.

Kafka's rule for an entry: once more than `index.interval.bytes` were appended since the last one,
the next batch gets an entry in the offset index, and the time index gets the latest timestamp so
far if it rose. When the segment rolls or closes, the time index gets its last entry (`seal`).

While the segment grows, the entries that are there can be on the disk alone (`spill`).
"""

from __future__ import annotations

from kafkalite.errors import CorruptRecordError
from kafkalite.log.files import Files
from kafkalite.log.index import OFFSET_ENTRY_SIZE, OffsetIndex
from kafkalite.log.index_files import extend
from kafkalite.log.scan import find_batch
from kafkalite.log.time_index import TIME_ENTRY_SIZE, TimeIndex
from kafkalite.protocol.records.batch import HEADER_SIZE, read_header
from kafkalite.types import NO_TIMESTAMP, TimestampMs

_OVERHEAD_BYTES = 600
"""Of the objects, for indexes without entries."""
_LATEST = 32
"""Entries that stay when others go: most who read a log that grows read near its end."""
LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"


class SegmentIndexes:
    """Offsets here are relative to the segment's base offset."""

    __slots__ = (
        "_entry_position",
        "is_unsaved",
        "max_timestamp",
        "offset_of_max_timestamp",
        "offsets",
        "times",
    )

    def __init__(
        self, offsets: OffsetIndex, times: TimeIndex, *, log_size: int, unsaved: bool
    ) -> None:
        self.offsets = offsets
        self.times = times
        self.max_timestamp = NO_TIMESTAMP
        """The latest of all records; -1 when none has one."""
        self.offset_of_max_timestamp = 0
        """The last offset of the first batch that has it."""
        self._entry_position = log_size
        """Of the batch that got the last entry; what was there before counts for nothing."""
        self.is_unsaved = unsaved
        """Whether the disk lacks some of it."""
        self._take_last_time()

    @classmethod
    def empty(cls) -> SegmentIndexes:
        """Of a segment without batches."""
        return cls(OffsetIndex(), TimeIndex(), log_size=0, unsaved=True)

    @classmethod
    def load(
        cls, files: Files, path: str, log_size: int, *, was_checked: bool = False
    ) -> SegmentIndexes | None:
        """Read the files at `path` plus suffix; None when they are missing, or on any doubt: made
        again from the log they cost a scan, while a wrong entry hides records.

        `max_timestamp` is right for all that was there when they were sealed; else up to the last
        entry. `was_checked`: this process has read or written them before, so that a look at every
        entry (up to 0.1 s for a gigabyte) is not due again.
        """
        try:
            offsets = OffsetIndex.from_bytes(_read(files, path + INDEX_SUFFIX))
            times = TimeIndex.from_bytes(_read(files, path + TIME_INDEX_SUFFIX))
        except (CorruptRecordError, FileNotFoundError):
            return None
        try:
            ascend = was_checked or (offsets.ascends() and times.ascends())
            fit = ascend and _fit(files, path, log_size, offsets, times)
        except CorruptRecordError:
            return None
        return cls(offsets, times, log_size=log_size, unsaved=False) if fit else None

    @property
    def size_bytes(self) -> int:
        """In memory, about."""
        return _OVERHEAD_BYTES + self.offsets.held_bytes + self.times.held_bytes

    @property
    def is_whole(self) -> bool:
        """Whether all entries are in memory; else lookups find what the offset index says that it
        knows, entries can be added, and that is all."""
        return not (self.offsets.earlier or self.times.earlier)

    def _take_last_time(self) -> None:
        last = self.times.last
        self.max_timestamp = last.timestamp
        self.offset_of_max_timestamp = last.relative_offset

    def entries_left(self, limit_bytes: int) -> int:
        """How many more entries `limit_bytes` have room for, apart from the last of the times; 0 or
        less: the indexes are full."""
        return min(
            (limit_bytes - self.offsets.size_bytes) // OFFSET_ENTRY_SIZE,
            (limit_bytes - self.times.size_bytes) // TIME_ENTRY_SIZE - 1,
        )

    def note_time(self, last_offset: int, max_timestamp: TimestampMs) -> None:
        """Take in the timestamp of a batch that is in the log."""
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.offset_of_max_timestamp = last_offset

    def add(
        self,
        last_offset: int,
        max_timestamp: TimestampMs,
        position: int,
        interval_bytes: int,
    ) -> None:
        """Take in a batch appended at `position`, in order."""
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.offset_of_max_timestamp = last_offset
        if position - self._entry_position > interval_bytes:
            self._entry_position = position
            self.offsets.append(last_offset, position)
            if self.max_timestamp > self.times.last.timestamp:
                self._add_time()
        self.is_unsaved = True

    def _add_time(self) -> None:
        """An entry for the latest timestamp, which rose.

        Its batch may stand before the last entry's, which then lied; yet none up to there is later.
        """
        times = self.times
        offset = max(self.offset_of_max_timestamp, times.last.relative_offset)
        times.append(self.max_timestamp, offset)

    def truncate(self, offset: int, log_size: int) -> None:
        """Drop entries at or above `offset`: the log ends there, with that size. What follows the
        last one is to be noted again."""
        self.offsets.truncate(offset)
        self.times.truncate(offset)
        self._entry_position = log_size
        self.is_unsaved = True
        self._take_last_time()

    def seal(self) -> None:
        """The last entry of the time index: the segment rolls or closes, its maximum is known."""
        if self.max_timestamp > self.times.last.timestamp:
            self._add_time()
            self.is_unsaved = True

    def save(self, files: Files, path: str, *, sync: bool) -> bool:
        """Write both files if they lack something; whether they did. `sync`: durably."""
        if not self.is_unsaved:
            return False
        files.replace(path + INDEX_SUFFIX, self.offsets.to_bytes(), sync=sync)
        files.replace(path + TIME_INDEX_SUFFIX, self.times.to_bytes(), sync=sync)
        self.offsets.saved, self.times.saved = len(self.offsets), len(self.times)
        self.is_unsaved = False
        return True

    def spill(self, files: Files, path: str) -> SegmentIndexes:
        """Add to both files what they lack, not synced, and hold the latest entries alone: these
        from now on. After an `OSError` it can be tried again."""
        if self.is_unsaved:
            offsets, times = self.offsets, self.times
            kept = offsets.saved
            extend(files, path + INDEX_SUFFIX, kept * OFFSET_ENTRY_SIZE, offsets.to_bytes(kept))
            offsets.saved = len(offsets)
            kept = times.saved
            extend(files, path + TIME_INDEX_SUFFIX, kept * TIME_ENTRY_SIZE, times.to_bytes(kept))
            times.saved = len(times)
            self.is_unsaved = False
        return self._with(self.offsets.latest(_LATEST), self.times.latest())

    def with_earlier(self, file: SegmentIndexes) -> SegmentIndexes | None:
        """All entries, with what was read of the files; None if these lack some."""
        offsets = self.offsets.with_earlier(file.offsets)
        times = self.times.with_earlier(file.times)
        return None if offsets is None or times is None else self._with(offsets, times)

    def _with(self, offsets: OffsetIndex, times: TimeIndex) -> SegmentIndexes:
        other = SegmentIndexes(offsets, times, log_size=0, unsaved=self.is_unsaved)
        other.max_timestamp = self.max_timestamp
        other.offset_of_max_timestamp = self.offset_of_max_timestamp
        other._entry_position = self._entry_position
        return other


def peek_latest(files: Files, path: str) -> TimestampMs:
    """The latest timestamp as the file of a sealed time index ends with it, in which there may be
    any doubt; -1 without one."""
    try:
        file = files.open_read(path + TIME_INDEX_SUFFIX)
    except FileNotFoundError:
        return NO_TIMESTAMP
    try:
        last = file.read(max(file.size - TIME_ENTRY_SIZE, 0), TIME_ENTRY_SIZE)
        return TimeIndex.from_bytes(last).last.timestamp
    except CorruptRecordError:
        return NO_TIMESTAMP
    finally:
        file.close()


def _fit(files: Files, path: str, log_size: int, offsets: OffsetIndex, times: TimeIndex) -> bool:
    """Whether their last entries are of batches that stand in the log. Both ascend."""
    if not (len(offsets) or len(times)):
        return log_size == 0  # Neither is synced for a log that short: `SegmentFiles.unsynced`.
    if offsets.last_position >= log_size:
        return False
    base_offset = int(path.rpartition("/")[2])
    log = files.open_read(path + LOG_SUFFIX)
    try:
        if len(offsets):
            header = read_header(log.read(offsets.last_position, HEADER_SIZE))
            if header.last_offset != base_offset + offsets.last_offset:
                return False
        if len(times):
            timestamp, offset = times.last
            found = find_batch(log, offsets.lookup(offset), log_size, base_offset + offset)
            if found is None:
                return False
            header = read_header(log.read(found.position, HEADER_SIZE))
            return header.max_timestamp == timestamp
        return header.max_timestamp == NO_TIMESTAMP
    finally:
        log.close()


def _read(files: Files, path: str) -> bytes:
    file = files.open_read(path)
    try:
        return file.read(0, file.size)
    finally:
        file.close()
