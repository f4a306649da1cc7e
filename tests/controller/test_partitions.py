from __future__ import annotations

import pytest

from kafkalite.controller.events import (
    CreatePartitions,
    NewTopic,
    PartitionsCreated,
    PartitionsToAdd,
    TopicGrown,
)
from kafkalite.errors import ErrorCode
from kafkalite.types import BrokerId
from tests.controller.sample_cluster import Cluster

TOO_MANY = "Excessively large number of additional partitions per request."


def cluster(*brokers: int) -> Cluster:
    made = Cluster(*brokers)
    made.create(NewTopic("t", 2, len(brokers)), NewTopic("u", 1, 1))
    return made


def grow(
    on: Cluster, *topics: PartitionsToAdd, validate_only: bool = False
) -> tuple[TopicGrown, ...]:
    answer = on.feed(CreatePartitions("token", topics, 0, validate_only))
    assert isinstance(answer, PartitionsCreated)
    return answer.topics


def replicas(on: Cluster, topic: str) -> list[tuple[int, ...]]:
    return [partition.replicas for partition in on.controller.image.topics[topic].partitions]


def test_new_partitions_have_as_many_replicas_as_the_first() -> None:
    grown = cluster(1, 2)
    old = replicas(grown, "t")
    assert grow(grown, PartitionsToAdd("t", 4)) == (TopicGrown("t"),)
    assert replicas(grown, "t")[:2] == old
    assert [sorted(ids) for ids in replicas(grown, "t")] == [[1, 2]] * 4


def test_assigned_partitions_are_led_by_the_first_replica_that_is_active() -> None:
    grown = cluster(1, 2)
    assigned = ((BrokerId(2), BrokerId(1)), (BrokerId(1), BrokerId(2)))
    assert grow(grown, PartitionsToAdd("t", 4, assigned)) == (TopicGrown("t"),)
    partitions = grown.controller.image.topics["t"].partitions
    assert [p.replicas for p in partitions[2:]] == list(assigned)
    assert [p.leader for p in partitions[2:]] == [2, 1]


def test_validate_only_answers_and_makes_nothing() -> None:
    grown = cluster(1)
    assert grow(grown, PartitionsToAdd("t", 4), validate_only=True) == (TopicGrown("t"),)
    assert grown.records == ()
    answers = grow(grown, PartitionsToAdd("t", 1), validate_only=True)
    assert answers[0].code is ErrorCode.INVALID_PARTITIONS


@pytest.mark.parametrize("total", [2, 1, 0, -1])
def test_a_total_that_is_no_increase(total: int) -> None:
    (answer,) = grow(cluster(1), PartitionsToAdd("t", total))
    assert answer.code is ErrorCode.INVALID_PARTITIONS


def test_each_topic_stands_alone_and_names_given_twice_come_last() -> None:
    grown = cluster(1)
    answers = grow(
        grown,
        PartitionsToAdd("u", 2),
        PartitionsToAdd("absent", 2),
        PartitionsToAdd("u", 3),
        PartitionsToAdd("t", 3),
    )
    assert answers == (
        TopicGrown("absent", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        TopicGrown("t"),
        TopicGrown("u", ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
    )
    assert len(replicas(grown, "t")) == 3
    assert len(replicas(grown, "u")) == 1


def test_a_request_that_adds_too_many_is_refused_as_a_whole() -> None:
    grown = cluster(1)
    answers = grow(grown, PartitionsToAdd("t", 9_000), PartitionsToAdd("u", 1_100))
    assert answers == (
        TopicGrown("t", ErrorCode.POLICY_VIOLATION, TOO_MANY),
        TopicGrown("u", ErrorCode.POLICY_VIOLATION, TOO_MANY),
    )
    assert grown.records == ()


def test_totals_that_are_no_increase_and_unknown_topics_do_not_count() -> None:
    answers = grow(
        cluster(1), PartitionsToAdd("t", 10_002), PartitionsToAdd("u", -5), validate_only=True
    )
    assert [answer.code for answer in answers] == [ErrorCode.NONE, ErrorCode.INVALID_PARTITIONS]
    (answer,) = grow(cluster(1), PartitionsToAdd("absent", 20_000))
    assert answer.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("assigned", "words"),
    [
        (((1,),), "Attempted to add 2 additional partition(s), but only 1 assignment(s) were"),
        (((1,), ()), "The manual partition assignment includes an empty replica list."),
        (((1,), (1, 1)), "The manual partition assignment includes the broker 1 more than once."),
        (((1,), (9,)), "The manual partition assignment includes broker 9, but no such broker is"),
    ],
)
def test_assignments_that_cannot_be(assigned: tuple[tuple[int, ...], ...], words: str) -> None:
    wanted = tuple(tuple(BrokerId(id) for id in ids) for ids in assigned)
    (answer,) = grow(cluster(1), PartitionsToAdd("t", 4, wanted))
    assert answer.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert answer.message is not None
    assert answer.message.startswith(words)
