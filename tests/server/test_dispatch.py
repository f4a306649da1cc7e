"""What dispatch does around every handler: refusals, broken frames, faults and observers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from struct import pack
from typing import NamedTuple

import pytest

from kafkalite.errors import ErrorCode, InvariantError, KafkaError
from kafkalite.log.claimed_folder import CLEAN_SHUTDOWN
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalite.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkalite.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkalite.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafkalite.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkalite.protocol.schema import Request, Response
from kafkalite.server.apis import metadata
from kafkalite.server.interceptor import CloseConnection, Delay, Fault, LoseAnswer, Refuse
from kafkalite.server.request import RequestContext
from kafkalite.testing.client import Client
from kafkalite.testing.simulation import Simulation
from tests.server.requests import batch, fetch, fetched, produce, produced, values
from tests.server.running import FETCH, PRODUCE, Running, served, simulated, start

ALL_TOPICS = MetadataRequest(topics=None)
METADATA = 9


def frame(key: int, version: int, body: bytes = b"", *, correlation_id: int = 7) -> bytes:
    """With a header of version 1, and no client id."""
    header = pack(">hhih", key, version, correlation_id, -1)
    return pack(">i", len(header) + len(body)) + header + body


async def is_served(client: Client) -> bool:
    """Whether the connection still answers."""
    try:
        await client.ask(ALL_TOPICS, METADATA, MetadataResponse)
    except ConnectionError:
        return False
    return True


# Frames that are not what they should be.


@pytest.mark.parametrize(
    "data",
    [
        frame(60_00, 0),
        frame(8, 2),  # OffsetCommit: an API of Kafka's that is not served.
        frame(0, 2, bytes(64)),  # advertised, and not served.
        frame(3, 14, bytes(64)),
        frame(3, -1, bytes(64)),
        frame(3, 1, b"\x00\x00\x00\x05"),
        frame(3, 1, b"\x7f\xff\xff\xff"),
        frame(3, 1)[:-1] + b"",  # cut off within its header.
        pack(">i", 4) + b"\x00\x03\x00\x01",
        pack(">i", 0),
    ],
    ids=[
        "unknown key",
        "unserved key",
        "produce 2",
        "version above",
        "version below",
        "body cut off",
        "endless array",
        "client id cut off",
        "half a header",
        "empty",
    ],
)
@served()
async def test_a_broken_frame_closes_its_connection_without_an_answer(
    running: Running, data: bytes
) -> None:
    client, other = await running.connect("bad"), await running.client("good")
    if len(data) < 4 or len(data) - 4 != int.from_bytes(data[:4]):
        data = pack(">i", len(data) - 4) + data[4:]
    client.send_bytes(data)
    await client.wait_closed()
    assert await is_served(other)


@served()
async def test_requests_before_a_broken_frame_are_answered(running: Running) -> None:
    client = await running.connect("bad")
    answer = client.send(ALL_TOPICS, METADATA, MetadataResponse)
    client.send_bytes(frame(99, 0))
    assert (await answer).brokers
    await client.wait_closed()


@pytest.mark.parametrize("version", [6, 99, 32_767, -1])
@served()
async def test_api_versions_of_an_unknown_version_is_answered_in_version_0(
    running: Running, version: int
) -> None:
    client = await running.client()
    answer = client.expect(18, 0, ApiVersionsResponse)
    client.send_bytes(frame(18, version, b"whatever a newer client says"))
    response = await answer
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    (own,) = response.api_keys
    assert (own.api_key, own.min_version, own.max_version) == (18, 0, 5)
    assert await is_served(client), "the client may ask again"


@served()
async def test_bytes_after_a_request_are_ignored(running: Running) -> None:
    client = await running.client()
    answer = client.expect(3, 1, MetadataResponse)
    client.send_bytes(frame(3, 1, b"\xff\xff\xff\xff" + b"and more"))
    assert (await answer).brokers
    assert await is_served(client)


# What a handler raises.

FAILURES = [
    (KafkaError(ErrorCode.POLICY_VIOLATION, "no"), ErrorCode.POLICY_VIOLATION),
    (OSError("the disk"), ErrorCode.KAFKA_STORAGE_ERROR),
    (RuntimeError("a bug"), ErrorCode.UNKNOWN_SERVER_ERROR),
]


@pytest.mark.parametrize(("failure", "code"), FAILURES)
def test_what_a_handler_raises_is_answered_and_the_connection_lives(
    monkeypatch: pytest.MonkeyPatch, failure: Exception, code: ErrorCode
) -> None:
    def handle(ctx: RequestContext, request: MetadataRequest) -> MetadataResponse:
        raise failure

    @served()
    async def check(running: Running) -> None:
        client = await running.client()
        with monkeypatch.context() as patch:
            patch.setattr(metadata, "handle", handle)
            request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
            response = await client.ask(request, 13, MetadataResponse)
        assert (response.error_code, response.topics[0].error_code) == (code, code)
        assert await is_served(client)

    check()


@pytest.mark.parametrize(("failure", "code"), FAILURES)
@served()
async def test_so_is_what_a_parked_answer_raises_when_it_is_made(
    running: Running, failure: Exception, code: ErrorCode
) -> None:
    await running.create("t")
    client = await running.connect("waiting")
    answer = client.send(fetch("t", {0: 0}, max_wait_ms=100), FETCH, FetchResponse)
    await running.wait_ms()
    partition = running.partition("t")
    with pytest.MonkeyPatch.context() as patch:

        def read(*args: object, **kwargs: object) -> None:
            raise failure

        patch.setattr(type(partition), "read", read)
        if isinstance(failure, RuntimeError):
            response = await answer
            assert response.error_code == code
        else:
            (data,) = fetched(await answer)
            assert data.error_code == code
    assert await is_served(client)


@pytest.mark.parametrize("is_parked", [False, True])
def test_an_invariant_that_is_broken_stops_the_broker(
    monkeypatch: pytest.MonkeyPatch, is_parked: bool
) -> None:
    """It answers nothing more, to nobody, and puts no clean stop on record."""
    broken = InvariantError("the log has two ends")

    def read(*args: object, **kwargs: object) -> None:
        raise broken

    @simulated
    async def check(simulation: Simulation) -> None:
        files = MemoryFiles()
        async with start(simulation, files) as running:
            await running.create("t")
            other = await running.client()
            client = await running.connect("unlucky")
            parked = await running.connect("parked")
            waiting = parked.send(fetch("t", {0: 0}, max_wait_ms=200), FETCH, FetchResponse)
            await running.wait_ms()
            with monkeypatch.context() as patch:
                patch.setattr(type(running.partition("t")), "read", read)
                answer = client.send(
                    fetch("t", {0: 0}, max_wait_ms=100 if is_parked else 0), FETCH, FetchResponse
                )
                with pytest.raises(ConnectionError):
                    await answer
            assert running.broker.failure is broken
            assert not await is_served(other)
            with pytest.raises(ConnectionError):
                await waiting
            late = await running.connect("late")
            assert not await is_served(late)
        assert not files.exists(CLEAN_SHUTDOWN)
        async with start(simulation, files) as running:
            assert await running.read("t") == []

    check()


@pytest.mark.parametrize("refusal_fits", [True, False])
def test_a_response_that_does_not_fit_is_refused_and_harms_no_other(
    monkeypatch: pytest.MonkeyPatch, *, refusal_fits: bool
) -> None:
    """Where not even the refusal fits, that connection closes."""
    misfit = MetadataResponse(controller_id=1 << 40)

    @served()
    async def check(running: Running) -> None:
        client, other = await running.connect("unlucky"), await running.client()
        request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
        with monkeypatch.context() as patch:
            patch.setattr(metadata, "handle", lambda ctx, request: misfit)
            if refusal_fits:
                answer = await client.ask(request, METADATA, MetadataResponse)
                assert answer.topics[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
            else:
                patch.setattr(metadata, "refuse", lambda request, code, message: misfit)
                with pytest.raises(ConnectionError):
                    await client.ask(request, METADATA, MetadataResponse)
        assert await is_served(other)

    check()


# Faults and observers.


class Recorder:
    """Gives a fault to each request of one class, and notes what it is shown."""

    def __init__(self, faulty: type[Request] | None = None, fault: Fault | None = None) -> None:
        self.faulty = faulty
        self.fault = fault
        self.requests: list[type[Request]] = []
        self.responses: list[Response] = []
        self.change: Callable[[Response], None] = lambda response: None

    def request(self, ctx: RequestContext, request: Request) -> Fault | None:
        self.requests.append(type(request))
        return self.fault if type(request) is self.faulty else None

    def response(self, ctx: RequestContext, request: Request, response: Response) -> None:
        self.responses.append(response)
        self.change(response)


class Scene(NamedTuple):
    """A broker with a topic `t`, and a client of it."""

    running: Running
    client: Client
    recorder: Recorder


@asynccontextmanager
async def with_fault(
    simulation: Simulation, faulty: type[Request], fault: Fault
) -> AsyncIterator[Scene]:
    """Each request of that class has the fault."""
    recorder = Recorder(faulty, fault)
    async with start(simulation, interceptor=recorder) as running:
        await running.create("t")
        yield Scene(running, await running.connect("victim"), recorder)


PRODUCE_X = produce("t", {0: batch(b"x")})


@simulated
async def test_refuse_answers_with_the_code_and_nothing_is_done(simulation: Simulation) -> None:
    refuse = Refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    async with with_fault(simulation, ProduceRequest, refuse) as (running, client, recorder):
        refused = await client.ask(PRODUCE_X, PRODUCE, ProduceResponse)
        assert produced(refused)[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert refused in recorder.responses, "observers see refusals too"
        recorder.fault = None
        await running.produce("t", b"y")
        assert await running.read("t") == [b"y"]


@pytest.mark.parametrize(
    ("fault", "stored"), [(CloseConnection(), []), (LoseAnswer(), [b"x"])], ids=["close", "lose"]
)
@simulated
async def test_a_fault_closes_the_connection_before_the_request_is_carried_out_or_after(
    simulation: Simulation, fault: Fault, stored: list[bytes]
) -> None:
    async with with_fault(simulation, ProduceRequest, fault) as (running, client, _):
        with pytest.raises(ConnectionError):
            await client.ask(PRODUCE_X, PRODUCE, ProduceResponse)
        assert await running.read("t") == stored


@simulated
async def test_the_lost_answer_of_a_parked_request_leaves_no_wait_behind(
    simulation: Simulation,
) -> None:
    async with with_fault(simulation, FetchRequest, LoseAnswer()) as (running, client, _):
        with pytest.raises(ConnectionError):
            await client.ask(fetch("t", {0: 0}, max_wait_ms=60_000), FETCH, FetchResponse)
        assert running.waiting("t") == 0


@simulated
async def test_delay_holds_an_answer_back_by_the_clock(simulation: Simulation) -> None:
    async with with_fault(simulation, ProduceRequest, Delay(500)) as (running, client, recorder):
        answer = client.send(PRODUCE_X, PRODUCE, ProduceResponse)
        await running.wait_ms(499)
        assert not answer.done()
        assert await running.read("t") == [b"x"], "the request itself is not held back"
        await running.wait_ms(2)
        assert produced(answer.result())[0].error_code == ErrorCode.NONE
        assert isinstance(recorder.responses[-1], ProduceResponse)


@simulated
async def test_delay_adds_nothing_to_an_answer_that_took_longer_anyway(
    simulation: Simulation,
) -> None:
    async with with_fault(simulation, FetchRequest, Delay(200)) as (running, client, _):
        answer = client.send(fetch("t", {0: 0}, max_wait_ms=300), FETCH, FetchResponse)
        await running.wait_ms(299)
        assert not answer.done()
        await running.wait_ms(2)
        assert answer.done()


@simulated
async def test_delay_holds_back_a_parked_answer_that_comes_too_early(
    simulation: Simulation,
) -> None:
    async with with_fault(simulation, FetchRequest, Delay(200)) as (running, client, _):
        answer = client.send(fetch("t", {0: 0}, max_wait_ms=60_000), FETCH, FetchResponse)
        await running.wait_ms()
        await running.produce("t", b"x")
        await running.wait_ms(150)
        assert not answer.done()
        await running.wait_ms(100)
        assert values(fetched(answer.result())[0]) == [b"x"]
        assert running.waiting("t") == 0


@simulated
async def test_a_client_that_leaves_during_a_delay_leaves_no_wait_behind(
    simulation: Simulation,
) -> None:
    async with with_fault(simulation, FetchRequest, Delay(200)) as (running, client, _):
        client.send(fetch("t", {0: 0}, max_wait_ms=60_000), FETCH, FetchResponse)
        await running.wait_ms()
        assert running.waiting("t") == 1
        client.close()
        await running.wait_ms()
        assert running.waiting("t") == 0


@simulated
async def test_observers_see_every_answer_also_parked_ones_and_may_change_it(
    simulation: Simulation,
) -> None:
    recorder = Recorder()

    def change(response: Response) -> None:
        if isinstance(response, InitProducerIdResponse):
            response.producer_id = 4711

    recorder.change = change
    async with start(simulation, interceptor=recorder) as running:
        client = await running.client()
        request = ApiVersionsRequest(client_software_name="a", client_software_version="1")
        await client.ask(request, 3, ApiVersionsResponse)
        answer = await client.ask(
            InitProducerIdRequest(transactional_id=None), 4, InitProducerIdResponse
        )
        assert answer.producer_id == 4711
        await running.create("t")
        await client.ask(fetch("t", {0: 0}, max_wait_ms=10), FETCH, FetchResponse)
        names = [type(response).__name__ for response in recorder.responses]
        assert names == [
            "ApiVersionsResponse",
            "InitProducerIdResponse",
            "CreateTopicsResponse",
            "FetchResponse",
        ]
        assert [name.__name__.removesuffix("Request") for name in recorder.requests] == [
            name.removesuffix("Response") for name in names
        ]


@simulated
async def test_a_produce_with_acks_0_shows_observers_no_answer(simulation: Simulation) -> None:
    recorder = Recorder()
    async with start(simulation, interceptor=recorder) as running:
        await running.create("t")
        client = await running.client()
        before = len(recorder.responses)
        client.send_unanswered(produce("t", {0: batch(b"x")}, acks=0), PRODUCE)
        assert await is_served(client)
        assert recorder.requests[-2:] == [ProduceRequest, MetadataRequest]
        assert len(recorder.responses) == before + 1
