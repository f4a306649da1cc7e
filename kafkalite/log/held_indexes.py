"""The indexes of one segment while they are in memory: all of them, none, or the latest alone.

All of a closed segment are on the disk. They are read at the first lookup, made again from the
`.log` when they are missing or cannot be right, and go when there is no room for them
(loaded_indexes.py). Those of the segment that grows are in memory alone at first. Where there is no
room for them they are written, and only the latest stay: an append needs no others, and most who
read a log that grows read near its end.
"""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError
from kafkalite.log.files import File
from kafkalite.log.index import MAX_RELATIVE_OFFSET
from kafkalite.log.loaded_indexes import LoadedIndexes
from kafkalite.log.scan import scan_batches
from kafkalite.log.segment_files import SegmentFiles
from kafkalite.log.segment_indexes import SegmentIndexes
from kafkalite.protocol.records.batch import BatchHeader
from kafkalite.types import NO_TIMESTAMP, Offset, TimestampMs

UNCOUNTED_ENTRIES = 128
"""A segment that grows by so many asks for room. One that has no more is not worth asking: there
may be many that never get far."""
_UNCOUNTED_BYTES = 600 + 20 * UNCOUNTED_ENTRIES


class HeldIndexes:
    """Those of offsets and times, and the aborted transactions, which come and go with them.

    `size` and `config`, where they are asked for, are the segment's now.
    """

    __slots__ = ("_base_offset", "_files", "_grows", "_known_latest", "_room", "now", "was_used")
    leases = 0
    """Indexes that somebody looks at are not gone for him when they are let go of."""

    def __init__(self, files: SegmentFiles, base_offset: Offset) -> None:
        self._files = files
        self._base_offset = base_offset
        self._grows = False
        self._known_latest: TimestampMs | None = None
        """The latest timestamp that the indexes told before they went, which the disk has; None:
        read them."""
        self._room: LoadedIndexes | None = None
        """What they share with others'; None: they stay."""
        self.now: SegmentIndexes | None = None
        """Those in memory, all or the latest; None: none are, and none that the disk lacks."""
        self.was_used = False
        """Whether somebody asked for them; see `Turns`."""

    @property
    def size_bytes(self) -> int:
        """In memory."""
        aborted = self._files.aborted.size_bytes
        return aborted if self.now is None else aborted + self.now.size_bytes

    def share(self, room: LoadedIndexes, *, grows: bool) -> None:
        """They are in memory while there is `room`. `grows`: the segment is appended to."""
        self.leave()
        self._room, self._grows = room, grows
        self.count()

    def leave(self) -> None:
        """The segment is not in use any more."""
        if self._room is not None:
            self._room.remove(self)
            self._room = None

    def count(self) -> None:
        """They have grown, or come: others go if there is no room."""
        room = self._room
        if room is not None:
            room.remove(self)
            if self.size_bytes > (_UNCOUNTED_BYTES if self._grows else 0):
                room.add(self)

    def whole(self, size: int, config: TopicConfig) -> SegmentIndexes:
        """All of offsets and times, read or made again if they were not in memory."""
        self.was_used = True
        now = self.now
        return now if now is not None and now.is_whole else self._load(size, config)

    def _load(self, size: int, config: TopicConfig) -> SegmentIndexes:
        now, known = self.now, self._known_latest
        was_checked = now is not None or known is not None
        found = self._files.load_indexes(size, was_checked=was_checked)
        if found is not None and now is not None:
            found = now.with_earlier(found)
        elif found is not None and known is not None and found.max_timestamp < known:
            found = None  # They lack the end, which was read before.
        if found is None:
            return self.make_again(size, config)
        self.now = found
        self.count()
        return found

    def make_again(self, size: int, config: TopicConfig) -> SegmentIndexes:
        """From the `.log`, as appends and a roll would have made them; at once for good, if nothing
        is to be appended. `CorruptRecordError` where the log is damaged: they end there."""
        files = self._files
        file = files.log.open(size, config)
        files.has_indexes = files.is_synced = False
        indexes = self.now = SegmentIndexes.empty()
        end_offset = self._base_offset
        try:
            for batch in scan_batches(file, 0, size):
                header = batch.header
                end_offset = self._next_offset(header, end_offset)
                indexes.add(
                    header.last_offset - self._base_offset,
                    header.max_timestamp,
                    batch.position,
                    config.index_interval_bytes,
                )
        finally:
            self.count()
        indexes.seal()
        if self._room is not None and not self._grows:
            # Durably: below the recovery point no sync looks for them, and after a loss of power
            # they would be believed, however little of them is there. If the disk refuses, whoever
            # looks next finds them missing or wrong again.
            with suppress(OSError):
                files.save(indexes, sync=True)
        return indexes

    def read_to_end(self, size: int, config: TopicConfig) -> Offset:
        """Where the log ends, by reading on from the last index entry; the latest timestamp is
        known then, too. `CorruptRecordError` for what cannot stand there."""
        indexes = self.whole(size, config)
        return self._read_on(indexes, self._files.log.open(size, config), size)

    def until(
        self, offset: Offset, position: int, size: int, config: TopicConfig
    ) -> tuple[SegmentIndexes, Offset]:
        """As they are when the segment is cut at `offset`, before the batch at `position`, and
        where the log ends then. `CorruptRecordError` for what cannot stand there."""
        indexes = deepcopy(self.whole(size, config))
        if position < size:
            indexes.truncate(offset - self._base_offset, position)
        return indexes, self._read_on(indexes, self._files.log.open(size, config), position)

    def _read_on(self, indexes: SegmentIndexes, file: File, size: int) -> Offset:
        end_offset = self._base_offset
        for batch in scan_batches(file, indexes.offsets.last_position, size):
            header = batch.header
            end_offset = self._next_offset(header, end_offset)
            indexes.note_time(header.last_offset - self._base_offset, header.max_timestamp)
        return end_offset

    def _next_offset(self, header: BatchHeader, end_offset: Offset) -> Offset:
        """`CorruptRecordError` unless the batch may follow those before `end_offset`."""
        name = self._files.log.name
        if header.base_offset < end_offset or header.last_offset_delta < 0:
            raise CorruptRecordError(
                f"{name} has offset {header.base_offset} where {end_offset} or more was due"
            )
        if not 0 <= header.last_offset - self._base_offset <= MAX_RELATIVE_OFFSET:
            raise CorruptRecordError(f"{name} has offset {header.last_offset}")
        return header.next_offset

    @property
    def known_latest(self) -> TimestampMs | None:
        """The latest timestamp of all records, -1 when none has one; None: `whole` will tell."""
        return self._known_latest if self.now is None else self.now.max_timestamp

    def is_older_than(self, moment: TimestampMs, size: int, config: TopicConfig) -> bool | None:
        """Whether no record is from `moment` or later; None when none has a time.

        For most segments a look at the end of a file tells that it is not so.
        """
        latest = self.known_latest
        if latest is None:
            if self._files.peek_latest() >= moment:
                return False
            latest = self.whole(size, config).max_timestamp
        return None if latest == NO_TIMESTAMP else latest < moment

    def begin(self) -> None:
        """The segment is new, or is told anew from its first batch on: there are none."""
        self.now = SegmentIndexes.empty()

    def let_go(self) -> None:
        """Forget what the disk has, but for the latest while the segment grows; what it lacks is
        written before. What it does not take stays, and is counted again when more comes."""
        if self._grows and self.now is not None:
            with suppress(OSError):
                self.now = self._files.spill(self.now)
        else:
            self._forget()
        self._files.aborted.let_go()

    def close(self) -> None:
        """Forget what need not stay. Nothing is written."""
        if self._room is not None:
            self._room.remove(self)
        if not self._grows or self.now is None or not self.now.is_unsaved:
            self._forget()
        self._files.aborted.let_go()

    def _forget(self) -> None:
        if self.now is not None:
            self._known_latest = None if self.now.is_unsaved else self.now.max_timestamp
            self.now = None
