"""What a broker itself asks of the controller: of the core here, or over the wire."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kafkalite.controller.events import (
    AllocateProducerIds,
    AlterConfigs,
    AssignDirectories,
    ConfigEdit,
    ConfigOperation,
    ConfigsAltered,
    CreatedTopic,
    CreateTopics,
    DeleteTopics,
    DirectoriesKnown,
    FailDirectories,
    NewTopic,
    ProducerIdBlock,
    RefusedTopic,
    ReplicaDirectory,
    ResourceEdits,
    TopicsCreated,
)
from kafkalite.controller.replica_events import (
    AlterPartitions,
    BrokerShutDown,
    PartitionsAltered,
    ProposedIsr,
    ShutDownBroker,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import ConfigResource, ConfigResourceType, MetadataImage
from kafkalite.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
)
from kafkalite.protocol.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from kafkalite.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)
from kafkalite.server.controller_channel import RETRY_MS, ControllerChannel
from kafkalite.testing.simulation import Simulation
from kafkalite.types import BrokerEpoch, BrokerId, IsrMember, ProducerId, Uuid
from tests.server.running import simulated
from tests.server.running_cluster import Cluster, three_brokers

BOTH = pytest.mark.parametrize("id", [1, 2], ids=["here", "over the wire"])


def asked(cluster: Cluster, id: int, event: Any) -> list[Any]:  # Any: each has its own.
    """What broker `id` hears when it asks: it comes into the list."""
    replies: list[Any] = []
    cluster.brokers[id]._services.controller.submit(event, replies.append)
    return replies


def epoch(cluster: Cluster, id: int) -> BrokerEpoch:
    return cluster.store.image.brokers[BrokerId(id)].epoch


async def answer(cluster: Cluster, id: int, event: Any) -> Any:  # Any: as above.
    replies = asked(cluster, id, event)
    await cluster.wait_ms(10)
    (reply,) = replies
    return reply


@BOTH
@simulated
async def test_producer_ids(simulation: Simulation, id: int) -> None:
    async with three_brokers(simulation) as cluster:
        event = AllocateProducerIds(None, BrokerId(id), epoch(cluster, id))
        first, second = await answer(cluster, id, event), await answer(cluster, id, event)
        assert isinstance(first, ProducerIdBlock)
        assert second == ProducerIdBlock(ProducerId(first.first + first.size), first.size)
        stale = event._replace(broker_epoch=BrokerEpoch(-5))
        assert (await answer(cluster, id, stale)).code is ErrorCode.STALE_BROKER_EPOCH


@BOTH
@simulated
async def test_topics_that_are_needed(simulation: Simulation, id: int) -> None:
    async with three_brokers(simulation) as cluster:
        wanted = (
            NewTopic("t", num_partitions=2, configs=(("retention.ms", "5"),)),
            NewTopic("no such name!"),
        )
        ids = (Uuid(b"1" * 16), Uuid(b"2" * 16))
        reply = await answer(cluster, id, CreateTopics(None, wanted, ids, 7))
        assert isinstance(reply, TopicsCreated)
        made, refused = reply.topics
        assert isinstance(made, CreatedTopic)
        assert (made.name, made.num_partitions, made.replication_factor) == ("t", 2, 1)
        assert isinstance(refused, RefusedTopic)
        assert refused.code is ErrorCode.INVALID_TOPIC_EXCEPTION
        assert refused.message
        assert cluster.store.image.topic_config("t") == {"retention.ms": "5"}


@BOTH
@simulated
async def test_in_sync_replicas(simulation: Simulation, id: int) -> None:
    async with three_brokers(simulation, replica_lag_time_max_ms="600000") as cluster:
        await cluster.create("t", [id, 3], [3, id])
        topic = cluster.store.image.topics["t"]
        before = topic.partitions[0]
        proposed = ProposedIsr(
            topic.id, 0, before.leader_epoch, before.partition_epoch, (IsrMember(BrokerId(id)),)
        )
        stale = proposed._replace(partition=1)
        event = AlterPartitions(None, BrokerId(id), epoch(cluster, id), (proposed, stale))
        reply = await answer(cluster, id, event)
        assert isinstance(reply, PartitionsAltered)
        first, second = reply.partitions
        assert (first.partition, first.code, first.isr) == (0, ErrorCode.NONE, (id,))
        assert first.partition_epoch == before.partition_epoch + 1
        assert (second.partition, second.code) == (1, ErrorCode.INVALID_REQUEST)


@BOTH
@simulated
async def test_folders(simulation: Simulation, id: int) -> None:
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [id])
        topic = cluster.store.image.topics["t"]
        me = cluster.store.image.brokers[BrokerId(id)]
        replica = ReplicaDirectory(topic.id, 0, me.log_dirs[0])
        known = await answer(cluster, id, AssignDirectories(None, me.id, me.epoch, (replica,)))
        assert isinstance(known, DirectoriesKnown)
        failed = FailDirectories(None, me.id, me.epoch, me.log_dirs)
        assert isinstance(await answer(cluster, id, failed), DirectoriesKnown)
        assert cluster.image("t").leader == -1


@BOTH
@simulated
async def test_the_end(simulation: Simulation, id: int) -> None:
    async with three_brokers(simulation) as cluster:
        await cluster.create("t", [id, 3])
        await cluster.create("alone", [id])
        reply = await answer(cluster, id, ShutDownBroker(None, BrokerId(id), epoch(cluster, id)))
        assert reply == BrokerShutDown(())
        assert cluster.image("t").leader == 3
        assert cluster.image("alone").leader == -1


@simulated
async def test_what_clients_ask_does_not_go_over_the_wire_by_itself(
    simulation: Simulation,
) -> None:
    async with three_brokers(simulation) as cluster:
        (reply,) = asked(cluster, 2, DeleteTopics(None, ()))
        assert reply.code is ErrorCode.NOT_CONTROLLER


@simulated
async def test_it_finds_the_next_controller(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        simulation.weather.partition({"broker-1"}, {"broker-3"})
        replies = asked(cluster, 3, AllocateProducerIds(None, BrokerId(3), epoch(cluster, 3)))
        await cluster.wait_ms(5_000)
        assert not replies
        await cluster.kill(1)
        assert cluster.controller == 2
        await cluster.wait_ms(3 * RETRY_MS)
        (reply,) = replies
        assert isinstance(reply, ProducerIdBlock)


@simulated
async def test_its_time_is_limited(simulation: Simulation) -> None:
    async with three_brokers(simulation, request_timeout_ms="3000") as cluster:
        simulation.weather.partition({"broker-1"}, {"broker-2"})
        replies = asked(cluster, 2, AllocateProducerIds(None, BrokerId(2), epoch(cluster, 2)))
        await cluster.wait_ms(3_000 + 2 * RETRY_MS)
        (reply,) = replies
        assert isinstance(reply, KafkaError)
        assert reply.code is ErrorCode.REQUEST_TIMED_OUT
        simulation.weather.heal()
        simulation.network.deliver_held()


@simulated
async def test_who_waits_hears_when_the_broker_stops(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        simulation.weather.partition({"broker-1"}, {"broker-2"})
        replies = asked(cluster, 2, AllocateProducerIds(None, BrokerId(2), epoch(cluster, 2)))
        await cluster.kill(2)
        (reply,) = replies
        assert reply.code is ErrorCode.NOT_CONTROLLER
        simulation.weather.heal()
        simulation.network.deliver_held()


@simulated
async def test_who_is_not_the_controller_says_so(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        partition = await cluster.ask(2, AlterPartitionRequest(), 3, AlterPartitionResponse)
        heartbeat = await cluster.ask(2, BrokerHeartbeatRequest(), 1, BrokerHeartbeatResponse)
        shutdown = await cluster.ask(2, ControlledShutdownRequest(), 3, ControlledShutdownResponse)
        for each in (partition, heartbeat, shutdown):
            assert each.error_code == ErrorCode.NOT_CONTROLLER


@simulated
async def test_members_without_epochs_are_taken(simulation: Simulation) -> None:
    """As brokers of older releases propose them."""
    async with three_brokers(simulation) as cluster:
        answer = await cluster.ask(1, AlterPartitionRequest(broker_id=9), 2, AlterPartitionResponse)
        assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH


@simulated
async def test_the_controller_alters_by_itself_what_it_takes_for_a_kafkas(
    simulation: Simulation,
) -> None:
    """It was elected after one, of which the image tells still."""
    async with three_brokers(simulation) as cluster:
        channel = cluster.brokers[1]._services.controller
        assert isinstance(channel, ControllerChannel)
        image = cluster.store.image
        kafka = image.brokers[BrokerId(2)]._replace(features={})
        brokers = {**image.brokers, kafka.id: kafka}
        channel._image = partial(_itself, image._replace(controller_id=kafka.id, brokers=brokers))
        edit = ConfigEdit("log.retention.ms", ConfigOperation.SET, "77")
        resource = ConfigResource(ConfigResourceType.BROKER, "1")
        event = AlterConfigs(None, (ResourceEdits(resource, (edit,)),), BrokerId(1), {})
        assert isinstance(await answer(cluster, 1, event), ConfigsAltered)
        channel._image = partial(_itself, image)


def _itself(image: MetadataImage) -> MetadataImage:
    return image


@simulated
async def test_who_is_a_kafka(simulation: Simulation) -> None:
    """A controller that registered no features: a Kafka 3.9 over ZooKeeper."""
    async with three_brokers(simulation) as cluster:
        image = cluster.store.image
        controller = image.brokers[image.controller_id]
        images = [
            image._replace(brokers={**image.brokers, controller.id: known})
            for known in (controller, controller._replace(features={}))
        ]
        images.append(image._replace(brokers={}))  # It has not registered yet.
        channel = cluster.brokers[2]._services.controller
        assert isinstance(channel, ControllerChannel)
        kafkas = []
        for each in images:
            channel._image = partial(_itself, each)
            kafkas.append(channel.is_a_kafka)
        channel._image = partial(_itself, image)
        assert kafkas == [False, True, False]
