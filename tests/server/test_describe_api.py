"""DescribeCluster, ListConfigResources and DescribeLogDirs while a broker runs. What they answer to
odd requests is in `test_admin_answers.py`."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from kafkalite.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from kafkalite.protocol.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from kafkalite.protocol.messages.metadata_records import ConfigRecord
from kafkalite.testing.simulation import Simulation
from tests.server.cluster_of_two import OTHER, OTHER_HOST, two_brokers
from tests.server.requests import batch
from tests.server.running import PORT, Running, served, simulated


async def cluster(running: Running, *, fenced: bool = False) -> DescribeClusterResponse:
    request = DescribeClusterRequest(include_fenced_brokers=fenced)
    return await (await running.client()).ask(request, 2, DescribeClusterResponse)


async def folder(
    running: Running, topics: dict[str, list[int]] | None, version: int = 5
) -> DescribeLogDirsResult:
    asked = (
        None
        if topics is None
        else [DescribableLogDirTopic(topic=name, partitions=p) for name, p in topics.items()]
    )
    request = DescribeLogDirsRequest(topics=asked)
    answer = await (await running.client()).ask(request, version, DescribeLogDirsResponse)
    assert answer.error_code == ErrorCode.NONE
    (result,) = answer.results
    return result


def sizes(result: DescribeLogDirsResult) -> dict[tuple[str, int], int]:
    return {
        (topic.name, partition.partition_index): partition.partition_size
        for topic in result.topics
        for partition in topic.partitions
    }


@served()
async def test_a_broker_alone_is_the_cluster_and_its_controller(running: Running) -> None:
    answer = await cluster(running)
    assert answer.cluster_id == running.broker.cluster_id
    assert answer.controller_id == 1
    (broker,) = answer.brokers
    assert (broker.broker_id, broker.host, broker.port) == (1, "broker", PORT)


@simulated
async def test_brokers_are_listed_by_id_and_fenced_ones_when_asked(
    simulation: Simulation,
) -> None:
    async with two_brokers(simulation) as (running, other):
        both = await cluster(running)
        assert [broker.broker_id for broker in both.brokers] == [1, 2]
        assert both.controller_id == 1
        assert both.brokers[1].host == OTHER_HOST
        other.leave()
        await running.wait_ms()
        assert [broker.broker_id for broker in (await cluster(running)).brokers] == [1]
        _, fenced = (await cluster(running, fenced=True)).brokers
        assert fenced == DescribeClusterBroker(
            broker_id=OTHER, host=OTHER_HOST, port=9092, is_fenced=True
        )


@served()
async def test_sizes_are_those_of_the_records(running: Running) -> None:
    await running.create("t", 2)
    await running.create("u")
    await running.produce("t", b"a", b"b", partition=1)
    await running.produce("t", b"c", partition=1)
    expected = len(batch(b"a", b"b")) + len(batch(b"c"))
    assert sizes(await folder(running, None)) == {("t", 0): 0, ("t", 1): expected, ("u", 0): 0}
    assert sizes(await folder(running, {"t": [1, 7], "absent": [0]})) == {("t", 1): expected}
    assert sizes(await folder(running, {})) == {}


@pytest.mark.parametrize("version", range(1, 6))
@served()
async def test_the_folder_and_its_disk(running: Running, version: int) -> None:
    result = await folder(running, None, version)
    assert result.log_dir == "memory"
    space = running.files.space()
    expected = (space.total_bytes, space.usable_bytes) if version >= 4 else (-1, -1)
    assert (result.total_bytes, result.usable_bytes) == expected
    assert not result.is_cordoned


@served()
async def test_a_disk_that_cannot_be_asked_is_told(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(running.files, "space", refuse)
    result = await folder(running, None)
    assert (result.error_code, result.log_dir) == (ErrorCode.KAFKA_STORAGE_ERROR, "memory")


@simulated
async def test_whatever_has_settings_is_listed(simulation: Simulation) -> None:
    """Groups and subscriptions as a Kafka may have left them."""

    async def listed(*types: int, version: int = 1) -> list[tuple[int, str]]:
        request = ListConfigResourcesRequest(resource_types=list(types))
        client = await running.client()
        answer = await client.ask(request, version, ListConfigResourcesResponse)
        assert answer.error_code == ErrorCode.NONE
        return [(found.resource_type, found.resource_name) for found in answer.config_resources]

    topic, broker, logger, metrics, group = 2, 4, 8, 16, 32
    async with two_brokers(simulation) as (running, other):
        other.create("t", [1])
        for type, name in ((group, "g"), (metrics, "m"), (broker, ""), (topic, "t")):
            other._commit(ConfigRecord(resource_type=type, resource_name=name, name="k", value="v"))
        brokers = [(logger, "1"), (logger, "2"), (broker, "1"), (broker, "2")]
        assert await listed() == [(group, "g"), (metrics, "m"), *brokers, (topic, "t")]
        assert await listed(topic, group) == [(group, "g"), (topic, "t")]
        assert await listed(version=0) == [(metrics, "m")]
