"""Judges of a cluster's run: what replication promises, held against what clients saw, what brokers
claim and what is on their disks.

    AcknowledgedAreKept      what acks=all acknowledged at an offset is what stands there ever after
    OneLeaderAnEpoch         no two brokers lead a partition in the same leader epoch
    OneIsrAnEpoch            by one partition epoch, leader and metadata have the same in sync
    HighWatermarksRise       within one epoch of a leader, no client sees a high watermark fall
    LogsAgree                what two replicas have below both their high watermarks is the same
    OnceAndInOrder           an idempotent producer's records stand once each, in their order

Each raises `ViolationError`, as those of `testing.checkers`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from kafkalite.protocol.records.batch import iter_headers
from kafkalite.testing.checkers import demand
from kafkalite.types import TopicPartition


class LogSeen(NamedTuple):
    """One replica's log, as it is on its disk."""

    broker_id: int
    high_watermark: int
    """As the broker knows it."""
    data: bytes
    """All its batches, one after the other."""
    start_offset: int = 0
    """Batches below may be there, or not."""


class AcknowledgedAreKept:
    """Offsets and values."""

    def __init__(self) -> None:
        self._kept: dict[TopicPartition, dict[int, bytes]] = defaultdict(dict)
        self._starts: dict[TopicPartition, int] = {}

    @property
    def count(self) -> int:
        """How many records were acknowledged."""
        return sum(map(len, self._kept.values()))

    def acknowledged(self, partition: TopicPartition, offset: int, value: bytes) -> None:
        """A producer was told so, with acks=all."""
        before = self._kept[partition].setdefault(offset, value)
        demand(
            before == value,
            f"{partition} acknowledged {before!r} and {value!r}, both at offset {offset}",
        )

    def read(self, partition: TopicPartition, offset: int, value: bytes) -> None:
        """A consumer was given that. What one consumer has read, no other reads otherwise."""
        before = self._kept[partition].setdefault(offset, value)
        demand(
            before == value,
            f"{partition} has {value!r} at offset {offset}, where {before!r} was before",
        )

    def end_of(self, partition: TopicPartition) -> int:
        """Behind the last offset that was acknowledged or read."""
        return max(self._kept[partition], default=-1) + 1

    def start_of(self, partition: TopicPartition) -> int:
        """What is below may be deleted."""
        return self._starts.get(partition, 0)

    def deleted(self, partition: TopicPartition, below: int) -> None:
        """It is asked that records below that offset are deleted: they may be gone from now on."""
        self._starts[partition] = max(below, self.start_of(partition))

    def gone(self, partition: TopicPartition) -> None:
        """The topic is to be deleted: all may be gone from now on."""
        self._kept.pop(partition, None)

    def ended(self, partition: TopicPartition, records: Mapping[int, bytes]) -> None:
        """All that is there in the end."""
        start = self.start_of(partition)
        for offset, value in self._kept[partition].items():
            if offset < start:
                continue
            demand(
                records.get(offset) == value,
                f"{partition} has {records.get(offset)!r} in the end, where {value!r} was "
                f"acknowledged or read, at offset {offset}",
            )


class OneLeaderAnEpoch:
    """Whoever claims to lead."""

    def __init__(self) -> None:
        self._leaders: dict[tuple[TopicPartition, int], int] = {}

    def leads(self, partition: TopicPartition, epoch: int, broker_id: int) -> None:
        """A broker acts as the leader of that epoch."""
        first = self._leaders.setdefault((partition, epoch), broker_id)
        demand(
            first == broker_id,
            f"{partition} is led by brokers {first} and {broker_id} in epoch {epoch}",
        )


class OneIsrAnEpoch:
    """As leaders and the metadata have it."""

    def __init__(self) -> None:
        self._isr: dict[tuple[TopicPartition, int], frozenset[int]] = {}

    def has(self, partition: TopicPartition, partition_epoch: int, isr: Collection[int]) -> None:
        """Somebody holds these to be in sync by that epoch of the partition."""
        first = self._isr.setdefault((partition, partition_epoch), frozenset(isr))
        demand(
            first == frozenset(isr),
            f"{sorted(first)} and {sorted(isr)} are in sync for {partition} in partition epoch "
            f"{partition_epoch}",
        )


class HighWatermarksRise:
    """As answers to fetches tell it."""

    def __init__(self) -> None:
        self._seen: dict[tuple[TopicPartition, int], int] = {}

    def told(self, partition: TopicPartition, epoch: int, high_watermark: int) -> None:
        """By the leader of that epoch. Answers of one connection, in their order."""
        before = self._seen.get((partition, epoch), -1)
        demand(
            high_watermark >= before,
            f"the high watermark of {partition} fell from {before} to {high_watermark} in epoch "
            f"{epoch}",
        )
        self._seen[partition, epoch] = high_watermark


class LogsAgree:
    """Byte by byte."""

    def looked(self, partition: TopicPartition, logs: Sequence[LogSeen]) -> None:
        """At one moment, at all replicas that run."""
        for one, other in combinations(logs, 2):
            if one.data == other.data:
                continue
            below = min(one.high_watermark, other.high_watermark)
            start = max(one.start_offset, other.start_offset)
            ones, others = _batches(one.data, start), _batches(other.data, start)
            for offset in sorted(ones.keys() | others.keys()):
                if offset < below:
                    demand(
                        ones.get(offset) == others.get(offset),
                        f"{partition}: brokers {one.broker_id} and {other.broker_id} differ at "
                        f"offset {offset}, below the high watermark {below} of both",
                    )

    def ended(self, partition: TopicPartition, logs: Sequence[LogSeen]) -> None:
        """When all are in sync and nobody writes: the logs are the same to the end."""
        start = max(each.start_offset for each in logs)
        first, *others = logs
        for other in others:
            demand(
                _batches(first.data, start) == _batches(other.data, start),
                f"{partition}: the logs of brokers {first.broker_id} and {other.broker_id} differ",
            )


class OnceAndInOrder:
    """Of idempotent producers, each of which numbers its records from 0."""

    def ended(self, partition: TopicPartition, numbers: Mapping[str, Sequence[int]]) -> None:
        """The numbers of each producer's records, in the order of the log."""
        for name, found in numbers.items():
            demand(
                list(found) == list(range(len(found))),
                f"{partition} has the records of {name} as {list(found)[:50]}",
            )

    def sent(self, name: str, acknowledged: int, found: int) -> None:
        """Of so many acknowledged records, so many are there."""
        demand(
            found >= acknowledged,
            f"{name} was told of {acknowledged} records, and {found} are there",
        )


def _batches(data: bytes, start_offset: int) -> dict[int, bytes]:
    """By base offset, those that begin where the log starts, or later."""
    return {
        header.base_offset: data[position : position + header.size_bytes]
        for position, header in iter_headers(memoryview(data))
        if header.base_offset >= start_offset
    }
