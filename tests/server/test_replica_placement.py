"""Replicas that come and go by reassignment, and readers of followers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from kafkalite.protocol.messages.fetch import FetchResponse, ReplicaState
from kafkalite.protocol.messages.list_offsets import ListOffsetsResponse
from kafkalite.replica.read_replica import RACK_AWARE
from kafkalite.server.offset_lookup import LATEST
from kafkalite.testing.simulation import Simulation
from tests.server.requests import fetch, fetched, list_offsets, values
from tests.server.running import simulated
from tests.server.running_cluster import Cluster, three_brokers


async def reassign(cluster: Cluster, replicas: Sequence[int]) -> None:
    asked = ReassignablePartition(partition_index=0, replicas=list(replicas))
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=10_000, topics=[ReassignableTopic(name="t", partitions=[asked])]
    )
    client = await cluster.client()
    response = await client.ask(request, 0, AlterPartitionReassignmentsResponse)
    assert response.error_code == ErrorCode.NONE
    assert response.responses[0].partitions[0].error_code == ErrorCode.NONE, response
    await cluster.wait_until(lambda: cluster.image("t").replicas == tuple(replicas))


@simulated
async def test_a_replica_moves_to_another_broker(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2])
        await cluster.wrote("t", b"a", b"b")
        await reassign(cluster, [1, 3])
        await cluster.replicated("t", 3)
        assert await cluster.read("t", broker=3) == [b"a", b"b"]
        assert cluster.isr("t") == {1, 3}
        await cluster.wait_until(lambda: not cluster.files[2].exists("t-0"))
        answer = await cluster.fetch("t", broker=2)
        assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        await cluster.wrote("t", b"c")


@simulated
async def test_all_replicas_move_and_come_back(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1])
        await cluster.wrote("t", b"a")
        for replicas in ([2, 3], [3, 1], [1]):
            await reassign(cluster, replicas)
            await cluster.wait_until(lambda: cluster.leader("t") in cluster.image("t").replicas)
            await cluster.wrote("t", b"to %d" % replicas[0])
        assert await cluster.read("t") == [b"a", b"to 2", b"to 3", b"to 1"]
        await cluster.wait_until(lambda: not cluster.files[3].exists("t-0"))


@simulated
async def test_a_broker_that_was_away_when_its_replica_moved_sets_it_aside(
    simulation: Simulation,
) -> None:
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2])
        await cluster.wrote("t", b"a")
        await cluster.kill(2)
        await reassign(cluster, [1, 3])
        await cluster.start(2)
        await cluster.wait_ms(100)
        assert not cluster.files[2].exists("t-0")
        assert any(name.endswith("-stray") for name in cluster.files[2].list(""))


@simulated
async def test_consumers_read_from_the_follower_in_their_rack(simulation: Simulation) -> None:
    async with three_brokers(simulation, replica_selector_class=RACK_AWARE) as cluster:
        await cluster.create("t", [1, 2, 3])
        await cluster.wrote("t", b"a")
        request = fetch("t", {0: 0}, max_wait_ms=10_000)
        request.rack_id = "rack-3"
        client = await cluster.client(1)
        sent = fetched(await client.ask(request, 12, FetchResponse))[0]
        assert (sent.preferred_read_replica, values(sent)) == (3, [])
        client = await cluster.client(3)
        read = fetched(await client.ask(request, 12, FetchResponse))[0]
        assert (values(read), read.high_watermark) == ([b"a"], 1)


@simulated
async def test_a_consumer_that_waits_at_a_follower_hears_of_new_records(
    simulation: Simulation,
) -> None:
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2])
        await cluster.wrote("t", b"a")
        await cluster.replicated("t", 2)
        client = await cluster.client(2)
        answer = client.send(fetch("t", {0: 1}, max_wait_ms=10_000), 12, FetchResponse)
        await cluster.wait_ms(100)
        assert not answer.done()
        await cluster.wrote("t", b"b")
        await cluster.wait_ms(10)
        assert not answer.done(), "the follower does not know yet that all have it"
        await cluster.wait_ms(500)
        assert answer.done()
        assert values(fetched(answer.result())[0]) == [b"b"]


@simulated
async def test_only_the_leader_tells_offsets(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2])
        await cluster.wrote("t", b"a")
        client = await cluster.client(2)
        response = await client.ask(list_offsets("t", (0, LATEST)), 5, ListOffsetsResponse)
        answer = response.topics[0].partitions[0]
        assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(
    ("epoch", "code"),
    [(-1, ErrorCode.NOT_LEADER_OR_FOLLOWER), (0, ErrorCode.UNKNOWN_LEADER_EPOCH)],
)
def test_who_has_no_replica_is_not_served(epoch: int, code: ErrorCode) -> None:
    """With an epoch it may be that the leader has not heard of the replica yet."""

    @simulated
    async def test(simulation: Simulation) -> None:
        async with three_brokers(simulation) as cluster:
            topic = await cluster.create("t", [1, 2])
            request = fetch(topic.id, {0: 0}, leader_epoch=epoch)
            request.replica_state = ReplicaState(replica_id=3, replica_epoch=-1)
            client = await cluster.client(1)
            answer = fetched(await client.ask(request, 17, FetchResponse))[0]
            assert answer.error_code == code

    test()
