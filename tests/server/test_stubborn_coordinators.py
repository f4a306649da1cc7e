"""Coordinators of transactions that cannot write for now, or whose producers have used up their
epochs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkalite.coordinator.transactions.coordinator import TransactionCoordinator
from kafkalite.coordinator.transactions.records import Record
from kafkalite.coordinator.transactions.state import LAST_EPOCH, TransactionState
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.replica.leader import PartitionLeader
from kafkalite.server.producer_ids import OnId, ProducerIds
from kafkalite.types import BrokerId, ProducerEpoch, TimestampMs
from tests.server.running import Running, served
from tests.server.transactions import ID, TransactionalProducer, init, seen

State = TransactionState
TIMEOUT_MS = 5_000


def core(running: Running) -> TransactionCoordinator:
    transactions = running.broker._services.transactions
    driver = transactions._led[transactions.partition_of(ID)]._driver
    assert driver is not None
    assert isinstance(driver._core, TransactionCoordinator)
    return driver._core


def state(running: Running) -> TransactionState:
    return core(running).transactions[ID].state


def home(running: Running) -> PartitionLeader:
    """What leads the partition that keeps the id. It has another replica, which lags."""
    transactions = running.broker._services.transactions
    leader = running.partition("__transaction_state", transactions.partition_of(ID)).leading
    leader.change(
        partition_epoch=leader.partition_epoch + 1,
        replicas=(*leader.isr, BrokerId(99)),
        isr=leader.isr,
        now=TimestampMs(0),
    )
    return leader


@served()
async def test_without_enough_replicas_nothing_is_appended_and_all_are_to_come_again(
    running: Running,
) -> None:
    """Kafka's coordinator appends with acks=all, and tells COORDINATOR_NOT_AVAILABLE at once."""
    await running.create("topic")
    producer = await TransactionalProducer.begin(running, bumps=True)
    await producer.write("topic", b"a")
    leader = home(running)
    leader.require(2)
    end = leader.end_offset
    assert await producer.end(commits=True) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (await init(running)).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert await producer.add("topic", 0, version=3) is ErrorCode.NONE, "it was added before"
    assert (leader.end_offset, state(running)) == (end, State.ONGOING)
    leader.require(1)
    assert await producer.end(commits=True) is ErrorCode.NONE
    assert await seen(running, "topic") == [b"a"]


@served()
async def test_what_is_open_for_too_long_is_aborted_once_there_are_enough(
    running: Running,
) -> None:
    await running.create("topic")
    producer = await TransactionalProducer.begin(running, timeout_ms=TIMEOUT_MS, bumps=True)
    await producer.write("topic", b"a")
    leader = home(running)
    leader.require(2)
    assert await producer.end(commits=True) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    await running.wait_ms(3 * TIMEOUT_MS)
    assert state(running) is State.ONGOING
    leader.require(1)
    await running.wait_ms(1_001)
    assert state(running) is State.COMPLETE_ABORT


@served()
async def test_what_is_prepared_is_completed_once_there_are_enough(running: Running) -> None:
    await running.create("topic")
    producer = await TransactionalProducer.begin(running, bumps=True)
    await producer.write("topic", b"a")
    leader = home(running)
    markers = running.broker._services.markers
    with pytest.MonkeyPatch.context() as patch:
        write = markers.write

        def short_from_now_on(*args: object) -> None:
            leader.require(2)
            write(*args)  # type: ignore[arg-type]  # As it was called.

        patch.setattr(markers, "write", short_from_now_on)
        assert await producer.end(commits=True) is ErrorCode.NONE
    assert await seen(running, "topic") == [b"a"]
    await running.wait_ms(5_000)
    assert state(running) is State.PREPARE_COMMIT
    leader.require(1)
    await running.wait_ms(1_001)
    assert state(running) is State.COMPLETE_COMMIT


@pytest.mark.parametrize("refusals", [0, 2])
@served()
async def test_one_that_times_out_in_its_last_epoch_is_followed_by_another_id(
    running: Running, refusals: int
) -> None:
    """Though there may be no producer id to be had at first."""
    await running.create("topic")
    producer = await TransactionalProducer.begin(running, timeout_ms=TIMEOUT_MS, bumps=True)
    last = ProducerEpoch(LAST_EPOCH - 1)
    known = core(running).transactions[ID]
    core(running).apply(Record(ID, replace(known, producer_epoch=last)))
    producer.epoch = last
    await producer.write("topic", b"a")
    give, asked = ProducerIds.next, 0

    def not_at_first(ids: ProducerIds, on_id: OnId) -> None:
        nonlocal asked
        asked += 1
        if asked <= refusals:
            on_id(KafkaError(ErrorCode.REQUEST_TIMED_OUT))
        else:
            give(ids, on_id)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProducerIds, "next", not_at_first)
        await running.wait_ms(TIMEOUT_MS + 1_000)
    assert asked == refusals + 1
    after = core(running).transactions[ID]
    assert (after.state, after.producer_epoch) == (State.COMPLETE_ABORT, 0)
    assert after.producer_id != producer.producer_id
    assert await producer.send("topic", b"b") is ErrorCode.INVALID_PRODUCER_EPOCH
    assert await seen(running, "topic") == []
    assert (await init(running)).producer_id == after.producer_id
