"""Topics in which the broker keeps its own state: made on first use, clamped to what there is."""

from __future__ import annotations

import logging

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

OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
SHARES = "__share_group_state"
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


@pytest.mark.parametrize(
    ("key_type", "key", "topic", "wanted"),
    [
        (
            1,
            "transactional id",
            TRANSACTIONS,
            {
                "cleanup.policy": "compact",
                "compression.type": "uncompressed",
                "min.insync.replicas": "1",
                "segment.bytes": "104857600",
                "unclean.leader.election.enable": "false",
            },
        ),
        (
            2,
            "group:AAAAAAAAAAAAAAAAAAAAAQ:0",
            SHARES,
            {
                "cleanup.policy": "delete",
                "compression.type": "producer",
                "min.insync.replicas": "1",
                "retention.ms": "-1",
                "segment.bytes": "104857600",
            },
        ),
    ],
)
@served()
async def test_so_it_is_with_the_topics_of_other_coordinators(
    running: Running, key_type: int, key: str, topic: str, wanted: dict[str, str]
) -> None:
    request = FindCoordinatorRequest(coordinator_keys=[key], key_type=key_type)
    response = await (await running.client()).ask(request, 6, FindCoordinatorResponse)
    assert response.coordinators[0].error_code == ErrorCode.NONE
    assert list(running.broker.image.topics) == [topic]
    assert len(running.topic(topic).partitions) == 50
    assert configs(running, topic) == wanted
    assert (await ask_metadata(running, topic)).topics[0].is_internal


@pytest.mark.parametrize(
    ("topic", "setting"),
    [
        (OFFSETS, "offsets.topic.replication.factor"),
        (TRANSACTIONS, "transaction.state.log.replication.factor"),
        (SHARES, "share.coordinator.state.topic.replication.factor"),
    ],
)
@simulated
async def test_one_line_tells_of_the_clamping(
    simulation: Simulation, caplog: pytest.LogCaptureFixture, topic: str, setting: str
) -> None:
    caplog.set_level(logging.INFO)
    async with start(simulation) as running:
        await ask_metadata(running, topic)
        lines = [text for text in caplog.messages if topic in text]
        assert len(lines) == 1
        assert f"replication factor 1 instead of 3 ({setting})" in lines[0]
        assert running.topic(topic).partitions[0].replicas == (1,)


@served(
    offsets_topic_replication_factor="1",
    transaction_state_log_replication_factor="1",
    transaction_state_log_min_isr="1",
    share_coordinator_state_topic_replication_factor="1",
    share_coordinator_state_topic_min_isr="1",
)
async def test_and_none_where_nothing_is_clamped(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for topic in (OFFSETS, TRANSACTIONS, SHARES):
        await ask_metadata(running, topic)
        assert not [text for text in caplog.messages if topic in text]


@pytest.mark.parametrize(
    ("topic", "prefix"),
    [
        (OFFSETS, "offsets.topic"),
        (TRANSACTIONS, "transaction.state.log"),
        (SHARES, "share.coordinator.state.topic"),
    ],
)
@simulated
async def test_their_settings_follow_the_brokers(
    simulation: Simulation, topic: str, prefix: str
) -> None:
    settings = {
        f"{prefix}.num.partitions": "3",
        f"{prefix}.segment.bytes": "2097152",
        "min.insync.replicas": "2",
    }
    async with start(simulation, settings=settings) as running:
        listed = (await ask_metadata(running, topic)).topics[0]
        assert (listed.error_code, listed.is_internal, len(listed.partitions)) == (0, True, 3)
        assert configs(running, topic)["segment.bytes"] == "2097152"
        assert configs(running, topic)["min.insync.replicas"] == "1"


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
