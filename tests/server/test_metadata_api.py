"""Metadata at the versions where its behaviour changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.metadata.availability import Availability
from kafkalite.metadata.image import TopicImage
from kafkalite.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from kafkalite.server import described_topics, topic_creation, turns
from kafkalite.server.apis import metadata
from kafkalite.server.operations import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS
from kafkalite.types import ZERO_UUID, Uuid
from tests.server.others_turns import order_of, pieces_in_a_row
from tests.server.running import Running, served

LOWEST, HIGHEST = 0, 13


async def ask(running: Running, version: int, request: MetadataRequest) -> MetadataResponse:
    return await (await running.client()).ask(request, version, MetadataResponse)


def by_name(*names: str, allow_creation: bool = True) -> MetadataRequest:
    topics = [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=allow_creation)


def by_id(*ids: Uuid) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(topic_id=id, name=None) for id in ids])


def names(response: MetadataResponse) -> list[str | None]:
    return [topic.name for topic in response.topics]


def codes(response: MetadataResponse) -> list[int]:
    return [topic.error_code for topic in response.topics]


async def one(running: Running, version: int, request: MetadataRequest) -> MetadataResponseTopic:
    (topic,) = (await ask(running, version, request)).topics
    return topic


@served()
async def test_brokers_cluster_and_controller_are_told(running: Running) -> None:
    for version in (LOWEST, 1, 2, HIGHEST):
        response = await ask(running, version, MetadataRequest(topics=[]))
        (broker,) = response.brokers
        assert (broker.node_id, broker.host, broker.port) == (1, "broker", 9092)
        assert response.controller_id == (1 if version >= 1 else -1)
        assert response.cluster_id == (running.broker.cluster_id if version >= 2 else None)


@pytest.mark.parametrize(
    ("version", "topics", "expected"),
    [
        (0, [], ["a", "b"]),
        (1, None, ["a", "b"]),
        (1, [], []),
        (HIGHEST, None, ["a", "b"]),
        (HIGHEST, [], []),
    ],
)
@served()
async def test_all_topics_or_none(
    running: Running,
    version: int,
    topics: list[MetadataRequestTopic] | None,
    expected: Sequence[str],
) -> None:
    await running.create("a")
    await running.create("b")
    response = await ask(running, version, MetadataRequest(topics=topics))
    assert sorted(name or "" for name in names(response)) == list(expected)


SOME_ID = Uuid(b"\x01" * 16)


@pytest.mark.parametrize(
    ("version", "topic", "code"),
    [
        (10, MetadataRequestTopic(name=None), ErrorCode.INVALID_REQUEST),
        (11, MetadataRequestTopic(name=None, topic_id=SOME_ID), ErrorCode.INVALID_REQUEST),
        (10, MetadataRequestTopic(name="t", topic_id=SOME_ID), ErrorCode.INVALID_REQUEST),
        (12, MetadataRequestTopic(name=None), ErrorCode.UNKNOWN_SERVER_ERROR),
        (13, MetadataRequestTopic(name=None), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
@served()
async def test_what_a_version_cannot_ask_for_refuses_the_request(
    running: Running, version: int, topic: MetadataRequestTopic, code: ErrorCode
) -> None:
    """As Kafka answers; an answer before version 12 has no null for a name."""
    request = MetadataRequest(topics=[topic, MetadataRequestTopic(name="other")])
    response = await ask(running, version, request)
    assert codes(response) == [code, code]
    assert names(response) == [topic.name or "", "other"]
    assert response.error_code == (code if version >= 13 else ErrorCode.NONE)
    assert "other" not in running.broker.image.topics


@pytest.mark.parametrize("version", [LOWEST, 4, 5, 7, 9, 10, 12, HIGHEST])
@served()
async def test_a_topic_by_name_with_its_partitions(running: Running, version: int) -> None:
    image = await running.create("t", 2)
    topic = await one(running, version, by_name("t"))
    assert (topic.name, topic.error_code, topic.is_internal) == ("t", 0, False)
    assert topic.topic_id == (image.id if version >= 10 else ZERO_UUID)
    assert [partition.partition_index for partition in topic.partitions] == [0, 1]
    for partition in topic.partitions:
        assert (partition.error_code, partition.leader_id) == (0, 1)
        assert (partition.replica_nodes, partition.isr_nodes) == ([1], [1])
        assert partition.leader_epoch == (0 if version >= 7 else -1)


@served(offsets_topic_num_partitions="1", transaction_state_log_num_partitions="1")
async def test_the_clusters_own_topics_are_told_apart_and_not_made_as_a_clients(
    running: Running,
) -> None:
    await running.create("__share_group_state")
    asked = by_name("__consumer_offsets", "__transaction_state", "__share_group_state", "t")
    asked.allow_auto_topic_creation = False
    absent = (await ask(running, HIGHEST, asked)).topics
    assert [(topic.error_code, topic.is_internal) for topic in absent] == [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True),
        (ErrorCode.NONE, True),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, False),
    ]
    asked.allow_auto_topic_creation = True
    topics = (await ask(running, HIGHEST, asked)).topics
    assert [(topic.name, topic.error_code, topic.is_internal) for topic in topics] == [
        ("__consumer_offsets", ErrorCode.NONE, True),
        ("__transaction_state", ErrorCode.NONE, True),
        ("__share_group_state", ErrorCode.NONE, True),
        ("t", ErrorCode.NONE, False),
    ]
    settings = running.broker.image.topic_config("__consumer_offsets")
    assert settings["cleanup.policy"] == "compact", "made by its own rules"


@pytest.mark.parametrize("version", [12, HIGHEST])
@served()
async def test_topics_by_id_are_never_created(running: Running, version: int) -> None:
    image = await running.create("t")
    unknown = Uuid(bytes(15) + b"\x63")
    response = await ask(running, version, by_id(image.id, unknown))
    assert names(response) == ["t", None]
    assert codes(response) == [0, ErrorCode.UNKNOWN_TOPIC_ID]
    assert [topic.topic_id for topic in response.topics] == [image.id, unknown]
    assert list(running.broker.image.topics) == ["t"]


@pytest.mark.parametrize("version", [LOWEST, 3, 4, HIGHEST])
@served(num_partitions="3")
async def test_a_missing_topic_is_created_and_told_in_the_same_answer(
    running: Running, version: int
) -> None:
    topic = await one(running, version, by_name("new"))
    assert (topic.error_code, len(topic.partitions)) == (0, 3)
    assert [partition.leader_id for partition in topic.partitions] == [1, 1, 1]
    assert await running.produce("new", b"x", partition=2) == 0


@served()
async def test_one_request_creates_several_and_answers_what_it_asks_twice_once(
    running: Running,
) -> None:
    await running.create("old")
    response = await ask(running, 9, by_name("one", "old", "two", "one", "old"))
    assert names(response) == ["one", "old", "two"]
    assert codes(response) == [0, 0, 0]
    assert sorted(running.broker.image.topics) == ["old", "one", "two"]


@pytest.mark.parametrize("version", [4, HIGHEST])
@served()
async def test_the_request_may_refuse_creation(running: Running, version: int) -> None:
    topic = await one(running, version, by_name("new", allow_creation=False))
    assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert topic.partitions == []
    assert running.broker.image.topics == {}


@pytest.mark.parametrize("version", [LOWEST, HIGHEST])
@served(auto_create_topics_enable="false")
async def test_the_broker_may_refuse_creation(running: Running, version: int) -> None:
    topic = await one(running, version, by_name("new"))
    assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert running.broker.image.topics == {}


@pytest.mark.parametrize("name", ["bad name!", "", ".", "..", "x" * 250, "a/b"])
@served()
async def test_a_name_that_no_topic_may_have_is_refused_beside_one_that_is_created(
    running: Running, name: str
) -> None:
    response = await ask(running, 12, by_name(name, "good"))
    assert codes(response) == [ErrorCode.INVALID_TOPIC_EXCEPTION, 0]
    assert names(response) == [name, "good"]


@pytest.mark.parametrize("version", [8, 10, 11, HIGHEST])
@served()
async def test_operations_are_told_to_those_who_ask(running: Running, version: int) -> None:
    await running.create("t")
    silent = await ask(running, version, by_name("t"))
    assert silent.topics[0].topic_authorized_operations == NOT_ASKED
    assert silent.cluster_authorized_operations == NOT_ASKED
    request = by_name("t")
    request.include_topic_authorized_operations = True
    request.include_cluster_authorized_operations = version <= 10
    told = await ask(running, version, request)
    assert told.topics[0].topic_authorized_operations == TOPIC_OPERATIONS
    if version <= 10:
        assert told.cluster_authorized_operations == CLUSTER_OPERATIONS


@served()
async def test_more_than_are_created_at_once_are_not_begun_with(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "MAX_PARTITIONS_PER_REQUEST", 2)
    monkeypatch.setattr(topic_creation, "auto_create", None)
    answer = await ask(running, 9, by_name("a", "b", "c"))
    assert codes(answer) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 3


@served()
async def test_a_creation_that_takes_too_long_is_answered_without_the_topic(
    running: Running,
) -> None:
    """As if the store took its time: the controller's answer never comes."""
    client, other = await running.client(), await running.connect("other")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(topic_creation, "auto_create", lambda services, names, on_created: None)
        answer = client.send(by_name("slow"), 9, MetadataResponse)
        bad = other.send(by_name("bad/name"), 9, MetadataResponse)
        await running.wait_ms(29_999)
        assert not answer.done()
        assert bad.done(), "what cannot be created is not waited for"
        await running.wait_ms(2)
    assert codes(answer.result()) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


@served()
async def test_what_takes_too_long_to_create_is_told_beside_many_in_several_turns(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [f"t-{number}" for number in range(9)]
    for name in wanted:
        await running.create(name, 20)
    order: list[str] = []
    take, describe = turns.Turns.take, described_topics._topic

    def turn(self: turns.Turns) -> bool:
        order.append("turn")
        return take(self)

    def piece(seen: Availability, operations: int, topic: TopicImage) -> MetadataResponseTopic:
        order.append("piece")
        return describe(seen, operations, topic)

    monkeypatch.setattr(turns.Turns, "take", turn)
    monkeypatch.setattr(described_topics, "_topic", piece)
    monkeypatch.setattr(turns, "TURN_COST", 100)
    monkeypatch.setattr(topic_creation, "auto_create", lambda services, names, on_created: None)
    client = await running.client()
    answer = client.send(by_name("slow", *wanted), 9, MetadataResponse)
    await running.wait_ms(29_999)
    assert order == []
    await running.wait_ms(20)
    assert codes(answer.result()) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] + [0] * 9
    assert order.count("piece") == 9
    assert pieces_in_a_row(order) <= 2


@served()
async def test_topics_that_are_there_after_the_answer_are_told_once(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The controller's answer may come as late as it likes."""
    late: list[Callable[[object], None]] = []
    monkeypatch.setattr(
        topic_creation, "auto_create", lambda services, names, on_created: late.append(on_created)
    )
    client = await running.client()
    answer = client.send(by_name("slow"), 9, MetadataResponse)
    await running.wait_ms(30_001)
    assert len(answer.result().topics) == 1
    (created,) = late
    created(None)
    assert len((await client.ask(MetadataRequest(topics=[]), 9, MetadataResponse)).topics) == 0


@pytest.mark.parametrize("how", ["all", "named", "created"])
@served(num_partitions="20")
async def test_many_topics_are_told_in_several_turns_and_others_have_theirs(
    running: Running, how: str
) -> None:
    wanted = [f"t-{number}" for number in range(9)]
    for name in wanted if how != "created" else ():
        await running.create(name, 20)
    many = await running.connect("many")
    request = MetadataRequest(topics=None) if how == "all" else by_name(*wanted)
    with order_of(described_topics, "_topic", turn_cost=100) as order:
        answer = await many.ask(request, 9, MetadataResponse)
    assert order.count("piece") == 9
    assert pieces_in_a_row(order) <= 2
    assert sorted(filter(None, names(answer))) == wanted
    assert {len(topic.partitions) for topic in answer.topics} == {20}
