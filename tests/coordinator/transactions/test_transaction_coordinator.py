"""The core as a whole: timeouts, expiry, what is loaded, what is listed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkalite.coordinator.transactions.coordinator import TransactionCoordinator
from kafkalite.coordinator.transactions.events import (
    DescribeTransactions,
    EndTransaction,
    ExpireTransactionalIds,
    ListedTransaction,
    ListTransactions,
    Loaded,
    MarkersWritten,
    PartitionsAdded,
    Producer,
    ProtocolChanged,
    TransactionDescribed,
    TransactionsListed,
    TransactionTimedOut,
)
from kafkalite.coordinator.transactions.records import Record
from kafkalite.coordinator.transactions.settings import TransactionSettings
from kafkalite.coordinator.transactions.state import TransactionState
from kafkalite.core import SetTimer
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.types import NO_PRODUCER_EPOCH, TimestampMs
from tests.coordinator.transactions.sample_transactions import (
    ID,
    NOW,
    PARTITION,
    TIMEOUT_MS,
    World,
    producer,
)

State = TransactionState
TIMEOUT = ("timeout", ID)


def reloaded(world: World) -> World:
    """Another coordinator, from the log alone."""
    successor = World()
    successor.now = world.now
    for transactional_id, transaction in world.log:
        # What is soft does not stand in the log.
        kept = transaction and replace(transaction, last_producer_epoch=NO_PRODUCER_EPOCH)
        successor.core.apply(Record(transactional_id, kept))
    return successor


def test_a_transaction_is_timed_from_its_first_partition() -> None:
    world = World()
    by = world.init()
    assert not isinstance(by, ErrorCode)
    timer = world.add(by).timers[TIMEOUT]
    assert timer is not None
    assert timer.at_ms == NOW + TIMEOUT_MS + 1
    assert world.add(by).timers == {}
    world.now = timer.at_ms
    decided = world.decide(timer.event)
    assert world.state is State.PREPARE_ABORT
    assert [marker.producer for marker in decided.markers] == [producer(7, 1)]
    assert world.end(by, commits=True) is ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize(("version", "last_epoch"), [(0, -1), (2, 0)])
def test_what_is_aborted_for_a_producer_is_so_in_the_clusters_version(
    version: int, last_epoch: int
) -> None:
    world = World()
    by = world.begun()
    world.decide(ProtocolChanged(version))
    world.decide(TransactionTimedOut(ID, by))
    assert world.transaction.protocol_version == version
    assert world.transaction.last_producer_epoch == last_epoch


def test_at_version_0_of_the_cluster_nothing_of_version_2_is_recorded() -> None:
    world = World()
    by = world.begun(version=2)
    world.decide(ProtocolChanged(0))
    assert world.end(by, commits=True, version=2) is ErrorCode.UNSUPPORTED_VERSION
    assert world.state is State.ONGOING
    assert world.end(by, commits=True) == by
    other = World(TransactionCoordinator(protocol_version=0))
    first = other.init()
    assert isinstance(first, Producer)
    assert other.add(first, version=2).reply is ErrorCode.UNSUPPORTED_VERSION
    assert other.state is State.EMPTY
    assert other.add(first).reply == PartitionsAdded()


def test_at_version_0_of_the_cluster_an_id_of_version_2_gets_no_producer() -> None:
    world = World()
    world.end(world.begun(version=2), commits=True, version=2)
    world.write_markers()
    world.decide(ProtocolChanged(0))
    assert world.init() is ErrorCode.UNSUPPORTED_VERSION
    world.decide(ProtocolChanged(1))
    assert isinstance(world.init(), Producer)


def test_a_timeout_that_comes_late_changes_nothing() -> None:
    world = World()
    by = world.begun()
    assert world.decide(TransactionTimedOut("unknown", by)).records == ()
    assert world.decide(TransactionTimedOut(ID, producer(7, 9))).records == ()
    world.end(by, commits=True)
    assert world.decide(TransactionTimedOut(ID, by)).records == ()
    assert world.state is State.PREPARE_COMMIT


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("commits", [True, False])
def test_what_was_prepared_is_finished_by_the_next_coordinator(version: int, commits: bool) -> None:
    world = World()
    by = world.begun(version=version)
    sent = world.decide(EndTransaction(1, ID, by, commits, version)).markers
    successor = reloaded(world)
    assert successor.decide(Loaded()).markers == sent
    successor.write_markers()
    world.write_markers()
    assert successor.transaction.state is world.transaction.state
    assert successor.present == world.present
    assert reloaded(world).decide(Loaded()).markers == ()


def test_what_is_open_has_the_rest_of_its_time_with_the_next_coordinator() -> None:
    world = World()
    by = world.begun()
    world.now = TimestampMs(NOW + 1_000)
    successor = reloaded(world)
    timers = successor.decide(Loaded()).timers
    timeout, expiry = timers[TIMEOUT], timers["expiry",]
    assert timeout == SetTimer(
        TIMEOUT, TimestampMs(NOW + TIMEOUT_MS + 1), TransactionTimedOut(ID, by)
    )
    assert expiry is not None
    assert expiry.at_ms == NOW + 1_000 + 3_600_000
    assert successor.core.transactions == world.core.transactions


@pytest.mark.parametrize("state", list(State))
def test_ids_that_are_unused_for_long_are_forgotten(state: State) -> None:
    settings = TransactionSettings(id_expiration_ms=100, expiration_check_interval_ms=10)
    world = World(TransactionCoordinator(settings))
    world.begun()
    world.core.apply(Record(ID, replace(world.transaction, state=state)))
    world.now = TimestampMs(NOW + 99)
    decided = world.decide(ExpireTransactionalIds())
    assert decided.records == ()
    timer = decided.timers["expiry",]
    assert timer == SetTimer(("expiry",), TimestampMs(NOW + 109), ExpireTransactionalIds())
    world.now = TimestampMs(NOW + 100)
    gone = world.decide(ExpireTransactionalIds()).records
    assert gone == ((Record(ID, None),) if state.is_over else ())
    assert (ID in world.core.transactions) is not state.is_over


def test_ids_are_described_and_listed() -> None:
    world = World()
    assert world.decide(DescribeTransactions(1, "")).reply is ErrorCode.INVALID_REQUEST
    assert world.decide(DescribeTransactions(1, ID)).reply is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    world.begun()
    assert world.decide(DescribeTransactions(1, ID)).reply == TransactionDescribed(
        world.transaction
    )
    assert world.decide(ListTransactions(1)).reply == TransactionsListed(
        (ListedTransaction(ID, world.transaction),)
    )


def refused(world: World) -> dict[object, object]:
    """The log has not taken what was decided last: when, and what is tried again by itself."""
    record = Record(ID, world.core.transactions.get(ID))
    error = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    outcome = world.core.refused((record,), error, world.now)
    assert (outcome.records, outcome.replies, outcome.sends) == ((), (), ())
    return {
        each.key: (each.at_ms - world.now, each.event)
        for each in outcome.timers
        if isinstance(each, SetTimer)
    }


def test_of_what_somebody_asked_for_nothing_is_tried_again() -> None:
    world = World()
    assert refused(world) == {}
    world.init()
    assert refused(world) == {}


@pytest.mark.parametrize(("late_ms", "in_ms"), [(0, TIMEOUT_MS + 1), (TIMEOUT_MS + 1, 1_000)])
def test_an_end_that_was_not_taken_leaves_a_transaction_its_timeout(
    late_ms: int, in_ms: int
) -> None:
    world = World()
    by = world.begun()
    world.now = TimestampMs(NOW + late_ms)
    assert refused(world) == {TIMEOUT: (in_ms, TransactionTimedOut(ID, by))}


def test_a_completion_that_was_not_taken_is_tried_again() -> None:
    world = World()
    by = world.begun()
    world.end(by, commits=True)
    assert refused(world) == {("complete", ID): (1_000, MarkersWritten(ID, by))}


def test_the_names_of_states_are_kafkas() -> None:
    assert [state.kafka_name for state in State] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]
    assert PARTITION.topic == "topic"
