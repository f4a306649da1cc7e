"""Transactions over several brokers: markers go to whoever leads."""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kafkalite.server.transaction_markers import Marker
from kafkalite.testing.simulation import Simulation
from kafkalite.types import ProducerEpoch, ProducerId, TopicPartition
from tests.server.running import simulated
from tests.server.running_cluster import Cluster, three_brokers

MARKER = Marker(ProducerId(7), ProducerEpoch(0), True, 0, 1)


async def spread(cluster: Cluster) -> list[TopicPartition]:
    """Partition N of a topic, led by broker N + 1 and nobody else's."""
    await cluster.create("t", [1], [2], [3])
    return [TopicPartition("t", index) for index in range(3)]


def write(
    cluster: Cluster, partitions: list[TopicPartition], timeout_ms: int = 1_000
) -> list[dict[TopicPartition, ErrorCode]]:
    """Broker 1 sends the marker. What it hears comes into the list."""
    heard: list[dict[TopicPartition, ErrorCode]] = []
    routes = cluster.brokers[1]._services.transactions._markers
    routes.write(MARKER, partitions, timeout_ms, heard.append)
    return heard


async def end_offset(cluster: Cluster, of: TopicPartition) -> int:
    request = ListOffsetsRequest(
        topics=[
            ListOffsetsTopic(
                name=of.topic,
                partitions=[ListOffsetsPartition(partition_index=of.partition, timestamp=-1)],
            )
        ]
    )
    answer = await cluster.ask(of.partition + 1, request, 5, ListOffsetsResponse)
    assert answer.topics[0].partitions[0].error_code == 0
    return answer.topics[0].partitions[0].offset


@simulated
async def test_each_broker_writes_to_what_it_leads(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        partitions = await spread(cluster)
        heard = write(cluster, partitions)
        await cluster.wait_ms()
        assert heard == [dict.fromkeys(partitions, ErrorCode.NONE)]
        assert [await end_offset(cluster, each) for each in partitions] == [1, 1, 1]


@simulated
async def test_what_does_not_get_there_is_told(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        partitions = await spread(cluster)
        await cluster.kill(3)
        assert cluster.image("t", 2).leader == -1
        simulation.weather.partition({"broker-1"}, {"broker-2"})
        gone = TopicPartition("gone", 0)
        heard = write(cluster, [*partitions, gone])
        await cluster.wait_ms(1_001)
        assert heard == [
            {
                partitions[0]: ErrorCode.NONE,
                partitions[1]: ErrorCode.REQUEST_TIMED_OUT,
                partitions[2]: ErrorCode.LEADER_NOT_AVAILABLE,
                gone: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            }
        ]
        simulation.weather.heal()
        simulation.network.deliver_held()


@simulated
async def test_nothing_is_written_at_once(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        assert write(cluster, []) == [{}]
