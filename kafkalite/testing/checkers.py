"""Judges of a run: each holds one promise of a broker against what its clients saw.

A checker is told everything (`testing.observations`) in the order in which it happened, remembers
what its promise needs, and raises `ViolationError` at the first thing that cannot be. Checkers know
clients' eyes only, so they judge any broker. What is promised:

    the process dies        all that was acknowledged is there afterwards, and no answer that was
                            given before is contradicted
    the power is lost       acknowledged records may go, but for those of before the last clean
                            stop, and from some offset of a partition on: no holes; the same for
                            commits. No producer id is given twice even then.

Records, groups, transactions and clusters have files of their own (`testing.record_checkers` and so
on).
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from kafkalite.testing.observations import (
    Observation,
    PowerLost,
    ProducerIdGiven,
    Stopped,
    TopicDeleted,
    TopicSeen,
)
from kafkalite.types import TopicPartition, Uuid

T = TypeVar("T")


class ViolationError(AssertionError):
    """A promise was broken."""


class Checker(Protocol):
    """One promise."""

    def see(self, seen: Observation) -> None:
        """Remember it. `ViolationError` when it cannot be."""
        ...


def demand(holds: bool, message: str) -> None:
    """`ViolationError` unless it holds."""
    if not holds:
        raise ViolationError(message)


class KeptThroughPowerLoss:
    """Has a checker demand of a loss of power what it demands of the end of a process: for a broker
    that answers for nothing but what is on the disk."""

    def __init__(self, checker: Checker) -> None:
        self._checker = checker

    def see(self, seen: Observation) -> None:
        """See `Checker`."""
        if not isinstance(seen, PowerLost):
            self._checker.see(seen)


class ProducerIdsAreUnique:
    """No producer id is given twice, whatever happens to the broker."""

    def __init__(self) -> None:
        self._given: set[int] = set()

    def see(self, seen: Observation) -> None:
        """See `Checker`."""
        if isinstance(seen, ProducerIdGiven):
            demand(seen.epoch == 0, f"producer {seen.producer_id} begins with epoch {seen.epoch}")
            demand(
                seen.producer_id not in self._given,
                f"producer id {seen.producer_id} was given twice",
            )
            self._given.add(seen.producer_id)


class TopicsStay:
    """A topic that was there is there, with its id."""

    def __init__(self) -> None:
        self._ids: dict[str, Uuid] = {}
        self._durable: dict[str, Uuid] = {}

    def see(self, seen: Observation) -> None:
        """See `Checker`."""
        match seen:
            case TopicSeen():
                known = self._ids.get(seen.topic)
                demand(
                    known in (None, seen.topic_id),
                    f"topic {seen.topic} had the id {known!r}, now {seen.topic_id!r}",
                )
                if seen.topic_id is not None:
                    self._ids[seen.topic] = seen.topic_id
            case Stopped():
                self._durable = dict(self._ids)
            case PowerLost():
                for topic, topic_id in self._durable.items():
                    demand(
                        seen.topics.get(topic) == topic_id,
                        f"topic {topic} is gone, which was there at a clean stop",
                    )
                self._ids = dict(seen.topics)
            case TopicDeleted():
                self._ids.pop(seen.topic, None)
                self._durable.pop(seen.topic, None)
            case _:
                pass


def forget_topic(topic: str, by_partition: dict[TopicPartition, T]) -> None:
    """It is another topic that has the name from now on."""
    for partition in [partition for partition in by_partition if partition.topic == topic]:
        del by_partition[partition]
