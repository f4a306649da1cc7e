"""Transactions over a whole broker, under both versions of their protocol: commit, abort, fencing,
timeouts, and what readers see of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest

from kafkalite.controller import features
from kafkalite.coordinator.transactions.state import TransactionState
from kafkalite.errors import ErrorCode
from kafkalite.log.files import read_part
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafkalite.protocol.messages.fetch import AbortedTransaction, FetchRequest, FetchResponse
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.protocol.records.batch import iter_headers
from kafkalite.protocol.records.record import read_records
from kafkalite.testing.simulation import Simulation
from kafkalite.types import READ_COMMITTED, BrokerId, Offset
from tests.server.group_requests import find
from tests.server.led_partitions import set_isr
from tests.server.requests import fetch
from tests.server.running import FETCH, Running, crashed, served, simulated, start
from tests.server.transactions import (
    ID,
    TransactionalProducer,
    find_coordinator,
    init,
    latest,
    read_committed,
    seen,
)

both_versions = pytest.mark.parametrize("bumps", [False, True])


def state(running: Running, id: str = ID) -> TransactionState:
    transactions = running.broker._services.transactions
    driver = transactions._led[transactions.partition_of(id)]
    assert driver._driver is not None
    core = driver._driver._core
    state: TransactionState = core.transactions[id].state  # type: ignore[attr-defined]  # A core.
    return state


@both_versions
@served()
async def test_what_is_committed_is_seen_and_what_is_aborted_is_not(
    running: Running, bumps: bool
) -> None:
    await running.create("topic")
    producer = await TransactionalProducer.begin(running, bumps=bumps)
    await producer.write("topic", b"a", b"b")
    assert await seen(running, "topic") == []
    assert await producer.end(commits=True) is ErrorCode.NONE
    assert await seen(running, "topic") == [b"a", b"b"]
    await producer.write("topic", b"c")
    assert await producer.end(commits=False) is ErrorCode.NONE
    await producer.write("topic", b"d")
    assert await producer.end(commits=True) is ErrorCode.NONE
    assert await seen(running, "topic") == [b"a", b"b", b"d"]
    assert [value for value in await running.read("topic") if len(value) == 1] == [
        b"a",
        b"b",
        b"c",
        b"d",
    ]
    assert state(running) is TransactionState.COMPLETE_COMMIT


@served()
async def test_readers_of_what_is_committed_wait_for_the_end_of_a_transaction(
    running: Running,
) -> None:
    await running.create("topic")
    producer = await TransactionalProducer.begin(running)
    await producer.write("topic", b"a")
    request = fetch("topic", {0: 0}, max_wait_ms=10_000)
    request.isolation_level = READ_COMMITTED
    client = await running.connect("reader")
    answer = client.send(request, FETCH, FetchResponse)
    await running.wait_ms(10)
    await producer.send("topic", b"b")
    await running.produce("topic", b"of no transaction")
    await running.wait_ms(10)
    assert not answer.done()
    data = await read_committed(running, "topic")
    assert (data.high_watermark, data.last_stable_offset) == (3, 0)
    assert await latest(running, "topic", committed=False) == 3
    assert await latest(running, "topic", committed=True) == 0
    await producer.end(commits=True)
    await running.wait_ms(1)
    assert answer.done()
    assert await latest(running, "topic", committed=True) == 4


@pytest.mark.parametrize("acks", [1, -1])
@served()
async def test_records_are_kept_while_their_coordinator_has_not_answered(
    running: Running, acks: int
) -> None:
    """The buffer that they came in is used again meanwhile."""
    await running.create("topic")
    producer = await TransactionalProducer.begin(running, bumps=True)
    held: list[Callable[[], None]] = []
    transactions = running.broker._services.transactions
    ask_about = transactions.ask_about
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            transactions, "ask_about", lambda *asked: held.append(partial(ask_about, *asked))
        )
        client = await running.connect("late")
        answer = client.send(producer.request("topic", b"a", acks=acks), 12, ProduceResponse)
        await running.wait_ms(10)
        await running.produce("topic", b"of another", client="late")
    assert not answer.done()
    (ask,) = held
    ask()
    await running.wait_ms(1)
    (topic,) = answer.result().responses
    assert topic.partition_responses[0].error_code == ErrorCode.NONE
    await producer.end(commits=True)
    assert await seen(running, "topic") == [b"of another", b"a"]


@served(request_timeout_ms="5000")
async def test_a_coordinator_that_says_nothing_is_not_waited_for_for_ever(
    running: Running,
) -> None:
    await running.create("topic")
    producer = await TransactionalProducer.begin(running, bumps=True)
    transactions = running.broker._services.transactions
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transactions, "ask_about", lambda *asked: None)
        client = await running.client()
        answer = client.send(producer.request("topic", b"a"), 12, ProduceResponse)
        await running.wait_ms(4_999)
        assert not answer.done()
        await running.wait_ms(2)
    (topic,) = answer.result().responses
    assert topic.partition_responses[0].error_code == ErrorCode.REQUEST_TIMED_OUT
    assert await running.read("topic") == []


@served()
async def test_a_session_of_what_is_committed_is_told_when_it_is(running: Running) -> None:
    await running.create("topic")
    producer = await TransactionalProducer.begin(running)
    request = fetch("topic", {0: 0})
    request.isolation_level, request.session_epoch = READ_COMMITTED, 0
    client = await running.connect("reader")
    first = await client.ask(request, FETCH, FetchResponse)
    await producer.write("topic", b"a", b"b")
    waiting = FetchRequest(
        max_wait_ms=10_000,
        min_bytes=1,
        isolation_level=READ_COMMITTED,
        session_id=first.session_id,
        session_epoch=1,
    )
    answer = client.send(waiting, FETCH, FetchResponse)
    await running.wait_ms(10)
    assert not answer.done()
    await producer.end(commits=False)
    await running.wait_ms(1)
    (topic,) = answer.result().responses
    (data,) = topic.partitions
    assert data.aborted_transactions == [
        AbortedTransaction(producer_id=producer.producer_id, first_offset=0)
    ]


@simulated
async def test_a_folder_without_the_feature_has_records_of_version_0(
    simulation: Simulation,
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(features, "FINALIZED", {"metadata.version": features.METADATA_VERSION})
        async with start(simulation) as running:
            await running.create("topic")
            producer = await TransactionalProducer.begin(running)
            await producer.write("topic", b"a")
            await producer.end(commits=True)
            assert await seen(running, "topic") == [b"a"]
            index = running.broker._services.transactions.partition_of(ID)
            read = running.partition("__transaction_state", index).log.read(
                Offset(0), max_bytes=1 << 20, max_offset=Offset(100), first_batch_whole=True
            )
            assert read.part is not None
            log = read_part(read.part)
            versions = [
                bytes(record.value or b"")[:2]
                for position, header in iter_headers(log)
                for record in read_records(log, position, header)
            ]
            assert versions == [b"\0\0"] * 4


@both_versions
@served()
async def test_another_producer_of_the_id_fences_the_first(running: Running, bumps: bool) -> None:
    await running.create("topic")
    first = await TransactionalProducer.begin(running, bumps=bumps)
    await first.write("topic", b"a")
    answer = await init(running)
    assert answer.error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert state(running) is TransactionState.COMPLETE_ABORT
    second = await TransactionalProducer.begin(running, bumps=bumps)
    assert second.producer_id == first.producer_id
    assert second.epoch == first.epoch + 2
    assert await first.send("topic", b"z") is ErrorCode.INVALID_PRODUCER_EPOCH
    assert await first.end(commits=True) is ErrorCode.PRODUCER_FENCED
    if not bumps:
        assert await first.add("topic") is ErrorCode.PRODUCER_FENCED
        assert await first.add("topic", version=1) is ErrorCode.INVALID_PRODUCER_EPOCH
        assert await first.end(commits=True, version=1) is ErrorCode.INVALID_PRODUCER_EPOCH
    await second.write("topic", b"b")
    await second.end(commits=True)
    assert await seen(running, "topic") == [b"b"]


@both_versions
@served()
async def test_a_transaction_that_lasts_too_long_is_aborted(running: Running, bumps: bool) -> None:
    await running.create("topic")
    producer = await TransactionalProducer.begin(running, timeout_ms=5_000, bumps=bumps)
    await producer.write("topic", b"a")
    await running.wait_ms(4_900)
    assert state(running) is TransactionState.ONGOING
    await running.wait_ms(200)
    assert state(running) is TransactionState.COMPLETE_ABORT
    refusal = ErrorCode.INVALID_TXN_STATE if bumps else ErrorCode.PRODUCER_FENCED
    assert await producer.end(commits=True) is refusal
    assert await producer.send("topic", b"b") is ErrorCode.INVALID_PRODUCER_EPOCH
    assert await seen(running, "topic") == []
    assert await latest(running, "topic", committed=True) == 2


@served()
async def test_a_partition_that_was_not_added_is_not_written_to(running: Running) -> None:
    await running.create("topic", 2)
    producer = await TransactionalProducer.begin(running)
    assert await producer.send("topic", b"a") is ErrorCode.TRANSACTION_ABORTABLE
    await producer.write("topic", b"a")
    producer.sequence = 0
    assert await producer.send("topic", b"a", partition=1) is ErrorCode.TRANSACTION_ABORTABLE


@served(transaction_partition_verification_enable="false")
async def test_without_verification_old_clients_need_not_add_what_they_write_to(
    running: Running,
) -> None:
    await running.create("topic")
    await find(running)
    old = await TransactionalProducer.begin(running)
    assert await old.send("topic", b"at once") is ErrorCode.NONE
    assert await old.commit_offset("topic", 1) is ErrorCode.NONE
    assert state(running) is TransactionState.EMPTY
    new = await TransactionalProducer.begin(running, "new", bumps=True)
    assert await new.send("topic", b"added") is ErrorCode.NONE
    assert state(running, "new") is TransactionState.ONGOING


@served()
async def test_without_a_coordinator_nothing_is_known_of_an_id(running: Running) -> None:
    assert (await init(running)).error_code == ErrorCode.NOT_COORDINATOR
    await find_coordinator(running)
    stranger = TransactionalProducer(running, "other", 7, 0)
    assert await stranger.end(commits=True) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    stranger.id = ""
    assert await stranger.end(commits=True) is ErrorCode.INVALID_REQUEST


@both_versions
@served()
async def test_an_end_may_be_repeated_and_not_turned(running: Running, bumps: bool) -> None:
    await running.create("topic")
    producer = await TransactionalProducer.begin(running, bumps=bumps)
    if not bumps:
        assert await producer.end(commits=True) is ErrorCode.INVALID_TXN_STATE
    await producer.write("topic", b"a")
    before = producer.epoch
    assert await producer.end(commits=True) is ErrorCode.NONE
    after = producer.epoch
    assert after == before + bumps
    producer.epoch = before
    assert await producer.end(commits=True) is ErrorCode.NONE
    assert producer.epoch == after
    producer.epoch = before
    assert await producer.end(commits=False) is ErrorCode.INVALID_TXN_STATE


@served()
async def test_under_version_2_a_transaction_with_nothing_in_it_is_aborted(
    running: Running,
) -> None:
    producer = await TransactionalProducer.begin(running, bumps=True)
    epoch = producer.epoch
    assert await producer.end(commits=True) is ErrorCode.INVALID_TXN_STATE
    assert await producer.end(commits=False) is ErrorCode.NONE
    assert producer.epoch == epoch + 1
    assert state(running) is TransactionState.COMPLETE_ABORT
    assert await producer.end(commits=False) is ErrorCode.NONE
    assert producer.epoch == epoch + 2


@asynccontextmanager
async def restarted(
    simulation: Simulation, files: MemoryFiles, *, clean: bool
) -> AsyncIterator[Running]:
    """The broker's life after a first one that left an open and a committed transaction."""
    first_life = start if clean else crashed
    async with first_life(simulation, files) as running:
        await running.create("topic")
        done = await TransactionalProducer.begin(running, "done")
        await done.write("topic", b"a")
        await done.end(commits=True)
        await done.write("topic", b"x")
        await done.end(commits=False)
        opened = await TransactionalProducer.begin(running, "open", timeout_ms=30_000)
        await opened.write("topic", b"b")
    async with start(simulation, files) as running:
        yield running


@pytest.mark.parametrize("clean", [True, False])
@simulated
async def test_all_is_as_before_after_a_restart(simulation: Simulation, clean: bool) -> None:
    files = MemoryFiles(models_crashes=True)
    async with restarted(simulation, files, clean=clean) as running:
        await running.wait_ms(1)
        assert state(running, "done") is TransactionState.COMPLETE_ABORT
        assert state(running, "open") is TransactionState.ONGOING
        assert await seen(running, "topic") == [b"a"]
        assert await latest(running, "topic", committed=True) == 4
        opened = TransactionalProducer(running, "open", 1, 0, sequence=1)
        await opened.write("topic", b"c")
        assert await opened.end(commits=True) is ErrorCode.NONE
        assert await seen(running, "topic") == [b"a", b"b", b"c"]


@simulated
async def test_the_timeout_counts_on_over_a_restart(simulation: Simulation) -> None:
    files = MemoryFiles(models_crashes=True)
    async with restarted(simulation, files, clean=True) as running:
        await running.wait_ms(31_000)
        assert state(running, "open") is TransactionState.COMPLETE_ABORT
        assert await seen(running, "topic") == [b"a"]


@simulated
async def test_what_is_prepared_is_finished_after_a_crash(simulation: Simulation) -> None:
    """The markers do not get to their partition before the process ends."""
    files = MemoryFiles(models_crashes=True)
    async with crashed(simulation, files) as running:
        await running.create("topic")
        producer = await TransactionalProducer.begin(running, bumps=True)
        await producer.write("topic", b"a")
        running.broker._services.markers.write = (  # type: ignore[method-assign]  # Lost.
            lambda *_: None
        )
        assert await producer.end(commits=True) is ErrorCode.NONE
        assert state(running) is TransactionState.PREPARE_COMMIT
        assert await seen(running, "topic") == []
        assert (await init(running)).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    async with start(simulation, files) as running:
        await running.wait_ms(1)
        assert state(running) is TransactionState.COMPLETE_COMMIT
        assert await seen(running, "topic") == [b"a"]


@simulated
async def test_a_marker_that_was_written_before_a_crash_is_written_again(
    simulation: Simulation,
) -> None:
    """The broker ends between the marker and the record that says that it stands."""
    files = MemoryFiles(models_crashes=True)
    async with crashed(simulation, files) as running:
        await running.create("topic")
        producer = await TransactionalProducer.begin(running, bumps=True)
        await producer.write("topic", b"a")
        running.broker._services.transactions.tell = (  # type: ignore[method-assign]  # Lost.
            lambda *_: None
        )
        await producer.end(commits=False)
        assert state(running) is TransactionState.PREPARE_ABORT
        assert await latest(running, "topic", committed=True) == 2
    async with start(simulation, files) as running:
        await running.wait_ms(1)
        assert state(running) is TransactionState.COMPLETE_ABORT
        producer.running = running
        await producer.write("topic", b"b")
        await producer.end(commits=True)
        assert await seen(running, "topic") == [b"b"]


@served()
async def test_markers_of_deleted_topics_are_not_waited_for(running: Running) -> None:
    await running.create("topic")
    await running.create("gone")
    producer = await TransactionalProducer.begin(running, bumps=True)
    await producer.write("topic", b"a")
    await producer.add("gone", version=3)
    await running.delete("gone")
    await producer.end(commits=True)
    assert state(running) is TransactionState.COMPLETE_COMMIT
    assert await seen(running, "topic") == [b"a"]


@served(
    transactional_id_expiration_ms="5000",
    transaction_remove_expired_transaction_cleanup_interval_ms="10000",
)
async def test_ids_that_are_unused_for_long_are_forgotten(running: Running) -> None:
    producer = await TransactionalProducer.begin(running)
    await running.wait_ms(10_001)
    assert await producer.end(commits=False) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert (await init(running)).producer_epoch == 0


@served(request_timeout_ms="5000")
async def test_a_transaction_is_complete_when_its_markers_are_committed(running: Running) -> None:
    """A follower lags; the marker is written again when it was not committed in time."""
    await running.create("topic")
    producer = await TransactionalProducer.begin(running, bumps=True)
    await producer.write("topic", b"a")
    partition = running.partition("topic")
    leader_only = frozenset(partition.leading.isr)
    set_isr(partition, leader_only | {BrokerId(99)})
    assert await producer.end(commits=True) is ErrorCode.NONE
    await running.wait_ms(10)
    assert state(running) is TransactionState.PREPARE_COMMIT
    assert await seen(running, "topic") == []
    await running.wait_ms(5_200)
    assert partition.log.end_offset == 3, "two markers"
    set_isr(partition, leader_only)
    await running.wait_ms(1)
    assert state(running) is TransactionState.COMPLETE_COMMIT
    assert await seen(running, "topic") == [b"a"]


@served()
async def test_what_is_decided_is_sent_when_it_is_committed(running: Running) -> None:
    await running.create("topic")
    producer = await TransactionalProducer.begin(running, bumps=True)
    await producer.write("topic", b"a")
    transactions = running.broker._services.transactions
    home = running.partition("__transaction_state", transactions.partition_of(ID))
    leader_only = frozenset(home.leading.isr)
    set_isr(home, leader_only | {BrokerId(99)})
    client = await running.connect("ends")
    request = EndTxnRequest(
        transactional_id=ID,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        committed=True,
    )
    answer = client.send(request, 5, EndTxnResponse)
    await running.wait_ms(10)
    assert not answer.done()
    assert running.partition("topic").log.end_offset == 1, "no marker yet"
    set_isr(home, leader_only)
    await running.wait_ms(1)
    assert answer.result().error_code == ErrorCode.NONE
    assert await seen(running, "topic") == [b"a"]
