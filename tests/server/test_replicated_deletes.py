"""DeleteRecords of a replicated partition: followers delete too, and are waited for."""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.delete_records import DeleteRecordsResponse
from kafkalite.testing.simulation import Simulation
from tests.server.running import simulated
from tests.server.running_cluster import three_brokers


def told(response: DeleteRecordsResponse) -> int:
    return response.topics[0].partitions[0].error_code


@simulated
async def test_followers_have_deleted_when_the_answer_is_there(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2, 3])
        await cluster.wrote("t", b"a", b"b", b"c")
        began_ms = simulation.clock.now_ms()
        assert await cluster.delete_records("t", 2) == ErrorCode.NONE
        assert simulation.clock.now_ms() - began_ms < 10, "nobody waits for nothing"
        starts = [cluster.partition(id, "t").log.log_start_offset for id in (1, 2, 3)]
        assert starts == [2, 2, 2]


@simulated
async def test_who_does_not_delete_in_time_is_told(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2, 3])
        await cluster.wrote("t", b"a", b"b", b"c")
        cluster.stop_fetching(3)
        assert await cluster.delete_records("t", 2, 1_000) == ErrorCode.REQUEST_TIMED_OUT
        assert cluster.partition(1, "t").log.log_start_offset == 2
        assert not cluster.partition(1, "t").followers.commits


@simulated
async def test_who_is_away_is_not_waited_for(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2, 3])
        await cluster.wrote("t", b"a", b"b", b"c")
        cluster.stop_fetching(3)
        answer = await cluster.deleting("t", 2)
        await cluster.wait_ms(100)
        assert not answer.done()
        await cluster.kill(3)
        assert told(await answer) == ErrorCode.NONE


@simulated
async def test_a_leader_that_leads_no_more_does_not_answer_for_others(
    simulation: Simulation,
) -> None:
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2, 3])
        await cluster.wrote("t", b"a", b"b", b"c")
        cluster.stop_fetching(3)
        answer = await cluster.deleting("t", 2)
        await cluster.wait_ms(100)
        cluster.partition(1, "t").resign()
        assert told(await answer) == ErrorCode.NOT_LEADER_OR_FOLLOWER
