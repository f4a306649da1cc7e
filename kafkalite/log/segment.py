"""One segment: whole batches from one offset on, with two indexes to find them by.

Appends go to the `.log` alone. The indexes grow in memory and are written when the segment rolls
or closes (`seal`); those of an old segment are read at the first lookup, go when there is no room
for them (loaded_indexes.py), and are made again from the `.log` when they are missing or cannot be
right. The files themselves are segment_files.py's.

Source: Kafka's `LogSegment`; tests hold the index entries against segments that Kafka wrote.
"""

from __future__ import annotations

import logging
from contextlib import suppress

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError
from kafkalite.log.files import File, Files, Part
from kafkalite.log.loaded_indexes import LoadedIndexes
from kafkalite.log.scan import BatchRange, WrongIndexError, find_batch, scan_batches
from kafkalite.log.segment_files import SegmentFiles
from kafkalite.log.segment_indexes import SegmentIndexes
from kafkalite.protocol.records.batch import BatchHeader
from kafkalite.types import NO_TIMESTAMP, Offset, TimestampMs

MAX_RELATIVE_OFFSET = 2**31 - 1
MAX_SIZE_BYTES = 2**31 - 1
_BEFORE_ALL = NO_TIMESTAMP - 1

_log = logging.getLogger(__name__)


class Segment:
    """Batches from `base_offset` on. Only the last segment of a log, the active one, grows."""

    __slots__ = (
        "_first_timestamp",
        "_fitting_bytes",
        "_greatest_offset",
        "_index_interval_bytes",
        "_indexes",
        "_known_latest",
        "_latest_timestamp",
        "_log",
        "_room",
        "_tail_offset",
        "_tail_position",
        "aborted",
        "base_offset",
        "config",
        "created_ms",
        "end_offset",
        "files",
        "jitter_ms",
        "size",
        "was_used",
    )
    leases = 0
    """Indexes that somebody looks at are not gone for him when they are let go of."""

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
        self._indexes: SegmentIndexes | None = None
        self._known_latest: TimestampMs | None = None
        """The latest timestamp that the indexes told before they went, which the disk has; None:
        read them."""
        self._room: LoadedIndexes | None = None
        """What the indexes share with others'; None: they stay."""
        self.was_used = False
        """Whether somebody asked for the indexes; see `Turns`."""
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
        segment._indexes = SegmentIndexes.empty()
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
        """Both indexes, read or made again if they were not."""
        self.was_used = True
        return self._indexes or self._load_indexes()

    def _load_indexes(self) -> SegmentIndexes:
        known = self._known_latest
        indexes = self.files.load_indexes(self.size, was_checked=known is not None)
        if indexes is not None and known is not None and indexes.max_timestamp < known:
            indexes = None  # They lack the end, which was read before.
        self._indexes = indexes or self._make_indexes()
        if self._room is not None:
            self._room.add(self)
        return self._indexes

    def _make_indexes(self) -> SegmentIndexes:
        """Again, and at once for good, if nothing is to be appended."""
        indexes = self.rebuild_indexes()
        if self._room is not None:
            self._write_again()
        return indexes

    def _write_again(self) -> None:
        """Durably: below the recovery point no sync looks for them, and after a loss of power they
        would be believed, however little of them is there. On an `OSError` whoever looks next finds
        them missing or wrong again."""
        with suppress(OSError):
            self.indexes.seal()
            self.files.save(self.indexes, sync=True)

    @property
    def indexes_size_bytes(self) -> int:
        """Of the indexes in memory; 0: they are not there."""
        return 0 if self._indexes is None else self._indexes.size_bytes

    def share(self, room: LoadedIndexes | None) -> None:
        """From now on nothing is appended, and the indexes are in memory while there is `room` for
        them. None: they stay, since this is the active segment, or go with it."""
        if self._room is not None:
            self._room.remove(self)
        self._room = room
        if room is not None and self._indexes is not None:
            room.add(self)

    def let_go(self) -> None:
        """Forget the indexes until the next use."""
        self._forget_indexes()
        self.aborted.let_go()

    def _forget_indexes(self) -> None:
        indexes = self._indexes
        if indexes is not None:
            self._known_latest = None if indexes.is_unsaved else indexes.max_timestamp
            self._indexes = None

    @property
    def max_timestamp(self) -> TimestampMs:
        """The latest timestamp of its records; -1 when none has one."""
        if self._indexes is None and self._known_latest is not None:
            return self._known_latest
        return self.indexes.max_timestamp

    def is_older_than(self, moment: TimestampMs) -> bool:
        """Whether all its records are from before `moment`; of records without timestamps, whether
        it was made or opened before.

        For most segments a look at the end of a file tells that it is not so.
        """
        is_known = self._indexes is not None or self._known_latest is not None
        if not is_known and self.files.peek_latest() >= moment:
            return False
        latest = self.max_timestamp
        return (latest if latest >= 0 else self.created_ms) < moment

    def configure(self, config: TopicConfig) -> None:
        """Follow new settings from the next append on."""
        self.config = config
        self._index_interval_bytes = config.index_interval_bytes
        self._forget_limits()

    def _forget_limits(self) -> None:
        """They are to be found out by whoever asks next."""
        self._fitting_bytes = 0
        """Up to that size its files have room for sure."""
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
        (self._indexes or self.indexes).add(
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
        entries = self.indexes.entries_left(config.segment_index_bytes)
        if (
            self.size + size_bytes > config.segment_bytes
            or (self.size and self._is_late(max_timestamp, now))
            or last_offset > self._greatest_offset
            or entries <= 0
        ):
            return True
        # The first entry may come with the next batch, each other one only an interval later.
        fill_bytes = (entries - 1) * (config.index_interval_bytes + 1)
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
        entry = self.indexes.offsets.floor(offset - self.base_offset)
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
        _log.warning("the indexes of %s are wrong, and are made again: %s", self.name, error)
        self.rebuild_indexes()
        self._write_again()

    def slice(self, position: int, size_bytes: int) -> Part:
        """A range of the `.log`, on lease."""
        return (self._log.opened or self.file).slice(position, size_bytes)

    def _check_order(self, header: BatchHeader) -> None:
        """`CorruptRecordError` unless it may follow the batches before `end_offset`."""
        if header.base_offset < self.end_offset or header.last_offset_delta < 0:
            raise CorruptRecordError(
                f"{self.name} has offset {header.base_offset} where {self.end_offset} or more was "
                "due"
            )
        if not self.takes_offset(header.last_offset):
            raise CorruptRecordError(f"{self.name} has offset {header.last_offset}")

    def read_to_end(self) -> None:
        """Learn `end_offset` and the latest timestamp by reading on from the last index entry."""
        self.end_offset = self.base_offset
        for batch in scan_batches(self.file, self.indexes.offsets.last_position, self.size):
            header = batch.header
            self._check_order(header)
            self.end_offset = header.next_offset
            self.indexes.note_time(header.last_offset - self.base_offset, header.max_timestamp)

    def begin_rebuild(self) -> File:
        """Count as empty, to be told by `added` of each batch that is in the file returned."""
        file = self.file
        self._indexes = SegmentIndexes.empty()
        self._tail_offset = -1
        self._first_timestamp = None
        self._forget_limits()
        self.size = 0
        self.end_offset = self.base_offset
        self.files.has_indexes = False
        self.files.is_synced = False
        return file

    def rebuild_indexes(self) -> SegmentIndexes:
        """Make both indexes again from the `.log`, as appends and a roll would have made them."""
        size, end_offset = self.size, self.end_offset
        file = self.begin_rebuild()
        try:
            for batch in scan_batches(file, 0, size):
                header = batch.header
                self._check_order(header)
                self.added(
                    header.base_offset, header.last_offset, header.max_timestamp, header.size_bytes
                )
        finally:  # Also where damage ends it.
            self.size = size
            self.end_offset = max(self.end_offset, end_offset)
            self._tail_offset = -1
        self.indexes.seal()
        return self.indexes

    def truncate_to(self, offset: Offset, now: TimestampMs) -> None:
        """Drop every batch that holds records at or above `offset`, durably."""
        found = self.find(offset)
        if found is not None:  # Or else compaction took what was there.
            self.indexes.truncate(offset - self.base_offset, found.position)
            self._log.cut(self.file, found.position)
            self.size = found.position
            self._tail_offset = -1
            self._forget_limits()
            if not self.size:
                self._first_timestamp = None
                self.created_ms = now
        self.read_to_end()
        self.aborted.cut(offset)

    def seal(self) -> None:
        """Write the indexes as they stay: the segment rolls or closes."""
        self.indexes.seal()
        self.files.save(self.indexes)

    def unsynced(self) -> list[str]:
        """The files whose bytes the disk may not have: see `SegmentFiles.unsynced`."""
        if self.files.is_synced:
            return []
        return self.files.unsynced(self.size, self._indexes)

    def close(self) -> None:
        """Let the file go, and indexes that need not stay; the next use opens and reads them again.
        Leases keep the file open until they end."""
        self._log.close()
        if self._room is not None:
            self._room.remove(self)
            self.let_go()
        elif self._indexes is not None and not self._indexes.is_unsaved:
            # The active one of a log that is only opened so far. What was aborted stays: it is
            # added to after an append, when nothing may fail.
            self._forget_indexes()
