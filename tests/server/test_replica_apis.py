"""ElectLeaders, AlterPartitionReassignments, ListPartitionReassignments, UnregisterBroker and
DescribeQuorum while brokers run. What one broker answers to odd requests is in
`test_admin_answers.py`."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages import alter_partition_reassignments as alter
from kafkalite.protocol.messages import describe_quorum as quorum
from kafkalite.protocol.messages import elect_leaders as elect
from kafkalite.protocol.messages import list_partition_reassignments as listing
from kafkalite.protocol.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from kafkalite.server.apis import elect_leaders
from kafkalite.testing.simulation import Simulation
from tests.server.cluster_of_two import Other, two_brokers
from tests.server.running import Running, served, simulated

BOTH = ([1, 2], [2, 1])


def take_over(running: Running, other: Other) -> None:
    """Broker 2 leaves: broker 1 is the controller, alone."""
    other.leave()
    assert running.broker.image.controller_id == 1


async def moves(running: Running, *replicas: int, cancel: bool = False) -> tuple[int, str | None]:
    partition = alter.ReassignablePartition(
        partition_index=0, replicas=None if cancel else list(replicas)
    )
    request = alter.AlterPartitionReassignmentsRequest(
        topics=[alter.ReassignableTopic(name="t", partitions=[partition])]
    )
    client = await running.client()
    answer = await client.ask(request, 1, alter.AlterPartitionReassignmentsResponse)
    (found,) = answer.responses[0].partitions
    return found.error_code, found.error_message


async def under_way(
    running: Running, *topics: tuple[str, list[int]]
) -> list[tuple[str, int, list[int], list[int], list[int]]]:
    request = listing.ListPartitionReassignmentsRequest(
        topics=[
            listing.ListPartitionReassignmentsTopics(name=name, partition_indexes=indexes)
            for name, indexes in topics
        ]
        or None
    )
    client = await running.client()
    answer = await client.ask(request, 0, listing.ListPartitionReassignmentsResponse)
    assert (answer.error_code, answer.error_message) == (ErrorCode.NONE, None)
    return [
        (t.name, p.partition_index, p.replicas, p.adding_replicas, p.removing_replicas)
        for t in answer.topics
        for p in t.partitions
    ]


@simulated
async def test_replicas_move_until_it_is_called_off(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", [1])
        other.create("u", [1])
        take_over(running, other)
        assert await moves(running, 2, 1) == (ErrorCode.NONE, None)
        expected = await under_way(running)
        assert expected == [("t", 0, [2, 1], [2], [])]
        assert await under_way(running, ("t", [0, 7]), ("absent", [0])) == expected
        assert await under_way(running, ("u", [0])) == []
        assert await moves(running, cancel=True) == (ErrorCode.NONE, None)
        assert await under_way(running) == []
        assert running.topic("t").partitions[0].replicas == (1,)


async def elections(running: Running, type: int, version: int = 2) -> list[int]:
    request = elect.ElectLeadersRequest(
        election_type=type, topic_partitions=[elect.TopicPartitions(topic="t", partitions=[0, 1])]
    )
    client = await running.client()
    answer = await client.ask(request, version, elect.ElectLeadersResponse)
    return [each.error_code for each in answer.replica_election_results[0].partition_result]


@pytest.mark.parametrize("version", range(3))
@simulated
async def test_preferred_replicas_lead_again(simulation: Simulation, version: int) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", *BOTH)
        other.change("t", 0, leader=2)
        take_over(running, other)
        assert running.topic("t").partitions[0].leader == 1, "2 is gone"
        assert await elections(running, 0, version) == [
            ErrorCode.ELECTION_NOT_NEEDED,
            ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ]


@simulated
async def test_an_unclean_leader_is_elected_on_request(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", *BOTH)
        other.change("t", 0, isr=[2], leader=2)
        take_over(running, other)
        assert running.topic("t").partitions[0].leader == -1
        assert await elections(running, 1) == [ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED]
        partition = running.topic("t").partitions[0]
        assert (partition.leader, partition.isr) == (1, (1,))


@served()
async def test_elections_of_all_partitions(running: Running) -> None:
    await running.create("t")
    client = await running.client()
    request = elect.ElectLeadersRequest(topic_partitions=None)
    answer = await client.ask(request, 2, elect.ElectLeadersResponse)
    found = [(each.topic, each.partition_result) for each in answer.replica_election_results]
    assert (answer.error_code, found) == (ErrorCode.NONE, [("t", [])])


def test_a_refusal_fits_version_0() -> None:
    """Which has no error of the whole, so every partition has it."""
    named = elect.ElectLeadersRequest(
        topic_partitions=[elect.TopicPartitions(topic="t", partitions=[3])]
    )
    refused = elect_leaders.refuse(named, ErrorCode.NOT_CONTROLLER, "")
    assert refused.error_code == ErrorCode.NONE
    (result,) = refused.replica_election_results[0].partition_result
    assert (result.partition_id, result.error_code) == (3, ErrorCode.NOT_CONTROLLER)
    every = elect.ElectLeadersRequest(topic_partitions=None)
    assert elect_leaders.refuse(every, ErrorCode.NOT_CONTROLLER, "").error_code == (
        ErrorCode.NOT_CONTROLLER
    )


@simulated
async def test_a_dead_broker_is_forgotten(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", *BOTH)
        take_over(running, other)
        client = await running.client()
        for code, message in (
            (ErrorCode.NONE, ""),
            (ErrorCode.BROKER_ID_NOT_REGISTERED, "Broker ID 2 is not currently registered"),
        ):
            request = UnregisterBrokerRequest(broker_id=2)
            answer = await client.ask(request, 0, UnregisterBrokerResponse)
            assert (answer.error_code, answer.error_message) == (code, message)
        assert list(running.broker.image.brokers) == [1]
        assert running.topic("t").partitions[1].replicas == (2, 1)


async def ask_quorum(running: Running, version: int) -> quorum.DescribeQuorumResponse:
    asked = quorum.DescribeQuorumRequestTopicData(
        topic_name="__cluster_metadata",
        partitions=[quorum.DescribeQuorumRequestPartitionData(partition_index=0)],
    )
    client = await running.client()
    return await client.ask(
        quorum.DescribeQuorumRequest(topics=[asked]), version, quorum.DescribeQuorumResponse
    )


@pytest.mark.parametrize("version", range(3))
@simulated
async def test_the_controller_is_the_quorum(simulation: Simulation, version: int) -> None:
    async with two_brokers(simulation) as (running, other):
        take_over(running, other)
        answer = await ask_quorum(running, version)
        assert (answer.error_code, answer.topics[0].topic_name) == (0, "__cluster_metadata")
        (partition,) = answer.topics[0].partitions
        image = running.broker.image
        assert (partition.leader_id, partition.leader_epoch) == (1, image.epoch)
        assert partition.high_watermark == image.end_offset
        (voter,) = partition.current_voters
        assert (voter.replica_id, voter.log_end_offset) == (1, image.end_offset)
        assert partition.observers == []
        if version >= 1:
            assert voter.last_caught_up_timestamp == simulation.clock.now_ms()
        if version >= 2:
            assert voter.replica_directory_id == image.brokers[image.controller_id].log_dirs[0]
            (node,) = answer.nodes
            assert (node.node_id, node.listeners[0].host) == (1, "broker")


@simulated
async def test_other_brokers_observe(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, _):
        (partition,) = (await ask_quorum(running, 2)).topics[0].partitions
        assert [each.replica_id for each in partition.current_voters] == [2]
        assert [each.replica_id for each in partition.observers] == [1]
