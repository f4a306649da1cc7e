"""Codes, words and their order were asked of the real broker (Kafka 4.4.0)."""

from __future__ import annotations

import pytest

from kafkalite.controller import topics
from kafkalite.controller.events import (
    CreatedTopic,
    DeletedTopic,
    FreeName,
    NewTopic,
    RefusedTopic,
    TopicToDelete,
)
from kafkalite.controller.settings import ControllerSettings, TopicDefaults
from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.metadata_records import (
    ConfigRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from kafkalite.types import ZERO_UUID
from tests.controller.sample_cluster import Cluster, assignment, uuid

TOO_MANY_PARTITIONS = "Excessively large number of partitions per request."
TOO_MANY_RECORDS = "Unable to perform excessively large batch operation."
BAD_CONFIG = (("no.such.config", "1"),)


def refusal(topic: NewTopic, *brokers: int) -> tuple[ErrorCode, str]:
    cluster = Cluster(*(brokers or (1,)))
    cluster.create(NewTopic("good"), NewTopic("dot.ted"))
    answer = cluster.create_one(topic)
    assert isinstance(answer, RefusedTopic), answer
    assert cluster.records == ()
    return answer.code, answer.message


def test_the_records_of_a_topic_are_kafkas() -> None:
    cluster = Cluster(1)
    (answer,) = cluster.create(
        NewTopic("t", 2, 1, configs=(("retention.ms", "7"), ("a", "b"), ("retention.ms", "8"))[:1])
    )
    assert answer == CreatedTopic("t", uuid(1), 2, 1, (("retention.ms", "7"),))
    partition = PartitionRecord(
        partition_id=0,
        topic_id=uuid(1),
        replicas=[1],
        isr=[1],
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
        directories=[uuid(2001)],
    )
    second = PartitionRecord(
        partition_id=1,
        topic_id=uuid(1),
        replicas=[1],
        isr=[1],
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
        directories=[uuid(2001)],
    )
    assert cluster.records == (
        TopicRecord(name="t", topic_id=uuid(1)),
        ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="7"),
        partition,
        second,
    )
    assert list(cluster.controller.image.topics) == ["t"]


def test_defaults_stand_for_minus_one() -> None:
    cluster = Cluster(1, 2, 3, defaults=TopicDefaults(num_partitions=4, replication_factor=2))
    answer = cluster.create_one(NewTopic("t"))
    assert isinstance(answer, CreatedTopic)
    assert (answer.num_partitions, answer.replication_factor) == (4, 2)


def test_validate_only_answers_and_makes_nothing() -> None:
    cluster = Cluster(1)
    (answer, bad) = cluster.create(NewTopic("t", 3), NewTopic("."), validate_only=True)
    assert isinstance(answer, CreatedTopic)
    assert (answer.topic_id, answer.num_partitions) == (uuid(1), 3)
    assert isinstance(bad, RefusedTopic)
    assert cluster.records == ()
    assert cluster.controller.image.topics == {}


@pytest.mark.parametrize(
    ("topic", "code", "words"),
    [
        (
            NewTopic("bad/name", 0, 0, configs=BAD_CONFIG),
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            "Topic name is invalid: 'bad/name' contains one or more characters other than ASCII"
            " alphanumerics, '.', '_' and '-'",
        ),
        (
            NewTopic("good", 0, 0, configs=BAD_CONFIG),
            ErrorCode.TOPIC_ALREADY_EXISTS,
            "Topic 'good' already exists.",
        ),
        (
            NewTopic("dot_ted", 0, 0, configs=BAD_CONFIG),
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            "Topic 'dot_ted' collides with existing topic: dot.ted",
        ),
        (
            NewTopic("t", 0, 0, configs=BAD_CONFIG),
            ErrorCode.INVALID_CONFIG,
            "Unknown topic config name: no.such.config",
        ),
        (
            NewTopic("t", 0, 0),
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            NewTopic("t", 1, -2),
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            NewTopic("t", 0, 1),
            ErrorCode.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        ),
        (
            NewTopic("t", -2, 1),
            ErrorCode.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        ),
        (
            NewTopic("t", 1, 3),
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot"
            " be reached because only 1 broker(s) are registered or some brokers have all their log"
            " directories cordoned.",
        ),
        (NewTopic("t", 10_001, 1), ErrorCode.POLICY_VIOLATION, TOO_MANY_PARTITIONS),
        (NewTopic("t", 1_000_000, 1), ErrorCode.POLICY_VIOLATION, TOO_MANY_PARTITIONS),
        (NewTopic("t", 10_000, 1), ErrorCode.POLICY_VIOLATION, TOO_MANY_RECORDS),
    ],
)
def test_the_first_thing_wrong(topic: NewTopic, code: ErrorCode, words: str) -> None:
    assert refusal(topic) == (code, words)


def test_topics_of_one_request_are_placed_each_for_itself() -> None:
    """Else the first partitions of all of them would be led by one broker."""
    cluster = Cluster(1, 2, 3)
    together = [NewTopic(name, 1, 1) for name in "abcdefgh"]
    cluster.create(*together, seed=7)
    topics = cluster.controller.image.topics
    alone = []
    for index, topic in enumerate(together):
        other = Cluster(1, 2, 3)
        other.create(topic, seed=7 + index)
        alone.append(other.controller.image.topics[topic.name].partitions[0].leader)
    assert [topics[topic.name].partitions[0].leader for topic in together] == alone
    assert set(alone) == {1, 2, 3}


def test_as_many_records_as_a_request_may_make() -> None:
    cluster = Cluster(1)
    answer = cluster.create_one(NewTopic("t", 9_999, 1))
    assert isinstance(answer, CreatedTopic)
    assert len(cluster.records) == 10_000


def test_a_request_that_is_too_large_is_refused_as_a_whole() -> None:
    cluster = Cluster(1)
    asked = (NewTopic("a", 9_999), NewTopic("bad/name"), NewTopic("b", -5))
    answers = cluster.create(*asked, NewTopic("c", 2))
    assert [a.message for a in answers if isinstance(a, RefusedTopic)] == [TOO_MANY_PARTITIONS] * 4
    answers = cluster.create(NewTopic("a", 9_999), NewTopic("b", 1))
    assert [a.message for a in answers if isinstance(a, RefusedTopic)] == [TOO_MANY_RECORDS] * 2
    assert cluster.controller.image.topics == {}


def test_the_work_ends_with_the_first_record_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    monkeypatch.setattr(topics, "validate_topic_name", checked.append)
    monkeypatch.setattr(topics, "MAX_RECORDS_PER_REQUEST", 4)
    answers = Cluster(1).create(*(NewTopic(name, 1) for name in "abcdef"))
    assert {a.message for a in answers if isinstance(a, RefusedTopic)} == {TOO_MANY_RECORDS}
    assert len(answers) == 6
    assert checked == ["a", "b", "c"]


def test_names_given_twice_come_last_and_once() -> None:
    cluster = Cluster(1)
    answers = cluster.create(
        NewTopic("dup"),
        NewTopic("__cluster_metadata"),
        NewTopic("a"),
        NewTopic("dup"),
        NewTopic("b", 0),
    )
    assert [(a.name, getattr(a, "message", None)) for a in answers] == [
        ("a", None),
        ("b", "Number of partitions was set to an invalid non-positive value."),
        ("dup", "Duplicate topic name."),
        ("__cluster_metadata", "Creation of internal topic __cluster_metadata is prohibited."),
    ]
    assert list(cluster.controller.image.topics) == ["a"]


def test_topics_of_one_request_may_collide() -> None:
    """Kafka compares with those that exist."""
    cluster = Cluster(1)
    answers = cluster.create(NewTopic("a.b"), NewTopic("a_b"))
    assert all(isinstance(answer, CreatedTopic) for answer in answers)


@pytest.mark.parametrize(("count", "factor"), [(-1, 1), (2, 1)])
def test_an_assignment_leaves_no_room_for_a_factor(count: int, factor: int) -> None:
    topic = assigned((0, 1))._replace(num_partitions=count, replication_factor=factor)
    assert refusal(topic) == (
        ErrorCode.INVALID_REQUEST,
        "A manual partition assignment was specified, but replication factor was not set to -1.",
    )


def test_an_assignment_leaves_no_room_for_a_count() -> None:
    assert refusal(assigned((0, 1))._replace(num_partitions=2)) == (
        ErrorCode.INVALID_REQUEST,
        "A manual partition assignment was specified, but numPartitions was not set to -1.",
    )


def test_an_assignment_is_followed_and_counts_as_partitions() -> None:
    cluster = Cluster(1, 2)
    answer = cluster.create_one(assigned((1, 2, 1), (0, 1, 2)))
    assert isinstance(answer, CreatedTopic)
    assert (answer.num_partitions, answer.replication_factor) == (2, 2)
    partitions = cluster.controller.image.topics["t"].partitions
    assert [p.replicas for p in partitions] == [(1, 2), (2, 1)]
    too_many = assigned(*((i, 1) for i in range(10_001)))
    assert refusal(too_many) == (ErrorCode.POLICY_VIOLATION, TOO_MANY_PARTITIONS)


def assigned(*partitions: tuple[int, ...]) -> NewTopic:
    return NewTopic("t", assignments=tuple(assignment(*p) for p in partitions))


# Deletion.


def named(name: str) -> TopicToDelete:
    return TopicToDelete(name=name)


def by_id(number: int) -> TopicToDelete:
    return TopicToDelete(id=uuid(number))


def test_topics_go_by_name_and_by_id() -> None:
    cluster = Cluster(1)
    cluster.create(NewTopic("a"), NewTopic("b"), NewTopic("c"))
    answer = cluster.delete(named("b"), named("absent"), by_id(1), by_id(99))
    assert answer.topics == (
        DeletedTopic("b", uuid(2)),
        DeletedTopic(
            "absent",
            ZERO_UUID,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            "This server does not host this topic-partition.",
        ),
        DeletedTopic("a", uuid(1)),
        DeletedTopic(
            None, uuid(99), ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID."
        ),
    )
    assert cluster.records == (
        RemoveTopicRecord(topic_id=uuid(2)),
        RemoveTopicRecord(topic_id=uuid(1)),
    )
    assert list(cluster.controller.image.topics) == ["c"]
    assert isinstance(cluster.create_one(NewTopic("a")), CreatedTopic)
    assert cluster.controller.image.topics["a"].id == uuid(4)


@pytest.mark.parametrize(
    ("asked", "name", "id", "words"),
    [
        (
            (TopicToDelete("a", uuid(1)),),
            "a",
            1,
            "You may not specify both topic name and topic id.",
        ),
        ((TopicToDelete(),), None, 0, "Neither topic name nor id were specified."),
        ((named("a"), named("a")), "a", 0, "Duplicate topic name."),
        ((by_id(1), by_id(1)), None, 1, "Duplicate topic id."),
        (
            (named("a"), by_id(1)),
            "a",
            1,
            "The provided topic name maps to an ID that was already supplied.",
        ),
    ],
)
def test_ambiguous_deletions_are_refused_once(
    asked: tuple[TopicToDelete, ...], name: str | None, id: int, words: str
) -> None:
    cluster = Cluster(1)
    cluster.create(NewTopic("a"))
    answer = cluster.delete(*asked)
    assert answer.topics == (DeletedTopic(name, uuid(id), ErrorCode.INVALID_REQUEST, words),)
    assert cluster.records == ()


def test_nothing_asked_nothing_answered() -> None:
    cluster = Cluster(1)
    assert cluster.delete().topics == ()
    assert cluster.create() == ()


def test_too_many_partitions_are_refused_before_any_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def look(*_: object) -> None:
        raise AssertionError("that takes a second for 50,000 topics")

    cluster = Cluster(1)
    monkeypatch.setattr(topics, "_create", look)
    answers = cluster.create(*(NewTopic(f"t-{n}") for n in range(10_002)), NewTopic("t-0"))
    assert len(answers) == 10_002
    assert (answers[0].name, answers[-1].name) == ("t-1", "t-0")


def test_one_request_deletes_so_many_topics_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka deletes 10,000 of 10,001."""
    monkeypatch.setattr(topics, "MAX_RECORDS_PER_REQUEST", 2)
    cluster = Cluster(1)
    cluster.create(NewTopic("a"))
    cluster.create(NewTopic("b"))
    cluster.create(NewTopic("c"))
    answer = cluster.delete(*(TopicToDelete(name) for name in ("a", "absent", "b", "c")))
    told = [each[:1] + each[2:] for each in answer.topics if each.message is None]
    assert told == [
        ("a", ErrorCode.NONE, None),
        ("b", ErrorCode.NONE, None),
        ("c", ErrorCode.UNKNOWN_SERVER_ERROR, None),
    ]
    assert list(cluster.controller.image.topics) == ["c"]


def test_a_name_is_taken_until_nothing_is_left_of_a_deleted_topic() -> None:
    """As over ZooKeeper; the words are Kafka 3.9's (`AdminZkClient.validateTopicCreate`)."""
    cluster = Cluster(1, settings=ControllerSettings(over_zookeeper=True))
    cluster.create(NewTopic("t"))
    assert cluster.delete(TopicToDelete("t")).topics[0].code is ErrorCode.NONE
    assert cluster.create_one(NewTopic("t")) == RefusedTopic(
        "t", ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 't' is marked for deletion."
    )
    missing = cluster.delete(TopicToDelete("t")).topics[0].code
    assert missing is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert cluster.feed(FreeName("t")) is None
    assert cluster.records == ()
    assert isinstance(cluster.create_one(NewTopic("t")), CreatedTopic)
