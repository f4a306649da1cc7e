"""The sparse indexes beside a segment's `.log`: from offset to position, from timestamp to offset.

    .index       8 bytes an entry    int32 offset - base offset    int32 position in the .log
    .timeindex  12 bytes an entry    int64 timestamp               int32 offset - base offset

Big-endian, ascending (Kafka's `OffsetIndex` and `TimeIndex`). An offset entry names the *last*
offset of the batch at its position. A time entry says: no record up to that offset is later than
that timestamp. Both are hints: a lookup gives where to start scanning, so a missing entry costs
time and never a record.

Kept in memory whole: the segment writes them out when it rolls or closes, so that an append writes
to one file alone. After a crash they are made again from the `.log`.

Kafka differs: the indexes of its active segment are files of 10 MiB, mapped into memory and cut to
size at the end. Here the active segment has none on the disk.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import islice
from operator import lt
from struct import Struct
from typing import NamedTuple

from kafkalite.errors import CorruptRecordError
from kafkalite.types import TimestampMs

OFFSET_ENTRY_SIZE = 8
TIME_ENTRY_SIZE = 12
_TIME_ENTRY = Struct(">qi")


class OffsetIndexEntry(NamedTuple):
    """The last offset of the batch at a position."""

    relative_offset: int
    position: int


class OffsetIndex:
    """Relative last offsets and positions, ascending."""

    __slots__ = ("_offsets", "_positions")

    def __init__(self) -> None:
        self._offsets = array("i")
        self._positions = array("i")

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def size_bytes(self) -> int:
        """Of the file."""
        return len(self._offsets) * OFFSET_ENTRY_SIZE

    @property
    def last_offset(self) -> int:
        """The last entry's relative offset; 0 when there is none."""
        return self._offsets[-1] if self._offsets else 0

    @property
    def last_position(self) -> int:
        """The last entry's position; 0 when there is none."""
        return self._positions[-1] if self._positions else 0

    def append(self, relative_offset: int, position: int) -> None:
        """Add an entry. Its offset must be above the last one's."""
        offsets = self._offsets
        assert not offsets or relative_offset > offsets[-1], "offsets ascend"
        offsets.append(relative_offset)
        self._positions.append(position)

    def lookup(self, relative_offset: int) -> int:
        """The position to scan from for that offset: the last entry at or below it, else 0."""
        found = bisect_right(self._offsets, relative_offset)
        return self._positions[found - 1] if found else 0

    def floor(self, relative_offset: int) -> OffsetIndexEntry | None:
        """The last entry at or below that offset; None when there is none."""
        found = bisect_right(self._offsets, relative_offset)
        if not found:
            return None
        return OffsetIndexEntry(self._offsets[found - 1], self._positions[found - 1])

    def before(self, relative_offset: int, count: int) -> int:
        """The position of the entry so many before that offset; 0: there are not so many."""
        found = bisect_left(self._offsets, relative_offset) - count
        return self._positions[found] if found >= 0 else 0

    def offset_at(self, position: int) -> int | None:
        """The relative offset of the first entry at or behind that position; None: all stand
        before it."""
        found = bisect_left(self._positions, position)
        return self._offsets[found] if found < len(self._offsets) else None

    def truncate(self, relative_offset: int) -> None:
        """Drop the entries at or above that offset."""
        kept = bisect_left(self._offsets, relative_offset)
        del self._offsets[kept:]
        del self._positions[kept:]

    def ascends(self) -> bool:
        """Whether every entry is above the one before it: at most some ms for a large segment."""
        return _rises(self._offsets) and _rises(self._positions)

    def to_bytes(self) -> bytes:
        """The file's content."""
        entries = array("i", bytes(OFFSET_ENTRY_SIZE * len(self._offsets)))
        entries[0::2] = self._offsets
        entries[1::2] = self._positions
        if sys.byteorder == "little":
            entries.byteswap()
        return entries.tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> OffsetIndex:
        """Read a file's content; `CorruptRecordError` when it cannot be an offset index.

        Zeroed entries at the end are what Kafka allocated ahead and did not come to fill.
        """
        if len(data) % OFFSET_ENTRY_SIZE:
            raise CorruptRecordError(f"an offset index of {len(data)} bytes")
        entries = array("i", data)
        if sys.byteorder == "little":
            entries.byteswap()
        while entries and entries[-1] == 0 and entries[-2] == 0:
            del entries[-2:]
        index = cls()
        index._offsets = entries[0::2]
        index._positions = entries[1::2]
        if entries and not (0 < entries[0] <= entries[-2] and 0 < entries[1] <= entries[-1]):
            raise CorruptRecordError("an offset index whose entries do not ascend")
        if len(entries) > 2 and entries[0] == entries[-2]:
            raise CorruptRecordError("an offset index that repeats an offset")
        return index


class TimeEntry(NamedTuple):
    """A timestamp, and the relative offset of (the batch of) the record that has it."""

    timestamp: TimestampMs
    relative_offset: int


_NO_TIME = TimeEntry(TimestampMs(-1), 0)


class TimeIndex:
    """Timestamps and relative offsets, ascending, as the bytes of the file."""

    __slots__ = ("_data", "last")

    def __init__(self) -> None:
        self._data = bytearray()
        self.last = _NO_TIME
        """The last entry; timestamp -1 at offset 0 when there is none."""

    def __len__(self) -> int:
        return len(self._data) // TIME_ENTRY_SIZE

    @property
    def size_bytes(self) -> int:
        """Of the file."""
        return len(self._data)

    def __getitem__(self, index: int) -> TimeEntry:
        return TimeEntry._make(_TIME_ENTRY.unpack_from(self._data, index * TIME_ENTRY_SIZE))

    def append(self, timestamp: TimestampMs, relative_offset: int) -> None:
        """Add an entry. Its timestamp must be above the last one's, its offset at least that."""
        last = self.last
        assert timestamp > last.timestamp, "timestamps ascend"
        assert relative_offset >= last.relative_offset, "offsets do not fall"
        self._data += _TIME_ENTRY.pack(timestamp, relative_offset)
        self.last = TimeEntry(timestamp, relative_offset)

    def _drop_last(self) -> None:
        del self._data[-TIME_ENTRY_SIZE:]
        self.last = self[len(self) - 1] if self._data else _NO_TIME

    def lookup(self, timestamp: TimestampMs) -> TimeEntry:
        """The last entry at or below that timestamp; when there is none, -1 at offset 0."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self[middle].timestamp <= timestamp:
                low = middle + 1
            else:
                high = middle
        return self[low - 1] if low else _NO_TIME

    def truncate(self, relative_offset: int) -> None:
        """Drop the entries at or above that offset."""
        while self._data and self.last.relative_offset >= relative_offset:
            self._drop_last()

    def ascends(self) -> bool:
        """Whether every entry is above the one before it, offsets at least level with it."""
        timestamps, offsets = [], []
        for timestamp, offset in _TIME_ENTRY.iter_unpack(self._data):
            timestamps.append(timestamp)
            offsets.append(offset)
        return _rises(timestamps) and offsets == sorted(offsets)

    def to_bytes(self) -> bytes:
        """The file's content."""
        return bytes(self._data)

    @classmethod
    def from_bytes(cls, data: bytes) -> TimeIndex:
        """Read a file's content; `CorruptRecordError` when it cannot be a time index."""
        if len(data) % TIME_ENTRY_SIZE:
            raise CorruptRecordError(f"a time index of {len(data)} bytes")
        index = cls()
        index._data = bytearray(data)
        if data:
            index.last = index[len(index) - 1]
        while len(index) > 1 and index.last == (0, 0):
            index._drop_last()
        if data and not _ascends(index[0], index.last, len(index)):
            raise CorruptRecordError("a time index whose entries do not ascend")
        return index


def _rises(values: Sequence[int]) -> bool:
    return all(map(lt, values, islice(values, 1, None)))


def _ascends(first: TimeEntry, last: TimeEntry, count: int) -> bool:
    """Told by the ends: a look at every entry of a large segment would hold up a fetch."""
    if count == 1:
        return last.relative_offset >= 0
    return first.timestamp < last.timestamp and 0 <= first.relative_offset <= last.relative_offset
