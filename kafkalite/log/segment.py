"""One segment: whole batches from one offset on, with two indexes to find them by.

Appends go to the `.log` alone. The indexes grow in memory and are written when the segment rolls
or closes (`seal`). What of them is in memory, and how they are read or made again, is
held_indexes.py's business; the files themselves are segment_files.py's.

Source: Kafka's `LogSegment`; tests hold the index entries against segments that Kafka wrote.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import NamedTuple

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError
from kafkalite.log.files import File, Files, Part
from kafkalite.log.held_indexes import UNCOUNTED_ENTRIES, HeldIndexes
from kafkalite.log.index import MAX_RELATIVE_OFFSET
from kafkalite.log.scan import BatchRange, WrongIndexError, find_batch, scan_batches
from kafkalite.log.segment_files import SegmentFiles
from kafkalite.log.segment_indexes import SegmentIndexes
from kafkalite.log.transaction_index import AbortedTransaction
from kafkalite.types import NO_TIMESTAMP, Offset, TimestampMs

MAX_SIZE_BYTES = 2**31 - 1
_BEFORE_ALL = NO_TIMESTAMP - 1

_log = logging.getLogger(__name__)


class SegmentCut(NamedTuple):
    """What is left of a segment when it is cut at `offset`."""

    offset: Offset
    size: int
    """Of the `.log`."""
    end: Offset
    """The batches from there on go, of which the first may hold records below `offset`."""
    end_offset: Offset
    """After the last record."""
    indexes: SegmentIndexes
    aborted: bytes
    """See `AbortedTransactions.until`."""


class Segment:
    """Batches from `base_offset` on. Only the last segment of a log, the active one, grows."""

    __slots__ = (
        "_first_timestamp",
        "_fitting_bytes",
        "_greatest_offset",
        "_index_interval_bytes",
        "_latest_timestamp",
        "_log",
        "_tail_offset",
        "_tail_position",
        "aborted",
        "base_offset",
        "config",
        "created_ms",
        "end_offset",
        "files",
        "held",
        "jitter_ms",
        "size",
    )

    def __init__(
        self,
        files: Files,
        folder: str,
        base_offset: Offset,
        config: TopicConfig,
        created_ms: TimestampMs,
    ) -> None:
        """A segment whose `.log` is there and is empty, or else to be told by `existing`."""
        self.files = SegmentFiles(files, folder, base_offset)
        self._log = self.files.log
        self.aborted = self.files.aborted
        """Transactions whose abort markers stand here."""
        self.held = HeldIndexes(self.files, base_offset)
        """What of the indexes is in memory."""
        self._first_timestamp: TimestampMs | None = None
        """Of the first batch; None: nobody has looked yet."""
        self._tail_offset: int = -1
        """Of the batch that was appended last, which readers at the end want; -1: see the index."""
        self._tail_position = 0
        self.base_offset = base_offset
        self._greatest_offset = base_offset + MAX_RELATIVE_OFFSET
        """That can be told relative to the base in 31 bits."""
        self.created_ms = created_ms
        """When this process opened or made it: what `segment.ms` counts from without records."""
        self.jitter_ms = 0
        """How much sooner than `segment.ms` it rolls, by chance."""
        self.size = 0
        """Bytes in the `.log`."""
        self.end_offset = base_offset
        """After the last record; known once the segment was scanned, read to its end or grew."""
        self.configure(config)

    @classmethod
    def create(
        cls,
        files: Files,
        folder: str,
        base_offset: Offset,
        config: TopicConfig,
        created_ms: TimestampMs,
    ) -> Segment:
        """A new segment; its `.log` is made, empty."""
        segment = cls.planned(files, folder, base_offset, config, created_ms)
        segment.files.make(config)
        return segment

    @classmethod
    def planned(
        cls,
        files: Files,
        folder: str,
        base_offset: Offset,
        config: TopicConfig,
        created_ms: TimestampMs,
    ) -> Segment:
        """A new segment whose `.log` is made at its first use, in a folder that is there then."""
        segment = cls(files, folder, base_offset, config, created_ms)
        segment.held.begin()
        segment.files.begin()
        return segment

    @classmethod
    def existing(
        cls,
        files: Files,
        folder: str,
        base_offset: Offset,
        config: TopicConfig,
        created_ms: TimestampMs,
    ) -> Segment:
        """A segment whose `.log` is there. Nothing is read yet.

        `CorruptRecordError` when it is longer than an index can tell."""
        segment = cls(files, folder, base_offset, config, created_ms)
        segment.size = segment.files.log_size()
        if segment.size > MAX_SIZE_BYTES:
            raise CorruptRecordError(f"{segment.name} has {segment.size} bytes: too many")
        return segment

    @property
    def name(self) -> str:
        """Its file, for messages to people."""
        return self._log.name

    @property
    def file(self) -> File:
        """The `.log`, opened if it was not."""
        return self._log.open(self.size, self.config)

    @property
    def indexes(self) -> SegmentIndexes:
        """Both indexes, read or made again if they were not in memory."""
        return self.held.whole(self.size, self.config)

    @property
    def max_timestamp(self) -> TimestampMs:
        """The latest timestamp of its records; -1 when none has one."""
        known = self.held.known_latest
        return self.indexes.max_timestamp if known is None else known

    def is_older_than(self, moment: TimestampMs) -> bool:
        """Whether all its records are from before `moment`; of records without timestamps, whether
        it was made or opened before."""
        is_older = self.held.is_older_than(moment, self.size, self.config)
        return self.created_ms < moment if is_older is None else is_older

    def aborted_since(self, offset: Offset) -> Iterator[AbortedTransaction]:
        """Those whose markers stand here, at or above `offset`, in order. `CorruptRecordError` for
        a damaged file, `OSError` for one that cannot be read."""
        if not self.aborted.is_loaded:
            self.aborted.load()
            self.held.count()
        return self.aborted.since(offset)

    def add_aborted(self, entry: AbortedTransaction) -> None:
        """Its marker stands here; see `AbortedTransactions.add`."""
        self.aborted.add(entry)
        self.held.count()

    def configure(self, config: TopicConfig) -> None:
        """Follow new settings from the next append on."""
        self.config = config
        self._index_interval_bytes = config.index_interval_bytes
        self._forget_limits()

    def _forget_limits(self) -> None:
        """They are to be found out by whoever asks next."""
        self._fitting_bytes = 0
        """Up to that size its files have room for sure, and it need not ask for room in memory."""
        self._latest_timestamp: int = _BEFORE_ALL
        """What the timestamps of batches that do not belong into a new segment are at most."""

    def takes_offset(self, offset: int) -> bool:
        """Whether the offset can be told relative to the base in 31 bits."""
        return self.base_offset <= offset <= self._greatest_offset

    def append(self, records: memoryview) -> None:
        """Write whole batches at the end; call `added` for each then. `OSError` changes nothing."""
        (self._log.opened or self.file).append(records)

    def added(
        self, base_offset: int, last_offset: int, max_timestamp: TimestampMs, size_bytes: int
    ) -> None:
        """Count in one batch that `append` has written, in order."""
        position = self.size
        (self.held.now or self.indexes).add(
            last_offset - self.base_offset,
            max_timestamp,
            position,
            self._index_interval_bytes,
        )
        self._tail_offset = base_offset
        self._tail_position = position
        self.size = position + size_bytes
        self.end_offset = Offset(last_offset + 1)
        self.files.is_synced = False

    def should_roll(
        self, size_bytes: int, last_offset: int, max_timestamp: TimestampMs, now: TimestampMs
    ) -> bool:
        """Whether batches of these bounds belong into a new segment."""
        if (
            self.size + size_bytes <= self._fitting_bytes
            and max_timestamp <= self._latest_timestamp
            and last_offset <= self._greatest_offset
        ):
            return False
        config = self.config
        entries = (self.held.now or self.indexes).entries_left(config.segment_index_bytes)
        if (
            self.size + size_bytes > config.segment_bytes
            or (self.size and self._is_late(max_timestamp, now))
            or last_offset > self._greatest_offset
            or entries <= 0
        ):
            return True
        self.held.count()
        # The first entry may come with the next batch, each other one only an interval later.
        fill_bytes = (min(entries, UNCOUNTED_ENTRIES) - 1) * (config.index_interval_bytes + 1)
        self._fitting_bytes = min(config.segment_bytes, self.size + fill_bytes)
        return False

    def _is_late(self, max_timestamp: TimestampMs, now: TimestampMs) -> bool:
        """Event time where records have it: the new batch's timestamp less the first batch's."""
        config = self.config
        longest_ms = config.segment_ms
        if config.max_compaction_lag_ms < longest_ms and config.is_compacted:
            longest_ms = config.max_compaction_lag_ms
        longest_ms -= self.jitter_ms
        first = self._first_timestamp
        if first is None:
            first = next(scan_batches(self.file, 0, self.size)).header.max_timestamp
            self._first_timestamp = first
        if first < 0:
            return now - self.created_ms > longest_ms
        self._latest_timestamp = first + longest_ms
        return max_timestamp > self._latest_timestamp

    def find(self, offset: int) -> BatchRange | None:
        """The first batch whose last offset is at or above `offset`; None when all end below."""
        if offset == self._tail_offset:
            position = self._tail_position
            return BatchRange(position, self.size - position, offset)
        relative_offset = offset - self.base_offset
        indexes = self.held.now
        if indexes is None or relative_offset < indexes.offsets.known_from:
            indexes = self.indexes
        else:
            self.held.was_used = True
        entry = indexes.offsets.floor(relative_offset)
        if entry is None:
            return find_batch(self.file, 0, self.size, offset)
        ends_at = self.base_offset + entry.relative_offset
        try:
            return find_batch(self.file, entry.position, self.size, offset, first_ends_at=ends_at)
        except WrongIndexError as error:
            self.distrust(error)
            return find_batch(self.file, 0, self.size, offset)

    def distrust(self, error: WrongIndexError) -> None:
        """Make the indexes again: records can be found without them, and by wrong ones cannot."""
        _log.warning("the indexes of %s are wrong, and are made again: %s", self.name, str(error))
        self.held.make_again(self.size, self.config)

    def offset_at(self, position: int) -> Offset | None:
        """The last offset of the first batch at or behind `position` that has an index entry."""
        indexes = self.held.now
        if indexes is None or position < indexes.offsets.known_from_position:
            indexes = self.indexes
        found = indexes.offsets.offset_at(position)
        return None if found is None else Offset(self.base_offset + found)

    def slice(self, position: int, size_bytes: int) -> Part:
        """A range of the `.log`, on lease."""
        return (self._log.opened or self.file).slice(position, size_bytes)

    def read_to_end(self) -> None:
        """Learn `end_offset` and the latest timestamp; see `HeldIndexes.read_to_end`."""
        self.end_offset = self.held.read_to_end(self.size, self.config)

    def begin_rebuild(self) -> File:
        """Count as empty, to be told by `added` of each batch that is in the file returned."""
        file = self.file
        self.held.begin()
        self._tail_offset = -1
        self._first_timestamp = None
        self._forget_limits()
        self.size = 0
        self.end_offset = self.base_offset
        self.files.has_indexes = False
        self.files.is_synced = False
        return file

    def read_until(self, offset: Offset) -> SegmentCut:
        """What is left of it without the batches that hold records at or above `offset`. Nothing
        changes; `OSError`, and `CorruptRecordError` for what cannot stand there."""
        found = self.find(offset)
        # None: compaction took what was there.
        size, end = (self.size, offset) if found is None else (found.position, found.base_offset)
        indexes, end_offset = self.held.until(offset, size, self.size, self.config)
        aborted = self.aborted.until(offset)
        return SegmentCut(offset, size, Offset(end), end_offset, indexes, aborted)

    def cut(self, cut: SegmentCut, now: TimestampMs) -> None:
        """Have no more than that, which was just read. The disk is to follow: see `follow_cut`."""
        self.held.now = cut.indexes
        self.end_offset = cut.end_offset
        self.aborted.cut(cut.aborted)
        if cut.size == self.size:
            return
        self._log.shorten(self.size)
        self.size = cut.size
        self._tail_offset = -1
        self._forget_limits()
        if not self.size:
            self._first_timestamp = None
            self.created_ms = now

    def follow_cut(self) -> None:
        """Have the disk know no more of it than it has, durably; if it is `planned`, too. After an
        `OSError` it can be tried again."""
        self._log.cut(self.size, self.config)
        self.aborted.trim()

    def seal(self) -> None:
        """Write the indexes as they stay: the segment rolls or closes."""
        self.indexes.seal()
        self.files.save(self.indexes)

    def unsynced(self) -> list[str]:
        """The files whose bytes the disk may not have: see `SegmentFiles.unsynced`."""
        if self.files.is_synced:
            return []
        return self.files.unsynced(self.size, self.held.now)

    def close(self) -> None:
        """Let the file go, and indexes that need not stay; the next use opens and reads them again.
        Leases keep the file open until they end."""
        self._log.close()
        self.held.close()
        self._forget_limits()  # Who appends next looks at the indexes first, while it may fail.
