"""Produce at the versions where its behaviour changes: acks, refusals one by one, ids, replicas."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.fetch import FetchResponse
from kafkalite.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
)
from kafkalite.protocol.records.compression import Compression
from kafkalite.testing.clock import START_MS
from kafkalite.testing.simulation import Simulation
from kafkalite.types import Uuid
from tests.server.cluster_of_two import OTHER_HOST, two_brokers
from tests.server.requests import batch, fetch, fetched, produce, produced, values
from tests.server.running import FETCH, PRODUCE, Running, served, simulated

LOWEST, HIGHEST = 3, 13
UNKNOWN_ID = Uuid(bytes(15) + b"\x63")


async def ask(
    running: Running, request: ProduceRequest, version: int = PRODUCE
) -> PartitionProduceResponse:
    """The answer of the first partition."""
    response = await (await running.client()).ask(request, version, ProduceResponse)
    return produced(response)[0]


def corrupt(records: bytearray) -> bytearray:
    """A record's byte is not what the CRC was made of."""
    records[-1] ^= 1
    return records


# acks.


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("version", [LOWEST, 4, 5, 7, 8, 9, 10, 12])
@served()
async def test_a_batch_is_appended_and_its_offset_told(
    running: Running, version: int, acks: int
) -> None:
    await running.create("t")
    for expected in (0, 2):
        answer = await ask(running, produce("t", {0: batch(b"x", b"y")}, acks=acks), version)
        assert (answer.error_code, answer.base_offset) == (ErrorCode.NONE, expected)
        assert answer.log_append_time_ms == -1
        assert answer.log_start_offset == (0 if version >= 5 else -1)
    assert await running.read("t") == [b"x", b"y"] * 2


@pytest.mark.parametrize("version", [LOWEST, 9, 12])
@served()
async def test_acks_0_is_not_answered(running: Running, version: int) -> None:
    await running.create("t")
    client = await running.client()
    client.send_unanswered(produce("t", {0: batch(b"silent")}, acks=0), version)
    # The next answer on the connection is the next request's, which came after.
    assert await running.produce("t", b"loud") == 1
    assert await running.read("t") == [b"silent", b"loud"]


@pytest.mark.parametrize("topic", ["t", "unknown"])
@served()
async def test_acks_0_that_is_refused_closes_the_connection(running: Running, topic: str) -> None:
    await running.create("t")
    client = await running.connect("careless")
    records = corrupt(batch(b"x")) if topic == "t" else batch(b"x")
    client.send_unanswered(produce(topic, {0: records}, acks=0), PRODUCE)
    await client.wait_closed()
    assert await running.read("t") == []


@pytest.mark.parametrize("acks", [2, -2])
@pytest.mark.parametrize("version", [LOWEST, 12])
@served()
async def test_other_acks_are_refused_on_every_partition(
    running: Running, version: int, acks: int
) -> None:
    await running.create("t", 2)
    request = produce("t", {0: batch(b"x"), 1: batch(b"y")}, acks=acks)
    response = await (await running.client()).ask(request, version, ProduceResponse)
    for answer in produced(response):
        assert answer.error_code == ErrorCode.INVALID_REQUIRED_ACKS
        assert answer.base_offset == -1
    assert await running.read("t") == []


# One partition's refusal.


@served()
async def test_a_refused_partition_does_not_hinder_the_others(running: Running) -> None:
    await running.create("t", 3)
    records = {0: batch(b"x"), 1: corrupt(batch(b"y")), 7: batch(b"z"), 2: batch(b"w")}
    response = await (await running.client()).ask(produce("t", records), PRODUCE, ProduceResponse)
    assert [(answer.index, answer.error_code) for answer in produced(response)] == [
        (0, ErrorCode.NONE),
        (1, ErrorCode.CORRUPT_MESSAGE),
        (7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (2, ErrorCode.NONE),
    ]
    assert [await running.read("t", partition=n) for n in range(3)] == [[b"x"], [], [b"w"]]


@served()
async def test_topics_of_one_request_are_answered_in_its_order(running: Running) -> None:
    await running.create("b")
    await running.create("a")
    request = ProduceRequest(acks=1, timeout_ms=1000)
    for name in ("b", "unknown", "a"):
        request.topic_data += produce(name, {0: batch(name.encode())}).topic_data
    response = await (await running.client()).ask(request, 12, ProduceResponse)
    assert [topic.name for topic in response.responses] == ["b", "unknown", "a"]
    assert [answer.error_code for answer in produced(response)] == [0, 3, 0]


@pytest.mark.parametrize("version", [LOWEST, 8, 12])
@pytest.mark.parametrize("records", [batch(b"x") + batch(b"y"), b"", None, batch(b"x")[:-1]])
@served()
async def test_anything_but_one_whole_batch_is_an_invalid_record(
    running: Running, records: bytes | None, version: int
) -> None:
    await running.create("t")
    answer = await ask(running, produce("t", {0: records}), version)
    assert (answer.error_code, answer.base_offset) == (ErrorCode.INVALID_RECORD, -1)
    assert answer.error_message is None, "the real one says no more"
    assert await running.read("t") == []


@served()
async def test_a_reason_is_told_only_where_kafka_tells_it(running: Running) -> None:
    await running.create(
        "t", configs={"max.message.bytes": "100", "message.timestamp.before.max.ms": "1000"}
    )
    old = {0: batch(b"x", timestamp=START_MS - 5_000)}
    for version in (7, 8, 12):
        told = await ask(running, produce("t", old), version)
        assert told.error_code == ErrorCode.INVALID_TIMESTAMP
        assert (told.error_message is not None) == (version >= 8)
    for topic, records, code in (
        ("t", corrupt(batch(b"x")), ErrorCode.CORRUPT_MESSAGE),
        ("t", batch(bytes(200)), ErrorCode.MESSAGE_TOO_LARGE),
        ("unknown", batch(b"x"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ):
        silent = await ask(running, produce(topic, {0: records}), 12)
        assert (silent.error_code, silent.error_message) == (code, None)


@served()
async def test_log_append_time_is_told_and_stored(running: Running) -> None:
    await running.create("t", configs={"message.timestamp.type": "LogAppendTime"})
    await running.wait_ms(5_000)
    answer = await ask(running, produce("t", {0: batch(b"x", timestamp=1)}))
    assert answer.log_append_time_ms == START_MS + 5_000


@served()
async def test_a_duplicate_of_an_idempotent_producer_is_acknowledged_again_and_not_stored(
    running: Running,
) -> None:
    await running.create("t")
    for _ in range(2):
        request = produce("t", {0: batch(b"x", b"y", producer_id=9, sequence=0)})
        answer = await ask(running, request)
        assert (answer.error_code, answer.base_offset) == (ErrorCode.NONE, 0)
    gap = await ask(running, produce("t", {0: batch(b"z", producer_id=9, sequence=5)}))
    assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert await running.read("t") == [b"x", b"y"]


# Whole requests refused for what their batches say of themselves.


@pytest.mark.parametrize(
    ("version", "code"),
    [(6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE), (7, ErrorCode.NONE)],
)
@served()
async def test_zstd_needs_version_7(running: Running, version: int, code: ErrorCode) -> None:
    await running.create("t", 2)
    records = {0: batch(b"plain"), 1: batch(b"x", compression=Compression.ZSTD)}
    request = produce("t", records)
    response = await (await running.client()).ask(request, version, ProduceResponse)
    assert [answer.error_code for answer in produced(response)] == [code, code]
    assert await running.read("t") == ([] if code else [b"plain"])


@pytest.mark.parametrize(
    ("transactional_id", "code"),
    [
        (None, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ("mine", ErrorCode.NOT_ENOUGH_REPLICAS),
    ],
)
@served()
async def test_transactional_batches_without_a_coordinator_are_refused(
    running: Running, transactional_id: str | None, code: ErrorCode
) -> None:
    await running.create("t")
    records = batch(b"x", producer_id=9, sequence=0, is_transactional=True)
    request = produce("t", {0: records})
    request.transactional_id = transactional_id
    assert (await ask(running, request)).error_code == code
    assert await running.read("t") == []


# By id.


@served()
async def test_version_13_names_topics_by_id(running: Running) -> None:
    image = await running.create("t", 2)
    request = produce(image.id, {1: batch(b"x"), 5: batch(b"y")})
    request.topic_data += produce(UNKNOWN_ID, {0: batch(b"z")}).topic_data
    response = await (await running.client()).ask(request, HIGHEST, ProduceResponse)
    assert [topic.topic_id for topic in response.responses] == [image.id, UNKNOWN_ID]
    assert [answer.error_code for answer in produced(response)] == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ]
    assert await running.read("t", partition=1) == [b"x"]


# More replicas than one.


@simulated
async def test_acks_all_waits_for_the_other_replica_and_times_out(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", [1, 2], [1, 2])
        other.change("t", 1, isr=[1])
        client = await running.client()
        records = {0: batch(b"x"), 1: batch(b"y")}
        request = produce("t", records, timeout_ms=500)
        answer = client.send(request, PRODUCE, ProduceResponse)
        await running.wait_ms(499)
        assert not answer.done()
        assert running.waiting("t") == 1
        await running.wait_ms(2)
        assert [answer.error_code for answer in produced(answer.result())] == [
            ErrorCode.REQUEST_TIMED_OUT,
            ErrorCode.NONE,
        ]
        assert running.waiting("t") == 0


@simulated
async def test_each_batch_of_a_partition_that_stands_twice_times_out(
    simulation: Simulation,
) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", [1, 2])
        request = produce("t", {0: batch(b"x")}, timeout_ms=500)
        request.topic_data += produce("t", {0: batch(b"y")}).topic_data
        response = await (await running.client()).ask(request, PRODUCE, ProduceResponse)
        assert [(answer.base_offset, answer.error_code) for answer in produced(response)] == [
            (0, ErrorCode.REQUEST_TIMED_OUT),
            (1, ErrorCode.REQUEST_TIMED_OUT),
        ]


@simulated
async def test_acks_1_waits_for_no_replica_and_readers_do(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", [1, 2])
        answer = await ask(running, produce("t", {0: batch(b"x")}, acks=1))
        assert (answer.error_code, answer.base_offset) == (ErrorCode.NONE, 0)
        assert await running.read("t") == [], "it is above the high watermark"


@simulated
async def test_acks_all_and_readers_wait_no_more_for_a_replica_that_leaves_the_isr(
    simulation: Simulation,
) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", [1, 2])
        client, reader = await running.client(), await running.connect("reader")
        produce_answer = client.send(produce("t", {0: batch(b"x")}), PRODUCE, ProduceResponse)
        request = fetch("t", {0: 0}, max_wait_ms=600_000)
        fetch_answer = reader.send(request, FETCH, FetchResponse)
        await running.wait_ms()
        assert not produce_answer.done()
        assert not fetch_answer.done()
        other.change("t", isr=[1])
        await running.wait_ms()
        answer = produced(produce_answer.result())[0]
        assert (answer.error_code, answer.base_offset) == (ErrorCode.NONE, 0)
        assert values(fetched(fetch_answer.result())[0]) == [b"x"]
        assert running.waiting("t") == 0


@simulated
async def test_a_leader_that_loses_its_partition_tells_who_waits_and_who_comes(
    simulation: Simulation,
) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", [1, 2])
        client = await running.client()
        request = produce("t", {0: batch(b"x")})
        answer = client.send(request, PRODUCE, ProduceResponse)
        await running.wait_ms()
        other.change("t", leader=2, isr=[1, 2])
        lost = produced(await answer)[0]
        assert lost.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        for version in (9, 10):
            response = await client.ask(produce("t", {0: batch(b"x")}), version, ProduceResponse)
            refused = produced(response)[0]
            assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            told = (refused.current_leader.leader_id, refused.current_leader.leader_epoch)
            assert told == ((2, 1) if version >= 10 else (-1, -1))
            hosts = [(node.node_id, node.host) for node in response.node_endpoints]
            assert hosts == ([(2, OTHER_HOST)] if version >= 10 else [])


@simulated
async def test_acks_all_needs_the_minimum_of_in_sync_replicas(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", [1, 2], configs={"min.insync.replicas": "2"})
        other.change("t", isr=[1])
        refused = await ask(running, produce("t", {0: batch(b"x")}))
        assert refused.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
        served = await ask(running, produce("t", {0: batch(b"x")}, acks=1))
        assert (served.error_code, served.base_offset) == (ErrorCode.NONE, 0)


@pytest.mark.parametrize(
    ("client_id", "code"),
    [("client", ErrorCode.INVALID_TOPIC_EXCEPTION), ("__admin_client", ErrorCode.NONE)],
)
@served()
async def test_only_the_admin_client_may_append_to_internal_topics(
    running: Running, client_id: str, code: ErrorCode
) -> None:
    await running.create("__consumer_offsets")
    client = await running.client(client_id)
    request = produce("__consumer_offsets", {0: batch(b"x")})
    (answer,) = produced(await client.ask(request, PRODUCE, ProduceResponse))
    assert (answer.error_code, answer.error_message) == (code, None)


@pytest.mark.parametrize(
    ("records", "code", "log_start"),
    [
        (b"", ErrorCode.INVALID_RECORD, -1),
        (batch(b"x") + batch(b"y"), ErrorCode.INVALID_RECORD, -1),
        (corrupt(batch(b"x")), ErrorCode.CORRUPT_MESSAGE, -1),
        (batch(bytes(3000)), ErrorCode.MESSAGE_TOO_LARGE, -1),
        (batch(b"x", producer_id=5), ErrorCode.INVALID_RECORD, 0),
    ],
)
@served()
async def test_a_refusal_by_the_log_tells_where_it_starts(
    running: Running, records: bytearray, code: ErrorCode, log_start: int
) -> None:
    await running.create("t", configs={"max.message.bytes": "2000"})
    client = await running.client()
    answer = await client.ask(produce("t", {0: bytes(records)}), PRODUCE, ProduceResponse)
    (data,) = produced(answer)
    assert (data.error_code, data.base_offset, data.log_start_offset) == (code, -1, log_start)
