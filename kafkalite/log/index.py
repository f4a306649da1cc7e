"""The sparse index beside a segment's `.log` that leads from an offset to a position.

    .index       8 bytes an entry    int32 offset - base offset    int32 position in the .log

Big-endian, ascending (Kafka's `OffsetIndex`). An entry names the *last* offset of the batch at its
position. It is a hint: a lookup gives where to start scanning, so a missing entry costs time and
never a record. So it is with the other one (time_index.py).

The segment writes them out when it rolls or closes, or when there is no room in memory, so that an
append writes to one file alone. Then those that the file has can be known by their number alone
(`latest`), until somebody looks for one of them (`with_earlier`). After a crash they are made again
from the `.log`.

Kafka differs: the indexes of its active segment are files of 10 MiB, mapped into memory and cut to
size at the end. Here the active segment has none on the disk until memory for indexes is full.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import islice
from operator import lt
from typing import NamedTuple

from kafkalite.errors import CorruptRecordError

OFFSET_ENTRY_SIZE = 8
MAX_RELATIVE_OFFSET = 2**31 - 1


class OffsetIndexEntry(NamedTuple):
    """The last offset of the batch at a position."""

    relative_offset: int
    position: int


class OffsetIndex:
    """Relative last offsets and positions, ascending. With entries that are known by their number
    alone, only what says so may be asked."""

    __slots__ = ("_offsets", "_positions", "earlier", "known_from", "known_from_position", "saved")

    def __init__(self) -> None:
        self._offsets = array("i")
        self._positions = array("i")
        self.earlier = 0
        """How many entries stand before those in memory."""
        self.known_from = self.known_from_position = 0
        """From that relative offset, and from that position on, they need not be known."""
        self.saved = 0
        """How many the file has, from the first on."""

    def __len__(self) -> int:
        """Of all."""
        return self.earlier + len(self._offsets)

    @property
    def size_bytes(self) -> int:
        """Of the file with all of them."""
        return len(self) * OFFSET_ENTRY_SIZE

    @property
    def held_bytes(self) -> int:
        """Of those in memory."""
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
        """The last entry at or below that offset, which is known; None when there is none."""
        found = bisect_right(self._offsets, relative_offset)
        if not found:
            return None
        return OffsetIndexEntry(self._offsets[found - 1], self._positions[found - 1])

    def before(self, relative_offset: int, count: int) -> int:
        """The position of the entry so many before that offset; 0: there are not so many."""
        found = bisect_left(self._offsets, relative_offset) - count
        return self._positions[found] if found >= 0 else 0

    def offset_at(self, position: int) -> int | None:
        """The relative offset of the first entry at or behind that position, which is known; None:
        all stand before it."""
        found = bisect_left(self._positions, position)
        return self._offsets[found] if found < len(self._offsets) else None

    def truncate(self, relative_offset: int) -> None:
        """Drop the entries at or above that offset."""
        kept = bisect_left(self._offsets, relative_offset)
        del self._offsets[kept:]
        del self._positions[kept:]
        self.saved = min(self.saved, kept)

    def latest(self, count: int) -> OffsetIndex:
        """The last so many, at least one, and of those before them the number."""
        index = OffsetIndex()
        index._offsets, index._positions = self._offsets[-count:], self._positions[-count:]
        index.earlier, index.saved = len(self) - len(index._offsets), self.saved
        if index.earlier:
            index.known_from, index.known_from_position = index._offsets[0], index._positions[0]
        return index

    def with_earlier(self, file: OffsetIndex) -> OffsetIndex | None:
        """All, with what was read of the file; None if it has too few."""
        if len(file) < self.earlier:
            return None
        index = OffsetIndex()
        index._offsets = file._offsets[: self.earlier] + self._offsets
        index._positions = file._positions[: self.earlier] + self._positions
        index.saved = self.saved
        return index

    def ascends(self) -> bool:
        """Whether every entry is above the one before it: at most some ms for a large segment."""
        return rises(self._offsets) and rises(self._positions)

    def to_bytes(self, start: int = 0) -> bytes:
        """The file's content, from that entry on."""
        begin = start - self.earlier
        assert begin >= 0, "these are not in memory"
        entries = array("i", bytes(OFFSET_ENTRY_SIZE * (len(self) - start)))
        entries[0::2] = self._offsets[begin:]
        entries[1::2] = self._positions[begin:]
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
        index.saved = len(index)
        if entries and not (0 < entries[0] <= entries[-2] and 0 < entries[1] <= entries[-1]):
            raise CorruptRecordError("an offset index whose entries do not ascend")
        if len(entries) > 2 and entries[0] == entries[-2]:
            raise CorruptRecordError("an offset index that repeats an offset")
        return index


def rises(values: Sequence[int]) -> bool:
    """Whether each value is above the one before it."""
    return all(map(lt, values, islice(values, 1, None)))
