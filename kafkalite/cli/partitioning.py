"""Which partition a record goes to."""

from __future__ import annotations

from collections.abc import Collection
from itertools import cycle

from kafkalite.cli.record_json import NewRecord


class Partitioning:
    """The partition that a record names; else the one that Java's producer would choose for its
    key, so that equal keys meet whoever sends them; else each in turn."""

    def __init__(self, partitions: Collection[int]) -> None:
        """All partitions of the topic."""
        from kafka.partitioner.default import murmur2

        self._murmur2 = murmur2
        self._partitions = sorted(partitions)
        self._turns = cycle(self._partitions)

    def choose(self, record: NewRecord) -> int:
        """`ValueError` when it names one that there is not."""
        if record.partition is not None:
            if record.partition not in self._partitions:
                last = self._partitions[-1]
                raise ValueError(f"there is no partition {record.partition}; the last is {last}")
            return record.partition
        if record.key is not None:
            positive: int = self._murmur2(record.key) & 0x7FFF_FFFF
            return self._partitions[positive % len(self._partitions)]
        return next(self._turns)
