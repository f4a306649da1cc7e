from __future__ import annotations

import pytest

from kafkalite.coordinator.offsets import CommittedOffsets
from kafkalite.protocol.messages.classic_group_records import OffsetCommitKey, OffsetCommitValue
from kafkalite.types import NO_PRODUCER_ID, ProducerId, TopicPartition

A, B = TopicPartition("t", 0), TopicPartition("t", 1)
ONE, TWO = ProducerId(1), ProducerId(2)


def put(
    offsets: CommittedOffsets,
    partition: TopicPartition,
    offset: int | None,
    producer_id: ProducerId = NO_PRODUCER_ID,
    group: str = "g",
) -> None:
    key = OffsetCommitKey(group=group, topic=partition.topic, partition=partition.partition)
    value = None if offset is None else OffsetCommitValue(offset=offset)
    offsets.apply(key, value, producer_id)


def kept(offsets: CommittedOffsets, group: str = "g") -> dict[TopicPartition, int]:
    return {at: value.offset for at, value in offsets.of_group(group).items()}


def test_the_last_commit_counts() -> None:
    offsets = CommittedOffsets()
    put(offsets, A, 5)
    put(offsets, B, 7)
    put(offsets, A, 3)
    put(offsets, A, 9, group="h")
    assert kept(offsets) == {A: 3, B: 7}
    assert kept(offsets, "h") == {A: 9}
    assert list(offsets.groups()) == ["g", "h"]


def test_a_tombstone_forgets_one() -> None:
    offsets = CommittedOffsets()
    put(offsets, A, 5)
    put(offsets, B, 7)
    put(offsets, A, None)
    assert kept(offsets) == {B: 7}
    put(offsets, B, None)
    put(offsets, B, None)
    assert list(offsets.groups()) == []


def test_offsets_of_a_transaction_count_once_it_commits() -> None:
    offsets = CommittedOffsets()
    put(offsets, A, 5)
    put(offsets, A, 6, ONE)
    put(offsets, B, 7, ONE, group="h")
    assert kept(offsets) == {A: 5}
    assert list(offsets.pending_of_group("g")) == [A]
    assert list(offsets.pending_groups()) == ["g", "h"]
    assert offsets.has_open_transactions("h")
    offsets.end_transaction(ONE, committed=True)
    assert kept(offsets) == {A: 6}
    assert kept(offsets, "h") == {B: 7}
    assert not offsets.has_open_transactions("h")
    assert not offsets.pending_of_group("g")


def test_an_aborted_transaction_changes_nothing() -> None:
    offsets = CommittedOffsets()
    put(offsets, A, 5)
    put(offsets, A, 6, ONE)
    offsets.end_transaction(ONE, committed=False)
    offsets.end_transaction(TWO, committed=True)
    assert kept(offsets) == {A: 5}


def test_a_later_commit_outlives_an_earlier_transaction() -> None:
    offsets = CommittedOffsets()
    put(offsets, A, 6, ONE)
    put(offsets, B, 1, TWO)
    put(offsets, A, 9)
    put(offsets, B, 8)
    put(offsets, B, 2, ONE)
    offsets.end_transaction(TWO, committed=True)
    assert kept(offsets) == {A: 9, B: 8}
    offsets.end_transaction(ONE, committed=True)
    assert kept(offsets) == {A: 9, B: 2}


def test_of_two_transactions_the_later_commit_counts_whichever_ends_last() -> None:
    offsets = CommittedOffsets()
    put(offsets, A, 5, ONE)
    put(offsets, A, 6, TWO)
    offsets.end_transaction(TWO, committed=True)
    offsets.end_transaction(ONE, committed=True)
    assert kept(offsets) == {A: 6}


@pytest.mark.parametrize("committed", [True, False])
def test_which_commit_came_when_is_remembered_only_while_a_transaction_is_open(
    *, committed: bool
) -> None:
    """There may be millions of commits, and most logs have no transactions."""
    offsets = CommittedOffsets()
    put(offsets, A, 5)
    assert offsets._sequences == {}
    put(offsets, A, 6, ONE)
    put(offsets, B, 7, TWO)
    put(offsets, A, 8)
    offsets.end_transaction(ONE, committed=committed)
    assert offsets._sequences.keys() == {("g", A)}
    offsets.end_transaction(TWO, committed=committed)
    assert offsets._sequences == {}


def test_a_tombstone_takes_what_is_pending_too() -> None:
    offsets = CommittedOffsets()
    put(offsets, A, 6, ONE)
    put(offsets, A, None)
    assert offsets.has_open_transactions("g")
    offsets.end_transaction(ONE, committed=True)
    assert kept(offsets) == {}
    assert list(offsets.groups()) == []
