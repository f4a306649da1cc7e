"""What belongs to a transaction."""

from __future__ import annotations

import pytest

from kafkalite.coordinator.transactions.events import (
    AddPartitions,
    PartitionsAdded,
    PartitionsVerified,
    Producer,
    VerifyPartitions,
)
from kafkalite.coordinator.transactions.state import TransactionState
from kafkalite.errors import ErrorCode
from tests.coordinator.transactions.sample_transactions import (
    ID,
    NOW,
    OTHER,
    PARTITION,
    World,
    producer,
)

BOTH = frozenset({PARTITION, OTHER})


def test_the_first_partition_begins_it_and_others_join() -> None:
    world = World()
    by = world.begun()
    world.now = type(NOW)(NOW + 5)
    assert world.add(by, OTHER).reply == PartitionsAdded()
    assert world.transaction.partitions == BOTH
    assert (world.transaction.started_ms, world.transaction.updated_ms) == (NOW, NOW + 5)
    again = world.add(by, PARTITION)
    assert (again.reply, again.records) == (PartitionsAdded(), ())


def test_the_next_one_begins_with_nothing() -> None:
    world = World()
    by = world.begun()
    world.end(by, commits=True)
    world.write_markers()
    world.now = type(NOW)(NOW + 5)
    world.add(by, OTHER)
    assert world.transaction.partitions == {OTHER}
    assert world.transaction.started_ms == NOW + 5


def test_whether_a_partition_was_added() -> None:
    world = World()
    by = world.begun()
    reply = world.decide(VerifyPartitions(1, ID, by, BOTH)).reply
    assert reply == PartitionsVerified(
        {PARTITION: ErrorCode.NONE, OTHER: ErrorCode.TRANSACTION_ABORTABLE}
    )


@pytest.mark.parametrize("kind", [AddPartitions, VerifyPartitions])
def test_who_is_not_its_producer_is_told_so(
    kind: type[AddPartitions] | type[VerifyPartitions],
) -> None:
    world = World()
    by = world.begun()

    def ask(id: str, by: Producer = by) -> object:
        return world.decide(kind(1, id, by, BOTH)).reply

    assert ask("") is ErrorCode.INVALID_REQUEST
    assert ask("unknown") is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert ask(ID, producer(99, 0)) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert ask(ID, producer(7, 1)) is ErrorCode.PRODUCER_FENCED
    world.end(by, commits=True)
    assert ask(ID) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert world.state is TransactionState.PREPARE_COMMIT
    assert by == producer(7, 0)
