"""How many bytes each partition of one fetch may give.

The order of partitions in the request is kept. A response is bounded by the request's `max_bytes`
and each partition by its own, with one exception that keeps consumers alive: the first partition
that has anything gives its first batch whole, above any limit (KIP-74).

Source: Kafka's `ReplicaManager.readFromLog`.
"""

from __future__ import annotations


class FetchBudget:
    """The bytes that one response may still take."""

    __slots__ = ("_first", "_left")

    def __init__(self, max_bytes: int) -> None:
        self._left = max(max_bytes, 0)
        self._first = True

    def limit(self, partition_max_bytes: int) -> int:
        """Bytes that the next partition may give; 0 when nothing is left."""
        return max(min(partition_max_bytes, self._left), 0)

    @property
    def first_batch_whole(self) -> bool:
        """Whether the next partition gives its first batch whatever its size."""
        return self._first

    def took(self, size_bytes: int) -> None:
        """A partition gave `size_bytes`."""
        if size_bytes > 0:
            self._first = False
            self._left = max(self._left - size_bytes, 0)
