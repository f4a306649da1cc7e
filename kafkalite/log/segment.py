"""One segment: a `.log` of whole batches with its two indexes, all named by its first offset.

Appends go to the `.log` alone. The indexes grow in memory and are written when the segment rolls
or closes (`seal`, `save_indexes`); those of an old segment are read at the first lookup, and made
again from the `.log` when they are missing or cannot be right. Files are opened at first use and
may be closed and opened again at any time.

Source: Kafka's `LogSegment`; tests hold the index entries against segments that Kafka wrote.
"""

from __future__ import annotations

from typing import NamedTuple

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError, InvariantError
from kafkalite.log.files import File, Files, Part
from kafkalite.log.index import OFFSET_ENTRY_SIZE, TIME_ENTRY_SIZE, OffsetIndex, TimeIndex
from kafkalite.log.scan import BatchRange, find_batch, scan_batches
from kafkalite.protocol.records.batch import TimestampType
from kafkalite.protocol.records.record import read_records
from kafkalite.types import NO_TIMESTAMP, LeaderEpoch, Offset, TimestampMs

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TRANSACTION_INDEX_SUFFIX = ".txnindex"
MAX_RELATIVE_OFFSET = 2**31 - 1


def file_name(base_offset: int, suffix: str) -> str:
    """Kafka's name for a file that starts at (or, a snapshot, was taken at) an offset."""
    return f"{base_offset:020d}{suffix}"


class TimestampOffset(NamedTuple):
    """A record found by its timestamp."""

    timestamp: TimestampMs
    offset: Offset
    leader_epoch: LeaderEpoch


class Segment:
    """Batches from `base_offset` on. Only the last segment of a log, the active one, grows."""

    __slots__ = (
        "_bytes_since_entry",
        "_file",
        "_files",
        "_first_timestamp",
        "_max_timestamp",
        "_offset_index",
        "_offset_of_max_timestamp",
        "_path",
        "_tail",
        "_time_index",
        "_unsaved",
        "base_offset",
        "config",
        "created_ms",
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
        self._files = files
        self._path = f"{folder}/{base_offset:020d}"
        self.base_offset = base_offset
        self.config = config
        self.created_ms = created_ms
        """When this process opened or made it: what `segment.ms` counts from without records."""
        self.size = 0
        """Bytes in the `.log`."""
        self._file: File | None = None
        self._offset_index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        self._max_timestamp = NO_TIMESTAMP
        self._offset_of_max_timestamp = base_offset
        self._first_timestamp: TimestampMs | None = None
        self._bytes_since_entry = 0
        self._unsaved = False
        self._tail: BatchRange | None = None

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
        segment = cls(files, folder, base_offset, config, created_ms)
        segment._offset_index = OffsetIndex()
        segment._time_index = TimeIndex()
        segment._unsaved = True
        segment._file = files.open(segment._path + LOG_SUFFIX)
        if segment._file.size:
            segment._file.truncate(0)  # Left by a roll that a crash cut short.
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
        """A segment whose `.log` is there. Nothing is read yet."""
        segment = cls(files, folder, base_offset, config, created_ms)
        segment.size = files.size(segment._path + LOG_SUFFIX)
        return segment

    @property
    def file(self) -> File:
        """The `.log`, opened if it was not."""
        if self._file is None:
            file = self._files.open(self._path + LOG_SUFFIX)
            if file.size != self.size:
                file.close()
                raise InvariantError(
                    f"{self._path}{LOG_SUFFIX} has {file.size} bytes, not {self.size}"
                )
            self._file = file
        return self._file

    @property
    def offset_index(self) -> OffsetIndex:
        """The offset index, read if it was not."""
        if self._offset_index is None:
            self._load_indexes()
            assert self._offset_index is not None
        return self._offset_index

    @property
    def time_index(self) -> TimeIndex:
        """The time index, read if it was not."""
        if self._time_index is None:
            self._load_indexes()
            assert self._time_index is not None
        return self._time_index

    @property
    def max_timestamp(self) -> TimestampMs:
        """The latest timestamp of its records; -1 when none has one."""
        if self._time_index is None:
            self._load_indexes()
        return self._max_timestamp

    def append(self, records: memoryview) -> None:
        """Write whole batches at the end; call `added` for each then. `OSError` changes nothing."""
        if self._offset_index is None:
            self._load_indexes()
        self.file.append((records,))

    def added(
        self, base_offset: Offset, last_offset: Offset, max_timestamp: TimestampMs, size_bytes: int
    ) -> None:
        """Count in one batch that `append` has written, in order."""
        if max_timestamp > self._max_timestamp:
            self._max_timestamp = max_timestamp
            self._offset_of_max_timestamp = last_offset
        if self._bytes_since_entry > self.config.index_interval_bytes:
            self._add_entries(last_offset)
        self._tail = BatchRange(self.size, size_bytes, base_offset)
        self.size += size_bytes
        self._bytes_since_entry += size_bytes
        self._unsaved = True

    def _add_entries(self, last_offset: Offset) -> None:
        self.offset_index.append(last_offset - self.base_offset, self.size)
        self.time_index.maybe_append(
            self._max_timestamp, self._offset_of_max_timestamp - self.base_offset
        )
        self._bytes_since_entry = 0

    def should_roll(
        self, size_bytes: int, last_offset: Offset, max_timestamp: TimestampMs, now: TimestampMs
    ) -> bool:
        """Whether batches of these bounds belong into a new segment."""
        config = self.config
        if self.size > config.segment_bytes - size_bytes:
            return True
        if not self.takes_offset(last_offset):
            return True
        if self.size and self._waited_ms(now, max_timestamp) > config.segment_ms:
            return True
        return (
            len(self.offset_index) >= config.segment_index_bytes // OFFSET_ENTRY_SIZE
            or len(self.time_index) >= config.segment_index_bytes // TIME_ENTRY_SIZE - 1
        )

    def _waited_ms(self, now: TimestampMs, max_timestamp: TimestampMs) -> int:
        """Event time where records have it: the new batch's timestamp less the first batch's."""
        if self._first_timestamp is None:
            for batch in scan_batches(self.file, 0, self.size):
                self._first_timestamp = batch.header.max_timestamp
                break
        first = self._first_timestamp
        if first is not None and first >= 0:
            return max_timestamp - first
        return now - self.created_ms

    def find(self, offset: int) -> BatchRange | None:
        """The first batch whose last offset is at or above `offset`; None when all end below."""
        tail = self._tail
        if tail is not None and offset == tail.base_offset:
            return tail
        start = self.offset_index.lookup(offset - self.base_offset)
        return find_batch(self.file, start, self.size, offset)

    def slice(self, position: int, size_bytes: int) -> Part:
        """A range of the `.log`, on lease."""
        return self.file.slice(position, size_bytes)

    def read_end_offset(self) -> Offset:
        """The offset after the last record, found by reading on from the last index entry."""
        end = self.base_offset
        for batch in scan_batches(self.file, self.offset_index.last_position, self.size):
            end = batch.header.next_offset
            self._note_timestamp(batch.header.max_timestamp, batch.header.last_offset)
        return end

    def _note_timestamp(self, timestamp: TimestampMs, last_offset: Offset) -> None:
        if timestamp > self._max_timestamp:
            self._max_timestamp = timestamp
            self._offset_of_max_timestamp = last_offset

    def find_timestamp(
        self, timestamp: TimestampMs, start_offset: Offset
    ) -> TimestampOffset | None:
        """The first record at or above `start_offset` that is at or after `timestamp`."""
        entry = self.time_index.lookup(timestamp)
        first = max(entry.relative_offset, start_offset - self.base_offset)
        for batch in scan_batches(self.file, self.offset_index.lookup(first), self.size):
            header = batch.header
            if header.max_timestamp < timestamp or header.last_offset < start_offset:
                continue
            if header.timestamp_type is TimestampType.LOG_APPEND_TIME:
                offset = max(header.base_offset, start_offset)
                return TimestampOffset(header.max_timestamp, offset, header.partition_leader_epoch)
            for record in read_records(batch.buffer, batch.at, header):
                if record.timestamp >= timestamp and record.offset >= start_offset:
                    return TimestampOffset(
                        record.timestamp, record.offset, header.partition_leader_epoch
                    )
        return None

    def find_max_timestamp(self) -> TimestampOffset | None:
        """The first record that has the segment's latest timestamp; None when none has one."""
        latest = self.max_timestamp
        if latest == NO_TIMESTAMP:
            return None
        return self.find_timestamp(latest, self.base_offset)

    @property
    def name(self) -> str:
        """Its file, for messages to people."""
        return self._path + LOG_SUFFIX

    def takes_offset(self, offset: Offset) -> bool:
        """Whether the offset can be told relative to the base in 31 bits."""
        return 0 <= offset - self.base_offset <= MAX_RELATIVE_OFFSET

    def begin_rebuild(self) -> None:
        """Count as empty, to be told by `added` again of each batch that is in the `.log`."""
        self._reset_indexes(OffsetIndex(), TimeIndex())
        self._tail = None
        self.size = 0

    def rebuild_indexes(self) -> None:
        """Make both indexes again from the `.log`, as appends would have made them."""
        size = self.size
        file = self.file_of(size)
        self.begin_rebuild()
        try:
            for batch in scan_batches(file, 0, size):
                header = batch.header
                self.added(
                    header.base_offset, header.last_offset, header.max_timestamp, header.size_bytes
                )
        finally:
            self.size = size

    def truncate_to_position(self, position: int) -> None:
        """Cut the `.log` at a batch's start; the indexes are the caller's to put right."""
        self.file.truncate(position)
        self.size = position
        self._tail = None
        if not position:
            self._first_timestamp = None

    def truncate_to(self, offset: Offset, now: TimestampMs) -> None:
        """Drop every batch that holds records at or above `offset`."""
        found = self.find(offset)
        if found is None:
            return
        self.offset_index.truncate(offset - self.base_offset)
        self.time_index.truncate(offset - self.base_offset)
        self.truncate_to_position(found.position)
        if not self.size:
            self.created_ms = now
        self._bytes_since_entry = 0
        self._unsaved = True
        self._load_max_timestamp()
        self.read_end_offset()

    def _load_max_timestamp(self) -> None:
        """The last time entry's: right after `seal`, else right up to the last offset entry."""
        last = self.time_index.last
        self._max_timestamp = last.timestamp
        self._offset_of_max_timestamp = Offset(self.base_offset + last.relative_offset)

    def seal(self) -> None:
        """The last entry of the time index: the segment rolls or closes, its maximum is known."""
        if self._max_timestamp >= 0:
            self.time_index.maybe_append(
                self._max_timestamp, self._offset_of_max_timestamp - self.base_offset
            )

    def save_indexes(self) -> None:
        """Write both index files if they lack something."""
        if self._unsaved:
            self._files.replace(self._path + INDEX_SUFFIX, self.offset_index.to_bytes(), sync=False)
            self._files.replace(
                self._path + TIME_INDEX_SUFFIX, self.time_index.to_bytes(), sync=False
            )
            self._unsaved = False

    def sync(self) -> None:
        """Wait until the disk has the `.log`, and the indexes as far as they were written."""
        self.file.sync()
        if not self._unsaved:
            for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX):
                if self._files.exists(self._path + suffix):
                    file = self._files.open(self._path + suffix)
                    file.sync()
                    file.close()

    def close(self) -> None:
        """Let the file go; the next use opens it again. Leases keep it open until they end."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def delete(self) -> None:
        """Close, and remove all its files; slices given out stay readable."""
        self.close()
        for suffix in (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX):
            if self._files.exists(self._path + suffix):
                self._files.remove(self._path + suffix)

    def file_of(self, size: int) -> File:
        """The `.log`, whose size is known to be `size` while `self.size` is being counted."""
        if self._file is None:
            self._file = self._files.open(self._path + LOG_SUFFIX)
        assert self._file.size >= size
        return self._file

    def _reset_indexes(self, offset_index: OffsetIndex, time_index: TimeIndex) -> None:
        self._offset_index = offset_index
        self._time_index = time_index
        self._max_timestamp = NO_TIMESTAMP
        self._offset_of_max_timestamp = self.base_offset
        self._bytes_since_entry = 0
        self._unsaved = True

    def _load_indexes(self) -> None:
        try:
            offset_index = OffsetIndex.from_bytes(self._read(INDEX_SUFFIX))
            time_index = TimeIndex.from_bytes(self._read(TIME_INDEX_SUFFIX))
            if self.size <= offset_index.last_position and len(offset_index):
                raise CorruptRecordError("the offset index goes beyond the log")
        except (CorruptRecordError, FileNotFoundError):
            self.rebuild_indexes()
            self.seal()
            return
        self._offset_index = offset_index
        self._time_index = time_index
        self._load_max_timestamp()

    def _read(self, suffix: str) -> bytes:
        file = self._files.open_read(self._path + suffix)
        try:
            return file.read(0, file.size)
        finally:
            file.close()
