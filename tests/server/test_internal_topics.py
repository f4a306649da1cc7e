"""Topics in which the broker keeps its own state: made on first use, clamped to what there is."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafkalite.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafkalite.testing.simulation import Simulation
from kafkalite.types import BrokerId
from tests.server.cluster_of_two import two_brokers
from tests.server.group_requests import find
from tests.server.running import Running, creatable, served, simulated, start

OFFSETS = "__consumer_offsets"
METADATA = 12


def configs(running: Running, topic: str) -> dict[str, str]:
    return dict(running.broker.image.topic_config(topic))


async def ask_metadata(running: Running, topic: str) -> MetadataResponse:
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=True
    )
    return await (await running.client()).ask(request, METADATA, MetadataResponse)


@served()
async def test_the_first_who_asks_for_a_coordinator_has_the_topic_made(running: Running) -> None:
    assert OFFSETS not in running.broker.image.topics
    await find(running)
    topic = running.topic(OFFSETS)
    assert len(topic.partitions) == 50
    assert configs(running, OFFSETS) == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "104857600",
    }
    listed = (await ask_metadata(running, OFFSETS)).topics[0]
    assert listed.is_internal
    await find(running, "another")
    assert running.topic(OFFSETS) is topic


@served()
async def test_one_line_tells_of_the_clamping(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    await find(running)
    lines = [text for text in caplog.messages if OFFSETS in text]
    assert len(lines) == 1
    assert "replication factor 1 instead of 3" in lines[0]
    assert running.topic(OFFSETS).partitions[0].replicas == (1,)


@served(offsets_topic_replication_factor="1")
async def test_and_none_where_nothing_is_clamped(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    await find(running)
    assert not [text for text in caplog.messages if OFFSETS in text]


@simulated
async def test_its_settings_follow_the_brokers(simulation: Simulation) -> None:
    settings = {
        "offsets.topic.num.partitions": "3",
        "offsets.topic.segment.bytes": "2097152",
        "min.insync.replicas": "2",
    }
    async with start(simulation, settings=settings) as running:
        await find(running)
        assert len(running.topic(OFFSETS).partitions) == 3
        assert configs(running, OFFSETS)["segment.bytes"] == "2097152"
        assert configs(running, OFFSETS)["min.insync.replicas"] == "1"


@served(offsets_topic_num_partitions="2")
async def test_asked_for_by_metadata_it_is_made_the_same_way(running: Running) -> None:
    topic = (await ask_metadata(running, OFFSETS)).topics[0]
    assert (topic.error_code, topic.is_internal, len(topic.partitions)) == (0, True, 2)
    assert configs(running, OFFSETS)["cleanup.policy"] == "compact"


@served()
async def test_other_internal_topics_are_not_made_yet(running: Running) -> None:
    topic = (await ask_metadata(running, "__transaction_state")).topics[0]
    assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@served()
async def test_many_who_ask_at_once_get_one_topic(running: Running) -> None:
    client = await running.client()
    request = FindCoordinatorRequest(coordinator_keys=["group"])
    asked = [client.send(request, 4, FindCoordinatorResponse) for _ in range(5)]
    codes = [(await answer).coordinators[0].error_code for answer in asked]
    assert codes == [ErrorCode.NONE] * 5


@simulated
async def test_where_the_controller_is_elsewhere_there_is_no_coordinator_yet(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    async with two_brokers(simulation) as (running, _):
        request = FindCoordinatorRequest(key="group")
        response = await (await running.client()).ask(request, 3, FindCoordinatorResponse)
        assert response.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert any("cannot be made" in text for text in caplog.messages)


@served()
async def test_users_topics_are_refused_and_not_clamped(running: Running) -> None:
    topic = creatable("mine")
    topic.replication_factor = 3
    result = await running.ask_to_create(topic)
    assert result.error_code == ErrorCode.INVALID_REPLICATION_FACTOR


@served(kafkalite_clamp_replication="true", default_replication_factor="3")
async def test_unless_the_broker_is_told_so(running: Running) -> None:
    topic = creatable("mine", configs={"min.insync.replicas": "2", "retention.ms": "5"})
    topic.replication_factor = 3
    result = await running.ask_to_create(topic)
    assert (result.error_code, result.replication_factor) == (ErrorCode.NONE, 1)
    assert configs(running, "mine") == {"min.insync.replicas": "1", "retention.ms": "5"}
    result = await running.ask_to_create(creatable("by-default"))
    assert (result.error_code, result.replication_factor) == (ErrorCode.NONE, 1)
    by_hand = await running.ask_to_create(creatable("by-hand", -1, assignments=[[BrokerId(7)]]))
    assert by_hand.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
