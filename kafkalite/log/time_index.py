"""The sparse index beside a segment's `.log` that leads from a timestamp to an offset.

    .timeindex  12 bytes an entry    int64 timestamp    int32 offset - base offset

Big-endian, ascending (Kafka's `TimeIndex`). An entry says: no record up to that offset is later
than that timestamp. When it is in memory, and how it reaches the disk: as index.py.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from kafkalite.errors import CorruptRecordError
from kafkalite.log.index import rises
from kafkalite.types import TimestampMs

TIME_ENTRY_SIZE = 12
_ENTRY = Struct(">qi")


class TimeEntry(NamedTuple):
    """A timestamp, and the relative offset of (the batch of) the record that has it."""

    timestamp: TimestampMs
    relative_offset: int


_NO_TIME = TimeEntry(TimestampMs(-1), 0)


class TimeIndex:
    """Timestamps and relative offsets, ascending, as the bytes of the file. With entries that are
    known by their number alone, the last one is known, and others can be appended."""

    __slots__ = ("_data", "earlier", "last", "saved")

    def __init__(self) -> None:
        self._data = bytearray()
        self.earlier = 0
        """How many entries stand before those in memory."""
        self.last = _NO_TIME
        """The last entry; timestamp -1 at offset 0 when there is none."""
        self.saved = 0
        """How many the file has, from the first on."""

    def __len__(self) -> int:
        """Of all."""
        return self.earlier + len(self._data) // TIME_ENTRY_SIZE

    @property
    def size_bytes(self) -> int:
        """Of the file with all of them."""
        return len(self) * TIME_ENTRY_SIZE

    @property
    def held_bytes(self) -> int:
        """Of those in memory."""
        return len(self._data)

    def __getitem__(self, index: int) -> TimeEntry:
        return TimeEntry._make(_ENTRY.unpack_from(self._data, index * TIME_ENTRY_SIZE))

    def append(self, timestamp: TimestampMs, relative_offset: int) -> None:
        """Add an entry. Its timestamp must be above the last one's, its offset at least that."""
        last = self.last
        assert timestamp > last.timestamp, "timestamps ascend"
        assert relative_offset >= last.relative_offset, "offsets do not fall"
        self._data += _ENTRY.pack(timestamp, relative_offset)
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
        self.saved = min(self.saved, len(self))

    def latest(self) -> TimeIndex:
        """The last entry, and how many there are."""
        index = TimeIndex()
        index.earlier, index.saved, index.last = len(self), self.saved, self.last
        return index

    def with_earlier(self, file: TimeIndex) -> TimeIndex | None:
        """All, with what was read of the file; None if it has too few."""
        if len(file) < self.earlier:
            return None
        index = TimeIndex()
        index._data = file._data[: self.earlier * TIME_ENTRY_SIZE] + self._data
        index.saved, index.last = self.saved, self.last
        return index

    def ascends(self) -> bool:
        """Whether every entry is above the one before it, offsets at least level with it."""
        timestamps, offsets = [], []
        for timestamp, offset in _ENTRY.iter_unpack(self._data):
            timestamps.append(timestamp)
            offsets.append(offset)
        return rises(timestamps) and offsets == sorted(offsets)

    def to_bytes(self, start: int = 0) -> bytes:
        """The file's content, from that entry on."""
        begin = start - self.earlier
        assert begin >= 0, "these are not in memory"
        return bytes(self._data[begin * TIME_ENTRY_SIZE :])

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
        index.saved = len(index)
        if data and not _ascends(index[0], index.last, len(index)):
            raise CorruptRecordError("a time index whose entries do not ascend")
        return index


def _ascends(first: TimeEntry, last: TimeEntry, count: int) -> bool:
    """Told by the ends: a look at every entry of a large segment would hold up a fetch."""
    if count == 1:
        return last.relative_offset >= 0
    return first.timestamp < last.timestamp and 0 <= first.relative_offset <= last.relative_offset
