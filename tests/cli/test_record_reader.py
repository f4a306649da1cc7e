"""Where a reading of partitions ends. (That it reads: compat_tests/cli.)"""

from __future__ import annotations

import pytest
from kafka import TopicPartition

from kafkalite.cli.errors import CommandError
from kafkalite.cli.record_reader import PartitionReader

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
        assert list(reader.batches()) == [[]] * 60
    assert consumer.polls == 61


def test_nothing_is_asked_for_when_there_is_nothing_to_read() -> None:
    consumer = Consumer()
    assert list(PartitionReader(consumer, {PARTITION: 5}, {PARTITION: 5}).batches()) == []
    assert consumer.polls == 0


def test_whoever_follows_is_patient() -> None:
    batches = PartitionReader(Consumer(), {PARTITION: 3}, None).batches()
    assert [next(batches) for _ in range(200)] == [[]] * 200
