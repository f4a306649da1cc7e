"""What the controller decides about a cluster of three that runs: elections, balance, controlled
shutdown, topics whose replicas are not all there."""

from __future__ import annotations

from kafkalite.controller.replica_events import ElectionType
from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from kafkalite.protocol.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafkalite.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kafkalite.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from kafkalite.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafkalite.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafkalite.protocol.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from kafkalite.testing.simulation import Simulation
from tests.server.running import CREATE, simulated
from tests.server.running_cluster import Cluster, three_brokers


async def elect(cluster: Cluster, type: ElectionType, broker: int | None = None) -> int:
    request = ElectLeadersRequest(
        election_type=type, topic_partitions=[TopicPartitions(topic="t", partitions=[0])]
    )
    client = await cluster.client(broker)
    answer = await client.ask(request, 2, ElectLeadersResponse)
    (result,) = answer.replica_election_results[0].partition_result
    return result.error_code


async def lead_elsewhere(cluster: Cluster) -> None:
    """`t-0` is led by 2 though 1 is preferred, back and in sync."""
    await cluster.create("t", [1, 2, 3])
    await cluster.wrote("t", b"a")
    await cluster.kill(1)
    await cluster.wait_until(lambda: cluster.leader("t") == 2)
    await cluster.wrote("t", b"b")
    await cluster.start(1)
    await cluster.wait_until(lambda: cluster.isr("t") == {1, 2, 3})


@simulated
async def test_a_book_example(simulation: Simulation) -> None:
    """A broker dies and comes back: leaders stay where they are, until a preferred election."""
    async with three_brokers(simulation) as cluster:
        await lead_elsewhere(cluster)
        assert (cluster.leader("t"), cluster.image("t").leader_epoch) == (2, 1)
        for broker, code in ((3, ErrorCode.NONE), (2, ErrorCode.ELECTION_NOT_NEEDED)):
            assert await elect(cluster, ElectionType.PREFERRED, broker) == code
        assert cluster.leader("t") == 1
        assert await cluster.wrote("t", b"c") == 2
        assert await cluster.read("t") == [b"a", b"b", b"c"]


@simulated
async def test_preferred_replicas_lead_again_in_time(simulation: Simulation) -> None:
    async with three_brokers(simulation, leader_imbalance_check_interval_seconds="20") as cluster:
        await lead_elsewhere(cluster)
        await cluster.wait_until(lambda: cluster.leader("t") == 1)
        assert cluster.image("t").leader_epoch == 2


@simulated
async def test_leaders_may_stay(simulation: Simulation) -> None:
    settings = {
        "auto_leader_rebalance_enable": "false",
        "leader_imbalance_check_interval_seconds": "1",
    }
    async with three_brokers(simulation, **settings) as cluster:
        await lead_elsewhere(cluster)
        await cluster.wait_ms(5_000)
        assert cluster.leader("t") == 2


@simulated
async def test_a_broker_that_stops_hands_over_first(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2, 3])
        await cluster.wrote("t", b"a")
        await cluster.stop(1)
        assert (cluster.leader("t"), cluster.isr("t")) == (2, {2, 3})
        assert cluster.image("t").leader_epoch == 1, "nothing more came of its end"
        await cluster.wrote("t", b"b")
        await cluster.start(1)
        await cluster.wait_until(lambda: cluster.isr("t") == {1, 2, 3})
        assert cluster.image("t").leader_epoch == 1


async def lose_all_that_is_in_sync(cluster: Cluster) -> None:
    """2 lacks the last record of `t-0`, and 1 is gone."""
    await cluster.create("t", [1, 2])
    await cluster.wrote("t", b"a")
    await cluster.replicated("t", 2)
    await cluster.kill(2)
    await cluster.wait_until(lambda: cluster.isr("t") == {1})
    await cluster.wrote("t", b"lost")
    await cluster.kill(1)
    await cluster.wait_until(lambda: cluster.leader("t") == -1)
    await cluster.start(2)
    await cluster.wait_ms(100)
    assert cluster.leader("t") == -1, "it waits for 1"


@simulated
async def test_an_unclean_election_costs_records(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        await lose_all_that_is_in_sync(cluster)
        assert await elect(cluster, ElectionType.UNCLEAN) == ErrorCode.NONE
        partition = cluster.image("t")
        assert (partition.leader, partition.isr, partition.leader_recovery_state) == (2, (2,), 1)
        assert await cluster.wrote("t", b"b") == 1
        await cluster.start(1)
        await cluster.wait_until(lambda: cluster.isr("t") == {1, 2})
        assert cluster.image("t").leader_recovery_state == 0
        assert await cluster.read("t", broker=1) == [b"a", b"b"]


async def allow_unclean(cluster: Cluster) -> None:
    allowed = AlterableConfig(name="unclean.leader.election.enable", value="true")
    topic = AlterConfigsResource(resource_type=2, resource_name="t", configs=[allowed])
    request = IncrementalAlterConfigsRequest(resources=[topic])
    answer = await (await cluster.client()).ask(request, 1, IncrementalAlterConfigsResponse)
    assert answer.responses[0].error_code == ErrorCode.NONE


@simulated
async def test_an_unclean_election_in_time(simulation: Simulation) -> None:
    async with three_brokers(simulation, unclean_leader_election_interval_ms="30000") as cluster:
        await lose_all_that_is_in_sync(cluster)
        await allow_unclean(cluster)
        await cluster.wait_until(lambda: cluster.leader("t") == 2)


@simulated
async def test_a_topic_is_deleted_though_a_replica_is_away(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [1, 2, 3])
        await cluster.wrote("t", b"a")
        await cluster.replicated("t", 3)
        await cluster.kill(3)
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=5_000)
        answer = await (await cluster.client(2)).ask(request, 6, DeleteTopicsResponse)
        assert answer.responses[0].error_code == ErrorCode.NONE
        assert not cluster.files[1].exists("t-0")
        await cluster.create("t", [3, 1])
        await cluster.start(3)
        await cluster.wait_until(lambda: cluster.isr("t") == {1, 3})
        assert await cluster.wrote("t", b"new") == 0
        assert await cluster.read("t") == [b"new"]


@simulated
async def test_new_topics_and_partitions_are_placed_on_all(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        client = await cluster.client(3)
        topic = CreatableTopic(name="t", num_partitions=3, replication_factor=3)
        made = await client.ask(
            CreateTopicsRequest(topics=[topic], timeout_ms=5_000), CREATE, CreateTopicsResponse
        )
        assert made.topics[0].error_code == ErrorCode.NONE
        grow = CreatePartitionsRequest(
            topics=[CreatePartitionsTopic(name="t", count=6, assignments=None)], timeout_ms=5_000
        )
        grown = await client.ask(grow, 3, CreatePartitionsResponse)
        assert grown.results[0].error_code == ErrorCode.NONE
        await cluster.wait_until(lambda: len(cluster.store.image.topics["t"].partitions) == 6)
        partitions = cluster.store.image.topics["t"].partitions
        assert sorted(each.leader for each in partitions) == [1, 1, 2, 2, 3, 3]
        assert all(set(each.isr) == {1, 2, 3} for each in partitions)
        await cluster.produce("t", b"x", partition=5)


@simulated
async def test_more_replicas_than_brokers_are_refused(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        client = await cluster.client()
        for factor, code in ((4, ErrorCode.INVALID_REPLICATION_FACTOR), (3, ErrorCode.NONE)):
            topic = CreatableTopic(name=f"t{factor}", num_partitions=1, replication_factor=factor)
            request = CreateTopicsRequest(topics=[topic], timeout_ms=5_000)
            answer = await client.ask(request, CREATE, CreateTopicsResponse)
            assert answer.topics[0].error_code == code


async def find_coordinator(cluster: Cluster, kind: int) -> None:
    client = await cluster.client()
    request = FindCoordinatorRequest(key_type=kind, coordinator_keys=["x"])
    answer = await client.ask(request, 4, FindCoordinatorResponse)
    assert answer.coordinators[0].error_code == ErrorCode.NONE


@simulated
async def test_internal_topics_are_as_wide_as_the_cluster(simulation: Simulation) -> None:
    """Brokers that are away count: they get their replicas when they are back. What must be in
    sync is no more than those that live."""
    async with three_brokers(simulation) as cluster:
        await cluster.kill(3)
        await find_coordinator(cluster, 0)
        await cluster.kill(2)
        await find_coordinator(cluster, 1)
        image = cluster.store.image
        for topic, isr, in_sync in (
            ("__consumer_offsets", {1}, None),
            ("__transaction_state", {1}, "1"),
        ):
            partitions = image.topics[topic].partitions
            assert all(set(each.replicas) == {1, 2, 3} for each in partitions)
            assert all(set(each.isr) == isr for each in partitions)
            assert image.topic_config(topic).get("min.insync.replicas") == in_sync
        await cluster.start(2, 3)
        await cluster.wait_until(lambda: cluster.isr("__transaction_state", 49) == {1, 2, 3})


@simulated
async def test_a_broker_that_is_forgotten_while_it_lives(simulation: Simulation) -> None:
    """It leads nothing more, and is back when it starts again."""
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [3, 1], [2, 3])
        request = UnregisterBrokerRequest(broker_id=3)
        answer = await (await cluster.client(3)).ask(request, 0, UnregisterBrokerResponse)
        assert answer.error_code == ErrorCode.NONE
        assert (cluster.leader("t"), cluster.isr("t")) == (1, {1})
        await cluster.wrote("t", b"a")
        await cluster.wait_ms(2_000)
        await cluster.stop(3)
        await cluster.start(3)
        await cluster.wait_until(lambda: cluster.isr("t") == {1, 3})
        await cluster.wait_until(lambda: cluster.isr("t", 1) == {2, 3})
