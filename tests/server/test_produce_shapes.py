"""Produces whose shape is known: found by any connection, forgotten in time, answered as others."""

from __future__ import annotations

from typing import cast

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.log.files import Part
from kafkalite.protocol.codec import Buffer, decode_prefix
from kafkalite.protocol.headers import request_frame
from kafkalite.protocol.hot import read_request_header
from kafkalite.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from kafkalite.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
)
from kafkalite.protocol.produce_shape import MOST_AROUND, ProduceShape
from kafkalite.protocol.schema import Request, Response
from kafkalite.server import dispatch
from kafkalite.server.apis.api import ApiModule
from kafkalite.server.produce_shapes import (
    LEARNS_EVERY,
    MOST_ENDS,
    MOST_SHAPES,
    ProduceShapes,
)
from kafkalite.server.request import RequestContext, Session
from kafkalite.testing.client import Client
from kafkalite.testing.simulation import Simulation
from tests.server.cluster_of_two import two_brokers
from tests.server.requests import batch, produce, produced
from tests.server.running import Running, served, simulated, start

VERSION = 9


def session() -> Session:
    return Session("PLAINTEXT", None)


def frame_of(topic: str, index: int = 0, version: int = VERSION) -> memoryview:
    parts = request_frame(
        produce(topic, {index: b"records"}), version, correlation_id=1, client_id="c"
    )
    return memoryview(b"".join(cast("list[bytes]", parts))[4:])


def come(
    shapes: ProduceShapes, by: Session, frame: memoryview, version: int = VERSION
) -> ProduceShape | None:
    """What is known of a frame; when nothing is, it may be learned from."""
    found = shapes.find(by, version, frame)
    if found is None:
        header, begin = read_request_header(frame)
        request, _ = decode_prefix(ProduceRequest, version, frame, begin)
        shapes.learn(by, request, version, header.client_id, frame, begin)
    return found


def teach(shapes: ProduceShapes, by: Session, frame: memoryview, version: int = VERSION) -> None:
    """Until one more would be found, or is not learned."""
    for _ in range(LEARNS_EVERY):
        if come(shapes, by, frame, version):
            return


def test_one_of_eight_without_a_shape_is_learned_from() -> None:
    shapes, by = ProduceShapes(), session()
    known = [come(shapes, by, frame_of("t")) is not None for _ in range(2 * LEARNS_EVERY)]
    assert known == [False] * LEARNS_EVERY + [True] * LEARNS_EVERY


def test_each_partition_and_version_has_its_own() -> None:
    shapes, by = ProduceShapes(), session()
    for index in range(3):
        teach(shapes, by, frame_of("t", index))
    assert len(by.head_ends) == 1, "all three have one length"
    teach(shapes, by, frame_of("t", 1, version=10), version=10)
    for index in range(3):
        found = come(shapes, by, frame_of("t", index))
        assert found is not None
        assert found.version == VERSION
        assert found.request.topic_data[0].partition_data[0].index == index
    found = come(shapes, by, frame_of("t", 1, version=10), version=10)
    assert found is not None
    assert found.version == 10


def test_connections_share_them_but_each_knows_where_to_look() -> None:
    shapes, by, other = ProduceShapes(), session(), session()
    teach(shapes, by, frame_of("t"))
    assert come(shapes, other, frame_of("t")) is None
    teach(shapes, other, frame_of("t"))
    assert come(shapes, other, frame_of("t")) is come(shapes, by, frame_of("t"))


def test_a_connection_looks_for_a_few_lengths_of_heads_alone() -> None:
    shapes, by = ProduceShapes(), session()
    topics = ["t" * (n + 1) for n in range(MOST_ENDS + 2)]
    for topic in topics:
        teach(shapes, by, frame_of(topic))
    assert len(by.head_ends) == MOST_ENDS
    found = [come(shapes, by, frame_of(topic)) is not None for topic in topics]
    assert found == [False, False, *[True] * MOST_ENDS]


def test_a_long_head_is_not_kept() -> None:
    shapes, by = ProduceShapes(), session()
    teach(shapes, by, frame_of("t" * MOST_AROUND))
    assert come(shapes, by, frame_of("t" * MOST_AROUND)) is None


def test_a_name_that_grows_in_the_codec_has_no_shape_and_no_error() -> None:
    """Of bytes that are no UTF-8 each becomes three."""
    shapes, by = ProduceShapes(), session()
    sane = frame_of("t" * 20_000)
    name = b"\xff" * 20_000
    assert come(shapes, by, memoryview(bytes(sane).replace(b"t" * 20_000, name))) is None
    teach(shapes, by, memoryview(bytes(sane).replace(b"t" * 20_000, name)))
    assert not by.head_ends


def test_there_are_never_more_than_so_many() -> None:
    """A client with ever new partitions costs no memory; one that goes on is known again."""
    shapes, by = ProduceShapes(), session()
    for index in range(MOST_SHAPES + 1):
        teach(shapes, by, frame_of("t", index))
    assert come(shapes, by, frame_of("t", 0)) is None
    assert come(shapes, by, frame_of("t", MOST_SHAPES)) is not None
    teach(shapes, by, frame_of("t", 0))
    assert come(shapes, by, frame_of("t", 0)) is not None


# Through a broker.


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Which versions of Produce the broker has decoded."""
    versions: list[int] = []

    def counted(
        cls: type[Request], version: int, buffer: Buffer, position: int
    ) -> tuple[Request, int]:
        if cls is ProduceRequest:
            versions.append(version)
        return decode_prefix(cls, version, buffer, position)

    monkeypatch.setattr(dispatch, "decode_prefix", counted)
    return versions


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[ProduceResponse]:
    """Answers to produces that the broker has encoded."""
    responses: list[ProduceResponse] = []

    def noted(
        module: ApiModule, ctx: RequestContext, request: Request, response: Response | None
    ) -> list[Part] | None:
        if isinstance(response, ProduceResponse):
            responses.append(response)
        return encode(module, ctx, request, response)

    encode = dispatch._encode
    monkeypatch.setattr(dispatch, "_encode", noted)
    return responses


async def told(
    client: Client,
    records: bytes | bytearray,
    topic: str = "t",
    version: int = VERSION,
    acks: int = 1,
) -> PartitionProduceResponse:
    """The answer to a produce to partition 0."""
    response = await client.ask(produce(topic, {0: records}, acks=acks), version, ProduceResponse)
    return produced(response)[0]


@pytest.mark.parametrize("version", [7, 8, 9, 12])
@served()
async def test_a_known_produce_is_not_decoded_and_appended_like_any(
    running: Running, decoded: list[int], encoded: list[ProduceResponse], version: int
) -> None:
    await running.create("t")
    client = await running.client()
    for offset in range(3 * LEARNS_EVERY):
        answer = await told(client, batch(b"%d" % offset), version=version)
        assert (answer.error_code, answer.base_offset) == (ErrorCode.NONE, offset)
        assert answer.log_append_time_ms == -1
        assert answer.log_start_offset == 0
    assert len(decoded) == len(encoded) == LEARNS_EVERY
    assert await running.read("t") == [b"%d" % offset for offset in range(3 * LEARNS_EVERY)]


async def make_known(running: Running) -> Client:
    """A client whose produces to partition 0 of topic t have a shape."""
    await running.create("t")
    client = await running.client()
    for _ in range(LEARNS_EVERY):
        await told(client, batch(b"before"))
    return client


@served()
async def test_a_known_produce_is_refused_like_any(running: Running, decoded: list[int]) -> None:
    client = await make_known(running)
    decoded.clear()
    damaged = batch(b"x")
    damaged[-1] ^= 1
    refused = await told(client, damaged)
    assert refused.error_code == ErrorCode.CORRUPT_MESSAGE
    assert (refused.base_offset, refused.log_start_offset) == (-1, -1)
    assert not decoded
    refused = await told(client, batch(b"x", is_transactional=True, producer_id=1, sequence=0))
    assert refused.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert decoded == [VERSION], "no batch of a transaction has this shape"
    decoded.clear()
    answer = await told(client, batch(b"after"))
    assert (answer.error_code, answer.base_offset) == (ErrorCode.NONE, LEARNS_EVERY)
    await running.delete("t")
    gone = await told(client, batch(b"x"))
    assert gone.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert not decoded


@served()
async def test_a_known_produce_with_acks_0_is_not_answered_and_closes_when_refused(
    running: Running, decoded: list[int]
) -> None:
    await running.create("t")
    client = await running.connect("careless")
    for _ in range(LEARNS_EVERY):
        client.send_unanswered(produce("t", {0: batch(b"x")}, acks=0), VERSION)
    await told(client, batch(b"loud"))
    decoded.clear()
    client.send_unanswered(produce("t", {0: batch(b"silent")}, acks=0), VERSION)
    assert (await told(client, batch(b"loud"), acks=-1)).base_offset == LEARNS_EVERY + 2
    assert len(decoded) == 1
    client.send_unanswered(produce("t", {0: batch(b"x")[:-1]}, acks=0), VERSION)
    await client.wait_closed()


@served()
async def test_a_known_produce_that_closes_its_connection_leaves_the_shape_to_others(
    running: Running, decoded: list[int]
) -> None:
    await running.create("t")
    clients = [await running.connect("careless") for _ in range(2)]
    for client in clients:
        for _ in range(LEARNS_EVERY):
            client.send_unanswered(produce("t", {0: batch(b"x")}, acks=0), VERSION)
        await told(client, batch(b"loud"))
        for _ in range(LEARNS_EVERY - 1):
            await told(client, batch(b"loud"))
    refused, other = clients
    refused.send_unanswered(produce("t", {0: batch(b"x")[:-1]}, acks=0), VERSION)
    await refused.wait_closed()
    decoded.clear()
    other.send_unanswered(produce("t", {0: batch(b"last")}, acks=0), VERSION)
    await running.wait_ms()
    assert (await running.read("t"))[-1] == b"last"
    assert not decoded


@simulated
async def test_known_produces_wait_for_the_other_replica_each_on_its_own(
    simulation: Simulation,
) -> None:
    """They share what they decode to, which none may change for another."""
    async with two_brokers(simulation) as (running, other):
        other.create("t", [1, 2])
        client = await running.client()
        answers = [
            client.send(produce("t", {0: batch(b"%d" % n)}), VERSION, ProduceResponse)
            for n in range(2 * LEARNS_EVERY)
        ]
        await running.wait_ms()
        assert not any(answer.done() for answer in answers)
        other.change("t", isr=[1])
        await running.wait_ms()
        offsets = [produced(answer.result())[0].base_offset for answer in answers]
        assert offsets == list(range(2 * LEARNS_EVERY))
        assert await running.read("t") == [b"%d" % n for n in range(2 * LEARNS_EVERY)]
        # None is before this one, whose answer it would have to wait for.
        other.change("t", isr=[1, 2])
        await running.wait_ms()
        answer = client.send(produce("t", {0: batch(b"last")}), VERSION, ProduceResponse)
        await running.wait_ms()
        assert not answer.done()
        other.change("t", isr=[1])
        assert produced(await answer)[0].base_offset == 2 * LEARNS_EVERY


@served()
async def test_a_known_produce_is_told_times_and_where_the_log_starts(
    running: Running, decoded: list[int]
) -> None:
    await running.create("t", configs={"message.timestamp.type": "LogAppendTime"})
    client = await running.client()
    for _ in range(LEARNS_EVERY):
        await told(client, batch(b"x"))
    part = DeleteRecordsPartition(partition_index=0, offset=3)
    topic = DeleteRecordsTopic(name="t", partitions=[part])
    deletion = DeleteRecordsRequest(topics=[topic], timeout_ms=1_000)
    await client.ask(deletion, 2, DeleteRecordsResponse)
    decoded.clear()
    await running.wait_ms(5_000)
    now = running.simulation.clock.now_ms()
    answer = await told(client, batch(b"y", timestamp=1))
    assert now <= answer.log_append_time_ms < now + 100
    assert (answer.base_offset, answer.log_start_offset) == (LEARNS_EVERY, 3)
    assert not decoded


@simulated
async def test_a_known_produce_that_its_leader_loses_is_told_so(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", [1, 2])
        client = await running.client()
        for _ in range(LEARNS_EVERY):
            await told(client, batch(b"x"))
        answer = client.send(produce("t", {0: batch(b"y")}, acks=1), VERSION, ProduceResponse)
        assert produced(await answer)[0].error_code == ErrorCode.NONE
        other.change("t", leader=2, isr=[1, 2])
        await running.wait_ms()
        moved = await told(client, batch(b"z"))
        assert moved.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@served()
async def test_topics_that_are_told_by_id_have_shapes_too(
    running: Running, decoded: list[int]
) -> None:
    await running.create("t")
    client, topic_id = await running.client(), running.topic("t").id
    for offset in range(2 * LEARNS_EVERY):
        request = produce(topic_id, {0: batch(b"x")}, acks=1)
        response = await client.ask(request, 13, ProduceResponse)
        assert response.responses[0].topic_id == topic_id
        assert produced(response)[0].base_offset == offset
    assert decoded == [13] * LEARNS_EVERY


class Passing:
    """An interceptor that does nothing."""

    def request(self, ctx: RequestContext, request: Request) -> None: ...

    def response(self, ctx: RequestContext, request: Request, response: Response) -> None: ...


@simulated
async def test_with_an_interceptor_nothing_is_learned_for_nothing_is_looked_up(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned: list[None] = []
    monkeypatch.setattr(ProduceShapes, "learn", lambda *args: learned.append(None))
    async with start(simulation, interceptor=Passing()) as running:
        await make_known(running)
        assert not learned
    async with start(simulation) as running:
        await make_known(running)
        assert len(learned) == LEARNS_EVERY
