"""Where a reading of partitions ends. (That it reads: compat_tests/cli.)"""

from __future__ import annotations

import pytest
from kafka import ConsumerRebalanceListener, TopicPartition

from kafkalite.cli.errors import CommandError
from kafkalite.cli.record_reader import GroupReader, PartitionReader

PARTITION = TopicPartition("t", 0)


class Consumer:
    """A consumer whose broker is gone: it gets nothing, and does not say so."""

    def __init__(self) -> None:
        self.polls = 0
        self.place = 0

    def assign(self, partitions: list[TopicPartition]) -> None:
        assert partitions == [PARTITION]

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.place = offset

    def position(self, partition: TopicPartition) -> int:
        return self.place

    def poll(self, timeout_ms: int) -> dict[TopicPartition, list[object]]:
        self.polls += 1
        return {}


def test_records_that_must_be_there_and_do_not_come_are_a_failure() -> None:
    consumer = Consumer()
    reader = PartitionReader(consumer, {PARTITION: 3}, {PARTITION: 5})
    with pytest.raises(CommandError, match="nothing comes any more, for 30 s"):
        assert list(reader.batches()) == [[]] * 150
    assert consumer.polls == 151


def test_nothing_is_asked_for_when_there_is_nothing_to_read() -> None:
    consumer = Consumer()
    assert list(PartitionReader(consumer, {PARTITION: 5}, {PARTITION: 5}).batches()) == []
    assert consumer.polls == 0


def test_whoever_follows_is_patient() -> None:
    batches = PartitionReader(Consumer(), {PARTITION: 3}, None).batches()
    assert [next(batches) for _ in range(200)] == [[]] * 200


class Member:
    """A consumer that joins with its first poll, and assigns what it knew when it subscribed."""

    def __init__(self) -> None:
        self._known: set[TopicPartition] = set()
        self._assigned: set[TopicPartition] = set()
        self._left = ["tea"]

    def partitions_for_topic(self, topic: str) -> set[int]:
        self._known = {TopicPartition(topic, 0)}
        return {0}

    def subscribe(self, topics: list[str], listener: ConsumerRebalanceListener) -> None:
        self._assigned, self._listener = self._known, listener

    def poll(self, timeout_ms: int) -> dict[TopicPartition, list[str]]:
        self._listener.on_partitions_assigned(self._assigned)
        left, self._left = self._left, []
        return dict.fromkeys(self._assigned, left)

    def assignment(self) -> set[TopicPartition]:
        return self._assigned

    def end_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 1)

    def position(self, partition: TopicPartition) -> int:
        return 0 if self._left else 1


def test_a_member_knows_of_the_topic_before_it_joins() -> None:
    assert list(GroupReader(Member(), "t", follow=False).batches()) == [["tea"]]
