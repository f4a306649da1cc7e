"""Brokers whose cluster ZooKeeper keeps, as wholes."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafkalite.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kafkalite.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from kafkalite.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafkalite.stores import znodes
from kafkalite.testing.simulation import Simulation
from kafkalite.types import NO_LEADER, BrokerId
from tests.server.running import CREATE, creatable, simulated
from tests.server.zookeeper_brokers import KAFKA, over_zookeeper


@simulated
async def test_who_loses_power_and_is_back_before_it_is_missed_takes_nothing_from_others(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ZooKeeper has its session still, by which it leads. What it has not synced others have."""
    async with over_zookeeper(simulation, monkeypatch, 1, 2, 3) as cluster:
        await cluster.create("t", [2, 3])
        assert await cluster.wrote("t", b"kept") == 0
        await cluster.replicated("t", 2, 3)
        expire = await cluster.lose_power_unnoticed(2)
        await cluster.come_back(2)
        await cluster.wait_ms(3_000)
        assert cluster.leader("t") == 2, "nobody knows better"
        assert cluster.brokers[2].image.topics["t"].partitions[0].leader == NO_LEADER
        expire()
        await cluster.joined(2)
        await cluster.wait_until(lambda: cluster.isr("t") == {2, 3})
        assert cluster.leader("t") == 3
        assert await cluster.read("t") == [b"kept"]
        await cluster.replicated("t", 2, 3)


@simulated
async def test_each_broker_alters_its_own_settings_where_a_kafka_is_the_controller(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with over_zookeeper(simulation, monkeypatch, 2) as cluster:
        cluster.elect_a_kafka()
        await cluster.wait_until(lambda: cluster.controller == KAFKA)
        value = AlterableConfig(name="log.retention.ms", config_operation=0, value="77")
        answers = []
        for id in ("2", "9"):
            resource = AlterConfigsResource(resource_type=4, resource_name=id, configs=[value])
            request = IncrementalAlterConfigsRequest(resources=[resource])
            answer = await cluster.ask(2, request, 1, IncrementalAlterConfigsResponse)
            answers.append(answer.responses[0].error_code)
        assert answers == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
        written = cluster.zookeeper.find(f"/config/brokers/{BrokerId(2)}")
        assert written is not None
        assert znodes.read_config(written.data) == {"log.retention.ms": "77"}
        assert cluster.zookeeper.find("/config/brokers/9") is None


@simulated
async def test_what_is_answered_every_broker_has_read(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with over_zookeeper(simulation, monkeypatch, 1, 2, 3) as cluster:
        let_go = cluster.hold(3)
        wanted = CreateTopicsRequest(topics=[creatable("t", -1, None, [[1]])], timeout_ms=10_000)
        asked = (await cluster.client(1)).send(wanted, CREATE, CreateTopicsResponse)
        await cluster.wait_until(lambda: "t" in cluster.brokers[2].image.topics)
        await cluster.wait_ms(2_000)
        assert not asked.done()
        assert "t" not in cluster.brokers[3].image.topics
        let_go()
        await cluster.wait_until(asked.done)
        assert "t" in cluster.brokers[3].image.topics


@simulated
async def test_a_topic_that_is_deleted_waits_for_who_is_away(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with over_zookeeper(simulation, monkeypatch, 1, 2, 3) as cluster:
        await cluster.create("t", [1, 2])
        await cluster.wrote("t", b"x")
        await cluster.replicated("t", 2)
        await cluster.kill(2)
        request = DeleteTopicsRequest(topic_names=["t"], timeout_ms=10_000)
        answer = await cluster.ask(3, request, 4, DeleteTopicsResponse)
        assert answer.responses[0].error_code == ErrorCode.NONE
        await cluster.wait_ms(30_000)
        assert "t" not in cluster.metadata.topics
        assert cluster.zookeeper.find("/brokers/topics/t") is not None
        assert "t-0" in cluster.files[2].list("")
        await cluster.start(2)
        await cluster.wait_until(lambda: cluster.zookeeper.find("/brokers/topics/t") is None)
        assert "t-0" not in cluster.files[2].list("")


@simulated
@pytest.mark.parametrize("is_told_first", [True, False])
async def test_a_leader_that_moves_while_zookeeper_dies_is_followed(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch, is_told_first: bool
) -> None:
    """Of the brokers only the controller has read it; the others were told, before or after."""
    async with over_zookeeper(simulation, monkeypatch, 1, 2, 3) as cluster:
        await cluster.create("t", [2, 3])
        await cluster.kill(2)
        await cluster.wait_until(lambda: cluster.leader("t") == 3)
        await cluster.wrote("t", b"before")
        await cluster.start(2)
        await cluster.wait_until(lambda: cluster.isr("t") == {2, 3})
        if is_told_first:
            cluster.hold(2)
            cluster.hold(3)
        else:
            back = cluster.cut_off(2, 3)
        preferred = ElectLeadersRequest(
            election_type=0, topic_partitions=[TopicPartitions(topic="t", partitions=[0])]
        )
        (await cluster.client(1)).send(preferred, 2, ElectLeadersResponse)
        await cluster.wait_until(lambda: cluster.leader("t") == 2)
        if is_told_first:
            await cluster.wait_ms(100)
            assert cluster.brokers[2].image.topics["t"].partitions[0].leader == 3
            back = cluster.cut_off(2, 3)
        controller_is_back = cluster.cut_off(1)
        assert await cluster.wrote("t", b"meanwhile") == 1
        back()
        controller_is_back()
        await cluster.wait_ms(1_000)
        assert await cluster.wrote("t", b"after") == 2
        for broker in cluster.brokers.values():
            assert broker.image.topics["t"].partitions[0].leader == 2
        await cluster.replicated("t", 2, 3)
        assert await cluster.read("t") == [b"before", b"meanwhile", b"after"]
