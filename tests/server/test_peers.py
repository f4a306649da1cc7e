"""Asking other brokers: a real one answers, or a machine that a test holds in its hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from struct import pack

import pytest

from kafkalite.config.views import BrokerConfig
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import MetadataImage
from kafkalite.ports.clock import RealClock
from kafkalite.ports.network import Address
from kafkalite.ports.network_sockets import SocketNetwork
from kafkalite.protocol.messages.api_versions import ApiVersionsResponse
from kafkalite.protocol.messages.fetch import FetchResponse
from kafkalite.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalite.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalite.protocol.schema import Response
from kafkalite.server.peer_connection import MAX_ASKED, SETUP_MS
from kafkalite.server.peers import MAX_RECONNECT_MS, RECONNECT_MS, Peers
from kafkalite.testing.faults import ProcessClock
from kafkalite.testing.simulation import Simulation
from tests.server.asking_peers import HEARTBEAT, ME, OTHER, asking, image
from tests.server.other_broker import Accepted, OtherBroker
from tests.server.requests import fetch, fetched, values
from tests.server.running import FETCH, simulated, start


@simulated
async def test_requests_are_pipelined_and_answered_in_their_order(simulation: Simulation) -> None:
    other = OtherBroker(simulation, listed=HEARTBEAT)
    me = asking(simulation)
    for _ in range(3):
        me.ask()
    await other.turn()
    (connection,) = other.connections
    assert len(connection.asked) == 3
    for code in (1, 2, 3):
        connection.answer(HeartbeatResponse(error_code=code))
    await simulation.sleep(1)
    assert me.replies == [HeartbeatResponse(error_code=code) for code in (1, 2, 3)]
    me.peers.stop()


@simulated
async def test_each_purpose_has_a_connection_of_its_own(simulation: Simulation) -> None:
    async with start(simulation) as running:
        await running.create("t")
        me = asking(simulation)
        me.ask(fetch("t", {0: 0}, max_wait_ms=60_000), purpose="fetch", version_cap=FETCH)
        await simulation.sleep(1)
        me.ask(MetadataRequest())
        await simulation.sleep(1)
        assert [type(each) for each in me.replies] == [MetadataResponse]
        me.peers.stop()
        assert me.codes == [ErrorCode.NONE, ErrorCode.NETWORK_EXCEPTION]


@simulated
async def test_who_does_not_answer_in_time_is_hung_up_on(simulation: Simulation) -> None:
    other = OtherBroker(simulation, listed=HEARTBEAT)
    me = asking(simulation)
    me.ask(timeout_ms=100)
    me.ask(timeout_ms=5_000)
    await other.turn()
    await simulation.sleep(100)
    assert me.codes == [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NETWORK_EXCEPTION]
    assert other.connections[0].is_closed
    me.ask()
    await other.turn(RECONNECT_MS)
    other.connections[1].answer(HeartbeatResponse())
    await simulation.sleep(1)
    assert me.codes[2:] == [ErrorCode.NONE]
    me.peers.stop()


@simulated
async def test_a_request_that_was_not_sent_times_out_alone(simulation: Simulation) -> None:
    me = asking(simulation)
    simulation.weather.partition({"me"}, {"broker"})
    other = OtherBroker(simulation, listed=HEARTBEAT)
    me.ask(timeout_ms=100)
    me.ask(timeout_ms=5_000)
    await simulation.sleep(101)
    assert me.codes == [ErrorCode.REQUEST_TIMED_OUT]
    simulation.weather.heal()
    simulation.network.deliver_held()
    await other.turn()
    assert len(other.connections[0].asked) == 1, "what nobody waits for is not sent"
    other.connections[0].answer(HeartbeatResponse())
    await simulation.sleep(1)
    assert me.codes == [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NONE]
    me.peers.stop()


@simulated
async def test_a_connection_that_cannot_be_had_in_time_is_given_up(simulation: Simulation) -> None:
    me = asking(simulation)
    simulation.weather.partition({"me"}, {"broker"})
    me.ask(timeout_ms=60_000)
    await simulation.sleep(SETUP_MS - 1)
    assert not me.replies
    await simulation.sleep(2)
    assert me.codes == [ErrorCode.NETWORK_EXCEPTION]
    me.peers.stop()


@simulated
async def test_a_lost_connection_is_dialed_anew_after_a_pause_that_grows(
    simulation: Simulation,
) -> None:
    me = asking(simulation)
    pauses: list[int] = []
    for _ in range(8):
        before_ms = simulation.clock.now_ms()
        me.ask()
        while len(me.replies) == len(pauses):
            await simulation.sleep(1)
        pauses.append(simulation.clock.now_ms() - before_ms)
    assert set(me.codes) == {ErrorCode.NETWORK_EXCEPTION}
    assert pauses[0] <= 1
    expected = [RECONNECT_MS * 2**n for n in range(5)] + [MAX_RECONNECT_MS] * 2
    assert all(abs(is_ - due) <= 2 for is_, due in zip(pauses[1:], expected, strict=True)), pauses
    other = OtherBroker(simulation, listed=HEARTBEAT)  # It works again: no more pause after that.
    me.ask()
    await other.turn(MAX_RECONNECT_MS + 5)
    other.simulation.network.crash("broker")
    await simulation.sleep(1)
    OtherBroker(simulation, listed=HEARTBEAT)
    me.ask(timeout_ms=RECONNECT_MS + 5)
    await simulation.sleep(RECONNECT_MS - 3)
    assert len(simulation.network.links) == 0
    await simulation.sleep(6)
    assert len(simulation.network.links) == 2
    me.peers.stop()


@simulated
async def test_a_clock_that_is_set_back_makes_no_pause_longer(simulation: Simulation) -> None:
    clock = ProcessClock(simulation.clock)
    me = asking(simulation, clock=clock)
    for _ in range(3):
        me.ask()
        await simulation.sleep(MAX_RECONNECT_MS)
    assert len(me.replies) == 3
    clock.jump(-3_600_000)
    me.ask()
    await simulation.sleep(MAX_RECONNECT_MS)
    assert len(me.replies) == 4
    me.peers.stop()


@pytest.mark.parametrize(
    "known",
    [MetadataImage(), image(fenced=True), image(listener="OTHER")],
    ids=["no such broker", "fenced", "without the listener"],
)
@simulated
async def test_who_is_not_there_is_not_asked(simulation: Simulation, known: MetadataImage) -> None:
    me = asking(simulation, known=known)
    me.ask()
    assert me.codes == [ErrorCode.BROKER_NOT_AVAILABLE]


@pytest.mark.parametrize(
    "after",
    [MetadataImage(), image(fenced=True), image(epoch=5)],
    ids=["gone", "fenced", "come anew"],
)
@simulated
async def test_who_leaves_is_hung_up_on(simulation: Simulation, after: MetadataImage) -> None:
    other = OtherBroker(simulation, listed=HEARTBEAT)
    me = asking(simulation)
    me.ask()
    await other.turn()
    me.follow(image()._replace(topics={}))  # Another change leaves it alone.
    assert not me.replies
    me.follow(after)
    assert me.codes == [ErrorCode.NETWORK_EXCEPTION]
    await simulation.sleep(1)
    assert other.connections[0].is_closed


@simulated
async def test_who_comes_anew_is_asked_at_the_new_address(simulation: Simulation) -> None:
    me = asking(simulation, known=image("elsewhere"))
    me.follow(image(epoch=3))
    other = OtherBroker(simulation, listed=HEARTBEAT)
    me.ask()
    await other.turn()
    assert len(other.connections[0].asked) == 1
    me.peers.stop()


@simulated
async def test_there_is_a_limit_to_what_waits(simulation: Simulation) -> None:
    me = asking(simulation)
    simulation.weather.partition({"me"}, {"broker"})
    for _ in range(MAX_ASKED):
        me.ask()
    assert not me.replies
    me.ask()
    assert me.codes == [ErrorCode.BROKER_NOT_AVAILABLE]
    me.peers.stop()
    assert len(me.replies) == MAX_ASKED + 1


@simulated
async def test_after_its_stop_nobody_is_asked(simulation: Simulation) -> None:
    other = OtherBroker(simulation, listed=HEARTBEAT)
    me = asking(simulation)
    me.ask()
    me.peers.stop()
    me.ask()
    assert me.codes == [ErrorCode.NETWORK_EXCEPTION, ErrorCode.BROKER_NOT_AVAILABLE]
    await other.turn()
    assert not other.connections


@pytest.mark.parametrize(
    "data",
    [pack(">ii", 4, 77), pack(">i", -2), pack(">iib", 5, 1, 9), pack(">i", 1 << 30)],
    ids=["another's answer", "a length that cannot be", "nothing behind the header", "too large"],
)
@simulated
async def test_an_answer_that_makes_no_sense_ends_the_connection(
    simulation: Simulation, data: bytes
) -> None:
    other = OtherBroker(simulation, listed=HEARTBEAT)
    me = asking(simulation)
    me.ask()
    await other.turn()
    other.connections[0].write([data])
    await simulation.sleep(2)
    assert me.codes == [ErrorCode.NETWORK_EXCEPTION]
    assert other.connections[0].is_closed


@simulated
async def test_an_answer_to_nothing_ends_the_connection(simulation: Simulation) -> None:
    other = OtherBroker(simulation, listed=HEARTBEAT)
    me = asking(simulation)
    me.ask()
    await other.turn()
    other.connections[0].answer(HeartbeatResponse())
    other.connections[0].write([pack(">ii", 4, 3)])
    await simulation.sleep(2)
    assert me.codes == [ErrorCode.NONE]
    assert other.connections[0].is_closed


@simulated
async def test_one_that_tells_no_versions_is_not_asked(simulation: Simulation) -> None:
    other = OtherBroker(simulation, listed=HEARTBEAT)
    me = asking(simulation)
    me.ask()
    await simulation.sleep(1)
    other.connections[0].answer(
        ApiVersionsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    )
    await simulation.sleep(1)
    assert me.codes == [ErrorCode.NETWORK_EXCEPTION]
    assert other.connections[0].is_closed


@simulated
async def test_large_answers_arrive_whole(simulation: Simulation) -> None:
    async with start(simulation) as running:
        await running.create("t")
        contents = [bytes([n]) * 900_000 for n in range(3)]
        for each in contents:
            await running.produce("t", each)
        me = asking(simulation, checks_views=True)
        seen: list[list[bytes]] = []

        def take(reply: Response | KafkaError) -> None:
            assert isinstance(reply, FetchResponse), reply
            seen.append(values(fetched(reply)[0]))

        for offset in range(3):
            request = fetch("t", {0: offset}, partition_max_bytes=900_000)
            me.peers.ask(OTHER, request, take, timeout_ms=1_000, version_cap=FETCH)
        await simulation.sleep(1)
        assert seen == [[each] for each in contents]
        me.peers.stop()


@simulated
async def test_a_view_that_is_kept_is_told_where_tests_look(simulation: Simulation) -> None:
    failures: list[str] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: failures.append(str(context.get("exception")))
    )
    async with start(simulation) as running:
        await running.create("t")
        await running.produce("t", b"x")
        me = asking(simulation, checks_views=True)
        me.ask(fetch("t", {0: 0}), version_cap=FETCH)  # The list of replies keeps it.
        await simulation.sleep(1)
    assert failures == ["a view of a response was kept"]


@simulated
async def test_who_is_refused_may_ask_again_at_once(simulation: Simulation) -> None:
    other = OtherBroker(simulation, listed=HEARTBEAT)
    me = asking(simulation)
    me.peers.ask(OTHER, HeartbeatRequest(), lambda _: me.ask(), timeout_ms=5_000)
    await other.turn()
    other.connections[0].write([b"\xff\xff\xff\xff"])
    await simulation.sleep(1)
    await other.turn(RECONNECT_MS)
    other.connections[1].answer(HeartbeatResponse())
    await simulation.sleep(1)
    assert me.codes == [ErrorCode.NONE]
    me.peers.stop()


def test_over_sockets() -> None:
    async def main() -> None:
        clock = RealClock()
        network = SocketNetwork(clock)
        accepted: list[Accepted] = []

        def accept(peer: Address) -> Accepted:
            accepted.append(Accepted())
            return accepted[-1]

        listener = network.listen("localhost", 0, accept)
        peers = Peers(ME, network, clock, BrokerConfig())
        peers.apply(image(*listener.address), MetadataDelta())
        reply = asyncio.get_running_loop().create_future()
        peers.ask(OTHER, HeartbeatRequest(), reply.set_result, timeout_ms=10_000)
        await _until(lambda: bool(accepted and accepted[0].asked))
        accepted[0].answer(ApiVersionsResponse())
        await _until(lambda: bool(accepted[0].asked))
        accepted[0].answer(HeartbeatResponse(error_code=7))
        assert await reply == HeartbeatResponse(error_code=7)
        peers.stop()
        await _until(lambda: accepted[0].is_closed)
        listener.close()

    asyncio.run(main())


async def _until(condition: Callable[[], bool]) -> None:
    clock = RealClock()
    while not condition():
        await clock.wait_until(clock.now_ms() + 1)
