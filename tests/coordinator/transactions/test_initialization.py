"""Which producer a transactional id is, and who is fenced."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkalite.coordinator.transactions.coordinator import TransactionCoordinator
from kafkalite.coordinator.transactions.events import (
    InitProducerId,
    NeedProducerId,
    Producer,
    ProducerIdNeeded,
    TransactionTimedOut,
)
from kafkalite.coordinator.transactions.records import Record
from kafkalite.coordinator.transactions.state import LAST_EPOCH, TransactionState
from kafkalite.errors import ErrorCode
from kafkalite.types import NO_PRODUCER_EPOCH, NO_TIMESTAMP, ProducerEpoch, ProducerId
from tests.coordinator.transactions.sample_transactions import ID, World, producer

FENCED = ErrorCode.PRODUCER_FENCED


def at_epoch(epoch: int) -> World:
    """The id's producer 7 in that epoch, with nothing open."""
    world = World()
    world.init()
    world.core.apply(Record(ID, replace(world.transaction, producer_epoch=ProducerEpoch(epoch))))
    return world


def test_each_call_gives_another_epoch() -> None:
    world = World()
    assert [world.init(), world.init()] == [producer(7, 0), producer(7, 1)]
    assert world.transaction.started_ms == NO_TIMESTAMP
    assert world.transaction.last_producer_epoch == NO_PRODUCER_EPOCH


@pytest.mark.parametrize(
    ("id", "timeout_ms", "code"),
    [
        ("", 1, ErrorCode.INVALID_REQUEST),
        (ID, 0, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (ID, 900_001, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
    ],
)
def test_requests_that_are_wrong(id: str, timeout_ms: int, code: ErrorCode) -> None:
    assert World().decide(InitProducerId(1, id, timeout_ms)).reply is code


def test_who_goes_on_tells_what_he_was_and_may_repeat_it() -> None:
    world = at_epoch(4)
    assert world.init(producer(7, 4)) == producer(7, 5)
    assert world.init(producer(7, 4)) == producer(7, 5)
    assert world.init(producer(7, 3)) is FENCED
    assert world.init(producer(8, 5)) is FENCED
    world.init()
    assert world.init(producer(7, 5)) is FENCED, "another has come since"


def test_an_id_that_is_not_known_takes_anybody() -> None:
    assert World().init(producer(99, 3)) == producer(7, 0)


def test_used_up_epochs_lead_to_another_producer_id() -> None:
    world = at_epoch(LAST_EPOCH - 1)
    world.next_id = 20
    assert world.init() == producer(20, 0)
    assert world.init(producer(7, LAST_EPOCH - 1)) is FENCED


def test_the_retry_of_the_call_that_gave_the_last_epoch_is_one() -> None:
    world = at_epoch(LAST_EPOCH - 2)
    before = producer(7, LAST_EPOCH - 2)
    assert world.init(before) == producer(7, LAST_EPOCH - 1)
    assert world.init(before) == producer(7, LAST_EPOCH - 1)


def test_who_goes_on_with_used_up_epochs_may_repeat_it_under_the_old_id() -> None:
    world = at_epoch(LAST_EPOCH - 1)
    world.next_id = 20
    last = producer(7, LAST_EPOCH - 1)
    assert world.init(last) == producer(20, 0)
    assert world.init(last) == producer(20, 0)
    assert world.next_id == 21


@pytest.mark.parametrize("state", [TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT])
def test_while_a_transaction_ends_everyone_waits(state: TransactionState) -> None:
    world = World()
    world.begun()
    world.core.apply(Record(ID, replace(world.transaction, state=state)))
    assert world.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert world.state is state


def test_an_open_transaction_is_aborted_in_an_epoch_that_nobody_has() -> None:
    world = World()
    by = world.begun()
    decided = world.decide(InitProducerId(1, ID, 1_000))
    assert decided.reply is ErrorCode.CONCURRENT_TRANSACTIONS
    assert [marker.commits for marker in decided.markers] == [False]
    assert world.state is TransactionState.PREPARE_ABORT
    world.write_markers()
    assert world.init() == Producer(by.id, ProducerEpoch(by.epoch + 2))
    assert world.end(by, commits=True) is FENCED


def test_whose_last_epoch_is_fenced_is_followed_by_another_id() -> None:
    """As it was recorded of Kafka 4.4: whoever was fenced goes on as the other, if he tells what he
    was."""
    last = at_open_last_epoch(world := World())
    assert world.decide(InitProducerId(1, ID, 1_000)).reply == ProducerIdNeeded()
    assert world.state is TransactionState.ONGOING
    assert world.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert world.present == producer(7, LAST_EPOCH)
    world.write_markers()
    assert (world.state, world.present) == (TransactionState.COMPLETE_ABORT, producer(8, 0))
    assert world.end(last, commits=True, version=2) is ErrorCode.INVALID_TXN_STATE
    assert world.end(last, commits=False, version=2) == producer(8, 0)
    assert world.init(last) == producer(8, 0)
    assert world.init() == producer(8, 1)
    assert world.end(last, commits=True, version=2) is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_so_is_one_that_times_out() -> None:
    last = at_open_last_epoch(world := World())
    timed_out = TransactionTimedOut(ID, last)
    assert world.decide(timed_out).markers == ()
    assert world.ids_wanted == [NeedProducerId(ID, last)]
    assert world.state is TransactionState.ONGOING
    (markers,) = world.decide(timed_out._replace(fresh_id=world.fresh_id())).markers
    assert markers.producer == producer(7, LAST_EPOCH)
    world.write_markers()
    assert world.present == producer(8, 0)


def test_under_version_1_of_the_cluster_the_id_stays_until_somebody_asks() -> None:
    at_open_last_epoch(world := World(TransactionCoordinator(protocol_version=1)))
    assert world.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    world.write_markers()
    assert world.present == producer(7, LAST_EPOCH)
    assert world.init() == producer(8, 0)


def at_open_last_epoch(world: World) -> Producer:
    """The producer, with a transaction open in its last epoch."""
    world.begun(version=2)
    last = ProducerEpoch(LAST_EPOCH - 1)
    world.core.apply(Record(ID, replace(world.transaction, producer_epoch=last)))
    return producer(7, last)


def test_a_zombie_aborts_nothing() -> None:
    world = World()
    world.begun()
    assert world.init(Producer(ProducerId(99), ProducerEpoch(0))) is FENCED
    assert world.state is TransactionState.ONGOING
