"""Which segments have their indexes in memory.

There may be a million of them, and the indexes of one of a gigabyte take 5 MiB. So those that were
not used for longest go when others come, and are read again at their next use. Those of a segment
that grows are written first, as far as the disk lacks them.

Kafka differs: it maps the indexes of all segments into memory, and the system decides what of them
stays there.
"""

from __future__ import annotations

from typing import Protocol

from kafkalite.log.turns import Held, Turns

LIMIT_BYTES = 64 * 1024 * 1024
"""Of one log folder's."""


class OfOneSegment(Held, Protocol):
    """The indexes of one segment, which can be without them."""

    @property
    def size_bytes(self) -> int:
        """What they take in memory now."""
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

    def add(self, indexes: OfOneSegment) -> None:
        """These came into memory; others go, so that there is room."""
        size = indexes.size_bytes
        turns = self._turns
        while turns.total + size > self._limit_bytes and turns.let_one_go():
            pass
        turns.add(indexes, size)
        indexes.was_used = False  # They are in use once they are asked again.

    def remove(self, indexes: OfOneSegment) -> None:
        """They are not to be asked to go any more, if they were."""
        self._turns.remove(indexes)
