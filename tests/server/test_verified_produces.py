"""Produces whose transactions' coordinator is elsewhere and answers late: what comes behind them
waits, and an answer that the transaction has outlived opens nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from kafkalite.coordinator.transactions.events import AddPartitions, VerifyPartitions
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.messages.produce import PartitionProduceResponse, ProduceResponse
from kafkalite.server.core_driver import OnReply
from kafkalite.testing.client import Client
from tests.server.group_requests import find
from tests.server.requests import batch, produce, produced
from tests.server.running import PRODUCE, Running, served
from tests.server.transactions import TransactionalProducer, committed_offset, latest, seen

both_versions = pytest.mark.parametrize("bumps", [False, True])


@contextmanager
def late_answers(running: Running) -> Iterator[list[Callable[[], None]]]:
    """What coordinators answer is held back: call it to hand it on."""
    held: list[Callable[[], None]] = []
    transactions = running.broker._services.transactions
    ask: Callable[[AddPartitions | VerifyPartitions, OnReply], None] = transactions.ask_wherever

    def hold(event: AddPartitions | VerifyPartitions, on_reply: OnReply) -> None:
        ask(event, lambda reply: held.append(partial(on_reply, reply)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transactions, "ask_wherever", hold)
        yield held


def send(
    client: Client, producer: TransactionalProducer, value: bytes
) -> asyncio.Future[ProduceResponse]:
    """One batch, not waited for, with the next sequence."""
    request = producer.request("topic", value)
    producer.sequence += 1
    return client.send(request, 12 if producer.bumps else 11, ProduceResponse)


async def begun(running: Running, *, bumps: bool) -> TransactionalProducer:
    await running.create("topic")
    producer = await TransactionalProducer.begin(running, bumps=bumps)
    if not bumps:
        assert await producer.add("topic") is ErrorCode.NONE
    return producer


async def told(answer: asyncio.Future[ProduceResponse]) -> PartitionProduceResponse:
    return produced(await answer)[0]


@both_versions
@served()
async def test_what_a_connection_produces_meanwhile_waits_and_others_do_not(
    running: Running, bumps: bool
) -> None:
    producer = await begun(running, bumps=bumps)
    client = await running.connect("pipelining")
    with late_answers(running) as held:
        first = send(client, producer, b"a")
        plain = client.send(produce("topic", {0: batch(b"plain")}), PRODUCE, ProduceResponse)
        second = send(client, producer, b"b")
        await running.produce("topic", b"of another")
        await running.wait_ms(10)
        (hand_on,) = held
    assert not any(answer.done() for answer in (first, plain, second))
    hand_on()
    answers = [await told(each) for each in (first, plain, second)]
    assert [(each.error_code, each.base_offset) for each in answers] == [(0, 1), (0, 2), (0, 3)]
    assert not running.broker._services.produce_order.lines
    await producer.end(commits=True)
    assert await seen(running, "topic") == [b"of another", b"a", b"plain", b"b"]


@both_versions
@served()
async def test_an_answer_that_the_transaction_has_outlived_opens_nothing(
    running: Running, bumps: bool
) -> None:
    """KIP-890: the marker comes between the coordinator's answer and the append."""
    producer = await begun(running, bumps=bumps)
    with late_answers(running) as held:
        late = send(await running.connect("late"), producer, b"a")
        await running.wait_ms(1)
    before = producer.epoch
    assert await producer.end(commits=False) is ErrorCode.NONE
    await running.wait_ms(1)
    for hand_on in held:
        hand_on()
    assert (await told(late)).error_code == ErrorCode.INVALID_TXN_STATE
    assert await latest(running, "topic", committed=True) == 1, "nothing hangs"
    assert running.partition("topic").log.producers.first_unstable_offset is None
    assert producer.epoch == before + bumps
    producer.sequence = 0
    await producer.write("topic", b"b")
    assert await producer.end(commits=True) is ErrorCode.NONE
    assert await seen(running, "topic") == [b"b"]


@both_versions
@served()
async def test_offsets_that_come_after_the_marker_are_not_kept(
    running: Running, bumps: bool
) -> None:
    await running.create("topic")
    await find(running)
    producer = await TransactionalProducer.begin(running, bumps=bumps)
    if not bumps:
        assert await producer.add_offsets() is ErrorCode.NONE
    with late_answers(running) as held:
        late = asyncio.ensure_future(producer.commit_offset("topic", 7))
        await running.wait_ms(1)
        other = TransactionalProducer(
            running, producer.id, producer.producer_id, producer.epoch, bumps
        )
        running.clients["other"] = running.clients.pop("client")
        assert await other.end(commits=False) is ErrorCode.NONE
        await running.wait_ms(1)
        for hand_on in held:
            hand_on()
    assert await late is ErrorCode.INVALID_TXN_STATE
    assert await committed_offset(running) == (-1, ErrorCode.NONE)


@both_versions
@served()
async def test_behind_one_that_is_to_come_again_nothing_is_appended(
    running: Running, bumps: bool
) -> None:
    """The first batch meets a coordinator that is not there for a moment."""
    producer = await begun(running, bumps=bumps)
    client = await running.connect("pipelining")
    transactions = running.broker._services.transactions
    ask, asked = transactions.ask_wherever, 0

    def not_at_first(event: AddPartitions | VerifyPartitions, on_reply: OnReply) -> None:
        nonlocal asked
        asked += 1
        if asked == 1:
            on_reply(KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        else:
            ask(event, on_reply)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transactions, "ask_wherever", not_at_first)
        answers = [await told(send(client, producer, value)) for value in (b"a", b"b")]
    assert [each.error_code for each in answers] == [
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ]
    producer.sequence = 0
    for value in (b"a", b"b"):
        assert (await told(send(client, producer, value))).error_code == 0
    await producer.end(commits=True)
    assert await seen(running, "topic") == [b"a", b"b"]


@served(request_timeout_ms="5000")
async def test_nobody_waits_for_ever_behind_a_coordinator_that_says_nothing(
    running: Running,
) -> None:
    producer = await begun(running, bumps=True)
    client = await running.connect("pipelining")
    with late_answers(running) as held:
        first = send(client, producer, b"a")
        plain = client.send(produce("topic", {0: batch(b"plain")}), PRODUCE, ProduceResponse)
        await running.wait_ms(5_001)
        (hand_on,) = held
    hand_on()
    assert (await told(first)).error_code == ErrorCode.REQUEST_TIMED_OUT
    assert (await told(plain)).base_offset == 0
    assert await running.read("topic") == [b"plain"]


@pytest.mark.parametrize("acks", [0, -1])
@served()
async def test_who_hangs_up_has_produced_all_the_same(running: Running, acks: int) -> None:
    producer = await begun(running, bumps=True)
    client = await running.connect("leaving")
    with late_answers(running) as held:
        request = producer.request("topic", b"a", acks=acks)
        if acks:
            client.send(request, 12, ProduceResponse)
        else:
            client.send_unanswered(request, 12)
        client.send_unanswered(produce("topic", {0: batch(b"plain")}, acks=0), PRODUCE)
        await running.wait_ms()
        client.close()
        await running.wait_ms()
        (hand_on,) = held
    hand_on()
    assert await running.read("topic") == [b"a", b"plain"]
    assert not running.broker._services.produce_order.lines


@served()
async def test_without_an_answer_a_refusal_hangs_up(running: Running) -> None:
    producer = await begun(running, bumps=True)
    client = await running.connect("refused")
    with late_answers(running) as held:
        producer.epoch = 7
        client.send_unanswered(producer.request("topic", b"a", acks=0), 12)
        await running.wait_ms()
        (hand_on,) = held
    hand_on()
    await client.wait_closed()
    assert await running.read("topic") == []
