"""What ends a transaction, in every state: a commit or an abort of its producer, under both
versions of the protocol."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkalite.coordinator.transactions.events import EndTransaction, MarkersWritten
from kafkalite.coordinator.transactions.records import Record
from kafkalite.coordinator.transactions.state import LAST_EPOCH, TransactionState
from kafkalite.errors import ErrorCode
from kafkalite.types import NO_PRODUCER_ID, ProducerEpoch
from tests.coordinator.transactions.sample_transactions import ID, PARTITION, World, producer

State = TransactionState
INVALID, WAIT = ErrorCode.INVALID_TXN_STATE, ErrorCode.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize(
    ("state", "commit", "abort"),
    [
        (State.EMPTY, INVALID, INVALID),
        (State.ONGOING, State.PREPARE_COMMIT, State.PREPARE_ABORT),
        (State.PREPARE_COMMIT, WAIT, INVALID),
        (State.PREPARE_ABORT, INVALID, WAIT),
        (State.COMPLETE_COMMIT, State.COMPLETE_COMMIT, INVALID),
        (State.COMPLETE_ABORT, INVALID, State.COMPLETE_ABORT),
    ],
)
def test_version_1_in_every_state(
    state: State, commit: ErrorCode | State, abort: ErrorCode | State
) -> None:
    for commits, expected in ((True, commit), (False, abort)):
        world = World()
        by = world.begun()
        world.core.apply(Record(ID, replace(world.transaction, state=state)))
        answer = world.end(by, commits=commits)
        assert (answer if isinstance(answer, ErrorCode) else world.state) == expected
        assert isinstance(answer, ErrorCode) or answer == by


@pytest.mark.parametrize(
    ("state", "is_retry", "commit", "abort"),
    [
        (State.EMPTY, False, INVALID, State.PREPARE_ABORT),
        (State.EMPTY, True, ErrorCode.PRODUCER_FENCED, ErrorCode.PRODUCER_FENCED),
        (State.ONGOING, False, State.PREPARE_COMMIT, State.PREPARE_ABORT),
        (State.ONGOING, True, ErrorCode.PRODUCER_FENCED, ErrorCode.PRODUCER_FENCED),
        (State.PREPARE_COMMIT, False, ErrorCode.PRODUCER_FENCED, ErrorCode.PRODUCER_FENCED),
        (State.PREPARE_COMMIT, True, WAIT, INVALID),
        (State.PREPARE_ABORT, True, INVALID, WAIT),
        (State.COMPLETE_COMMIT, False, INVALID, State.PREPARE_ABORT),
        (State.COMPLETE_COMMIT, True, State.COMPLETE_COMMIT, INVALID),
        (State.COMPLETE_ABORT, False, INVALID, State.PREPARE_ABORT),
        (State.COMPLETE_ABORT, True, INVALID, State.COMPLETE_ABORT),
    ],
)
def test_version_2_in_every_state(
    state: State, is_retry: bool, commit: ErrorCode | State, abort: ErrorCode | State
) -> None:
    for commits, expected in ((True, commit), (False, abort)):
        world = World()
        world.begun(version=2)
        present = replace(world.transaction, state=state, producer_epoch=ProducerEpoch(5))
        world.core.apply(Record(ID, present))
        answer = world.end(producer(7, 4 if is_retry else 5), commits=commits, version=2)
        assert (answer if isinstance(answer, ErrorCode) else world.state) == expected
        if not isinstance(answer, ErrorCode):
            assert answer == producer(7, 5 if is_retry else 6)


@pytest.mark.parametrize("version", [0, 2])
def test_who_is_not_its_producer_ends_nothing(version: int) -> None:
    world = World()
    assert world.end(producer(), commits=True, version=version) is (
        ErrorCode.INVALID_PRODUCER_ID_MAPPING
    )
    by = world.begun(version=version)
    stranger = by._replace(id=producer(99).id)
    assert world.end(stranger, commits=True, version=version) is (
        ErrorCode.INVALID_PRODUCER_ID_MAPPING
    )
    zombie = by._replace(epoch=ProducerEpoch(by.epoch + 1))
    assert world.end(zombie, commits=True, version=version) is ErrorCode.PRODUCER_FENCED
    nobody = EndTransaction(1, "", by, commits=True, protocol_version=version)
    assert world.decide(nobody).reply is ErrorCode.INVALID_REQUEST
    assert world.state is State.ONGOING


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("commits", [False, True])
def test_markers_go_to_all_partitions_and_then_it_is_complete(version: int, commits: bool) -> None:
    world = World()
    by = world.begun(version=version)
    decided = world.decide(EndTransaction(1, ID, by, commits, version))
    (markers,) = decided.markers
    assert (markers.commits, markers.partitions) == (commits, frozenset({PARTITION}))
    assert markers.producer == by._replace(epoch=ProducerEpoch(by.epoch + (version == 2)))
    assert decided.timers == {("timeout", ID): None}
    world.write_markers()
    assert world.state is (State.COMPLETE_COMMIT if commits else State.COMPLETE_ABORT)
    assert world.transaction.partitions == frozenset()
    world.write_markers()
    assert len(world.log) == 4, "the second word of the same changes nothing"


def test_markers_of_another_transaction_complete_nothing() -> None:
    world = World()
    by = world.begun()
    world.end(by, commits=True)
    world.decide(MarkersWritten(ID, by._replace(epoch=ProducerEpoch(9))))
    world.decide(MarkersWritten("unknown", by))
    assert world.state is State.PREPARE_COMMIT


def test_under_version_2_a_producer_whose_epochs_are_used_up_goes_on_under_another_id() -> None:
    world = World()
    world.begun(version=2)
    last = ProducerEpoch(LAST_EPOCH - 1)
    world.core.apply(Record(ID, replace(world.transaction, producer_epoch=last)))
    assert world.end(producer(7, last), commits=True, version=2) == producer(8, 0)
    assert world.present == producer(7, LAST_EPOCH)
    assert world.transaction.next_producer_id == 8
    world.write_markers()
    assert world.present == producer(8, 0)
    assert world.transaction.next_producer_id == NO_PRODUCER_ID
    assert world.end(producer(7, last), commits=True, version=2) == producer(8, 0)
    assert world.end(producer(7, last), commits=False, version=2) is INVALID


def test_under_version_2_nothing_is_aborted_from_now_on() -> None:
    world = World()
    by = world.init()
    assert not isinstance(by, ErrorCode)
    assert world.end(by, commits=False, version=2) == producer(7, 1)
    assert world.transaction.started_ms == world.now
