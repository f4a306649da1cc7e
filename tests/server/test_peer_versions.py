"""In which version another broker is asked."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.add_raft_voter import AddRaftVoterRequest
from kafkalite.protocol.messages.heartbeat import HeartbeatResponse
from kafkalite.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkalite.testing.simulation import Simulation
from tests.server.asking_peers import HEARTBEAT, asking
from tests.server.other_broker import OtherBroker
from tests.server.running import simulated, start


@simulated
async def test_a_broker_is_asked_in_the_highest_version_that_both_know(
    simulation: Simulation,
) -> None:
    async with start(simulation) as running:
        await running.create("t")
        me = asking(simulation)
        me.ask(MetadataRequest(topics=None))
        await simulation.sleep(1)
        (reply,) = me.replies
        assert isinstance(reply, MetadataResponse)
        assert [topic.name for topic in reply.topics] == ["t"]
        me.peers.stop()


@pytest.mark.parametrize(
    ("listed", "cap", "version"), [((0, 3), None, 3), ((0, 9), None, 4), ((0, 9), 2, 2)]
)
@simulated
async def test_the_version_is_what_both_know_and_the_cap_allows(
    simulation: Simulation, listed: tuple[int, int], cap: int | None, version: int
) -> None:
    other = OtherBroker(simulation, listed={12: listed})
    me = asking(simulation)
    me.ask(version_cap=cap)
    await other.turn()
    assert [(key, asked) for key, asked, _ in other.connections[0].asked] == [(12, version)]
    me.peers.stop()


@simulated
async def test_an_api_that_is_not_listed_is_asked_in_our_own_version(
    simulation: Simulation,
) -> None:
    other = OtherBroker(simulation, listed={})
    me = asking(simulation)
    me.ask()
    await other.turn()
    assert [asked[:2] for asked in other.connections[0].asked] == [(12, 4)]
    me.peers.stop()


@simulated
async def test_what_a_client_asks_through_us_is_not_asked_where_it_is_not_listed(
    simulation: Simulation,
) -> None:
    other = OtherBroker(simulation, listed={})
    me = asking(simulation)
    me.ask(version_cap=2)
    await other.turn()
    assert other.connections[0].asked == []
    assert me.codes == [ErrorCode.UNSUPPORTED_VERSION]
    me.peers.stop()


@simulated
async def test_without_a_common_version_only_that_request_is_refused(
    simulation: Simulation,
) -> None:
    other = OtherBroker(simulation, listed={12: (7, 9), 80: (0, 0)})
    me = asking(simulation)
    me.ask()
    me.ask(AddRaftVoterRequest())
    await other.turn()
    assert me.codes == [ErrorCode.UNSUPPORTED_VERSION]
    assert [asked[0] for asked in other.connections[0].asked] == [80]
    me.peers.stop()


@simulated
async def test_one_version_negotiation_serves_all_that_is_asked(simulation: Simulation) -> None:
    other = OtherBroker(simulation, listed=HEARTBEAT)
    me = asking(simulation)
    for _ in range(3):
        me.ask()
        await other.turn()
        other.connections[0].answer(HeartbeatResponse())
        await simulation.sleep(1)
    assert me.codes == [ErrorCode.NONE] * 3
    assert len(other.connections) == 1
    me.peers.stop()
