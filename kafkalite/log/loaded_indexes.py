"""Which of the segments that nobody appends to have their indexes in memory.

There may be a million of them, and the indexes of one of a gigabyte take 5 MiB. So those that were
not used for longest go when others come, and are read again at their next use. Those of active
segments stay: the disk has none of them.

Kafka differs: it maps the indexes of all segments into memory, and the system decides what of them
stays there.
"""

from __future__ import annotations

from typing import Protocol

from kafkalite.log.turns import Held, Turns

LIMIT_BYTES = 64 * 1024 * 1024
"""Of one log folder's."""


class IndexedSegment(Held, Protocol):
    """A segment that can be without its indexes."""

    @property
    def indexes_size_bytes(self) -> int:
        """What they take while they are in memory."""
        ...


class LoadedIndexes:
    """For the thread that owns the logs."""

    __slots__ = ("_limit_bytes", "_turns")

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        """One stays, however large."""
        self._limit_bytes = limit_bytes
        self._turns = Turns()

    @property
    def size_bytes(self) -> int:
        """Of all."""
        return self._turns.total

    def add(self, segment: IndexedSegment) -> None:
        """Its indexes came into memory; others go, so that there is room."""
        size = segment.indexes_size_bytes
        turns = self._turns
        while turns.total + size > self._limit_bytes and turns.let_one_go():
            pass
        turns.add(segment, size)
        segment.was_used = False  # It is in use once it is asked again.

    def remove(self, segment: IndexedSegment) -> None:
        """It is not to be asked to go any more, if it was."""
        self._turns.remove(segment)
