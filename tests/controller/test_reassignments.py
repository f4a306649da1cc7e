from __future__ import annotations

import pytest

from kafkalite.controller.events import NewTopic
from kafkalite.controller.replica_events import (
    AlterPartitions,
    AlterReassignments,
    ListReassignments,
    OngoingReassignment,
    OngoingReassignmentsOf,
    PartitionAnswer,
    PartitionsOf,
    ProposedIsr,
    Reassignment,
    ReassignmentsAltered,
    ReassignmentsListed,
    ReassignmentsOf,
)
from kafkalite.controller.settings import TopicDefaults
from kafkalite.controller.term_events import LoseBroker, RegisterBroker
from kafkalite.errors import ErrorCode
from kafkalite.metadata.image import PartitionImage
from kafkalite.protocol.messages.metadata_records import ConfigRecord
from kafkalite.types import NO_LEADER, BrokerEpoch, BrokerId, IsrMember
from tests.controller.sample_cluster import Cluster, assignment, broker_registration, uuid
from tests.controller.sample_partitions import change, ids

INVALID = ErrorCode.INVALID_REPLICA_ASSIGNMENT


def cluster() -> Cluster:
    """Of four; `t-0` is on 1 and 2."""
    made = Cluster(1, 2, 3, 4)
    made.create(NewTopic("t", assignments=(assignment(0, 1, 2),)))
    return made


def move(
    on: Cluster,
    *replicas: int,
    cancel: bool = False,
    partition: int = 0,
    topic: str = "t",
    allow_factor_change: bool = True,
) -> PartitionAnswer:
    wanted = Reassignment(partition, None if cancel else ids(*replicas))
    answer = on.feed(
        AlterReassignments("token", (ReassignmentsOf(topic, (wanted,)),), allow_factor_change)
    )
    assert isinstance(answer, ReassignmentsAltered)
    (of_topic,) = answer.topics
    assert of_topic.topic == topic
    (of_partition,) = of_topic.partitions
    return of_partition


def propose(on: Cluster, *isr: int) -> None:
    """By the leader."""
    before = first(on)
    members = tuple(IsrMember(id) for id in ids(*isr))
    on.feed(
        AlterPartitions(
            "token",
            before.leader,
            BrokerEpoch(before.leader),
            (ProposedIsr(uuid(1), 0, before.leader_epoch, before.partition_epoch, members),),
        )
    )


def first(on: Cluster) -> PartitionImage:
    return on.controller.image.topics["t"].partitions[0]


def shape(on: Cluster) -> tuple[tuple[int, ...], ...]:
    """Replicas, in sync, adding, removing."""
    partition = first(on)
    return (
        partition.replicas,
        partition.isr,
        partition.adding_replicas,
        partition.removing_replicas,
    )


def listed(on: Cluster, *topics: PartitionsOf) -> tuple[OngoingReassignmentsOf, ...]:
    answer = on.feed(ListReassignments("token", topics or None))
    assert isinstance(answer, ReassignmentsListed)
    return answer.topics


def test_replicas_move() -> None:
    on = cluster()
    assert move(on, 3, 4) == PartitionAnswer(0)
    assert shape(on) == ((3, 4, 1, 2), (1, 2), (3, 4), (1, 2))
    assert (first(on).leader, first(on).leader_epoch) == (1, 0)
    assert first(on).directories == (uuid(2003), uuid(2004), uuid(2001), uuid(2002))
    propose(on, 1, 2, 3)
    assert shape(on) == ((3, 4, 1, 2), (1, 2, 3), (3, 4), (1, 2))
    propose(on, 1, 2, 3, 4)
    assert shape(on) == ((3, 4), (3, 4), (), ())
    assert (first(on).leader, first(on).leader_epoch) == (3, 1)
    assert first(on).directories == (uuid(2003), uuid(2004))


def test_the_same_replicas_change_nothing() -> None:
    on = cluster()
    assert move(on, 1, 2) == PartitionAnswer(0)
    assert on.records == ()


def test_another_order_is_another_preferred_leader() -> None:
    on = cluster()
    move(on, 2, 1)
    assert shape(on) == ((2, 1), (1, 2), (), ())
    assert (first(on).leader, first(on).leader_epoch) == (1, 0)
    assert first(on).directories == (uuid(2002), uuid(2001))


def test_fewer_replicas_are_there_at_once() -> None:
    on = cluster()
    move(on, 2)
    assert shape(on) == ((2,), (2,), (), ())
    assert (first(on).leader, first(on).leader_epoch) == (2, 1)


def test_what_is_under_way_is_listed() -> None:
    on = cluster()
    on.create(NewTopic("u"))
    assert listed(on) == ()
    move(on, 1, 3)
    expected = OngoingReassignmentsOf("t", (OngoingReassignment(0, ids(1, 3, 2), ids(3), ids(2)),))
    assert listed(on) == (expected,)
    assert listed(on, PartitionsOf("none", (0,)), PartitionsOf("t", (9, 0))) == (expected,)
    assert listed(on, PartitionsOf("t", (9, -1)), PartitionsOf("u", (0,))) == ()
    assert on.records == ()


def test_a_reassignment_is_cancelled() -> None:
    on = cluster()
    move(on, 3, 1)
    propose(on, 1, 2)
    assert move(on, cancel=True) == PartitionAnswer(0)
    assert shape(on) == ((1, 2), (1, 2), (), ())
    assert first(on).leader_epoch == 1, "3 is to fetch no more"
    assert move(on, cancel=True) == PartitionAnswer(0, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)


def test_another_reassignment_takes_the_place_of_the_first() -> None:
    on = cluster()
    move(on, 3, 1)
    move(on, 4, 1)
    assert shape(on) == ((4, 1, 2, 3), (1, 2), (4,), (2, 3))


def test_what_the_second_says_nothing_of_goes_on() -> None:
    on = cluster()
    move(on, 3, 1)
    move(on, 3, 1, 2)
    assert shape(on) == ((3, 1, 2), (1, 2), (3,), (2,))
    assert on.records == ()


def with_only_new_replicas_in_sync(*, unclean: bool) -> Cluster:
    on = cluster()
    move(on, 3, 4)
    propose(on, 1, 3)
    on.feed(LoseBroker(BrokerId(1), BrokerEpoch(1)))
    assert shape(on) == ((3, 4, 1, 2), (3,), (3, 4), (1, 2))
    if unclean:
        name = "unclean.leader.election.enable"
        on.controller.apply(
            ConfigRecord(resource_type=2, resource_name="t", name=name, value="true")
        )
    return on


def test_no_way_back_when_only_new_replicas_are_in_sync() -> None:
    on = with_only_new_replicas_in_sync(unclean=False)
    assert move(on, cancel=True) == PartitionAnswer(
        0,
        INVALID,
        "Unable to revert partition assignment for t:0 because it would require an unclean leader"
        " election.",
    )


def test_but_by_an_unclean_election() -> None:
    on = with_only_new_replicas_in_sync(unclean=True)
    assert move(on, cancel=True) == PartitionAnswer(0)
    assert first(on).replicas == (1, 2)
    assert (first(on).leader, first(on).isr) == (2, (2,)), "1 is dead"


def test_no_way_back_without_any_old_replica() -> None:
    on = cluster()
    on.controller.apply(change(adding_replicas=[1, 2], removing_replicas=[]))
    assert move(on, cancel=True) == PartitionAnswer(
        0, INVALID, "Invalid replica assignment: addingReplicas contains all replicas."
    )


@pytest.mark.parametrize(
    ("replicas", "message"),
    [
        ((), "The manual partition assignment includes an empty replica list."),
        (
            (9,),
            "The manual partition assignment includes broker 9, but no such broker is registered.",
        ),
        ((1, 1), "The manual partition assignment includes the broker 1 more than once."),
    ],
)
def test_replicas_that_cannot_be(replicas: tuple[int, ...], message: str) -> None:
    on = cluster()
    assert move(on, *replicas) == PartitionAnswer(0, INVALID, message)
    assert on.records == ()


def test_what_does_not_exist() -> None:
    on, unknown = cluster(), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert move(on, 1, topic="none") == PartitionAnswer(
        0, unknown, "Unable to find a topic named none."
    )
    assert move(on, 1, partition=5) == PartitionAnswer(5, unknown, "Unable to find partition t:5.")
    assert move(on, 1, partition=-1).code is unknown


def test_the_number_of_replicas_may_have_to_stay() -> None:
    on = cluster()
    refused = move(on, 3, allow_factor_change=False)
    assert refused == PartitionAnswer(
        0,
        ErrorCode.INVALID_REPLICATION_FACTOR,
        "The replication factor is changed from 2 to 1",
    )
    assert move(on, 3, 1, allow_factor_change=False) == PartitionAnswer(0)
    assert move(on, 4, 1, allow_factor_change=False) == PartitionAnswer(0)
    assert move(on, 4, 1, 2, allow_factor_change=False).message == (
        "The replication factor is changed from 2 to 3"
    )


WITH_BROKER_3_DEAD: list[tuple[tuple[int, ...] | None, tuple[tuple[int, ...], ...], int]] = [
    ((3, 1), ((3, 1, 2), (1, 2), (3,), (2,)), 0),
    ((1, 2), ((1, 2, 3), (1, 2), (3,), (3,)), 0),
    ((3, 1, 2), ((3, 1, 2), (1, 2), (3,), (3,)), 0),
    (None, ((1, 2), (1, 2), (), ()), 1),
    ((3,), ((3, 1, 2), (1, 2), (3,), (1, 2)), 1),
    ((3, 1), ((3, 1, 2), (1, 2), (3,), (2,)), 1),
    (None, ((1, 2), (1, 2), (), ()), 2),
]
"""Where `t-0` was to go, of 1 and 2, and how it was then, with its leader epoch, in a cluster of
three real brokers. The second, back to where it was, never ends: 3 is to come and to go."""


def test_what_the_real_kafka_did_with_a_dead_broker() -> None:
    on = cluster()
    on.feed(LoseBroker(BrokerId(3), BrokerEpoch(3)))
    for to, expected, leader_epoch in WITH_BROKER_3_DEAD:
        assert move(on, *(to or ()), cancel=to is None) == PartitionAnswer(0)
        assert (shape(on), first(on).leader_epoch) == (expected, leader_epoch), to
        assert first(on).leader == 1


def test_what_is_to_come_and_to_go_does_neither_until_it_is_cancelled() -> None:
    """So it was in the real cluster when 3 was back and in sync, and when it was asked for again.
    So it was with fewer replicas than before."""
    for target in ((1, 2), (2, 1), (1,)):
        on = cluster()
        move(on, 1, 3)
        move(on, *target)
        assert shape(on)[2] == (3,)
        assert 3 in shape(on)[3]
        propose(on, 1, 2, 3)
        under_way = shape(on)
        assert under_way[1:3] == ((1, 2, 3), (3,))
        move(on, *target)
        assert shape(on) == under_way
        move(on, cancel=True)
        assert sorted(shape(on)[0]) == [1, 2]
        assert shape(on)[1:] == ((1, 2), (), ())


def test_replicas_move_away_from_a_dead_broker_that_was_the_last() -> None:
    """As in the real cluster: they cannot, and yet it is asked for without an error. Back they do
    not go either: nobody is in sync."""
    on = cluster()
    on.create(NewTopic("s", assignments=(assignment(0, 3),)))
    on.feed(LoseBroker(BrokerId(3), BrokerEpoch(3)))
    assert move(on, 1, topic="s") == PartitionAnswer(0)
    alone = on.controller.image.topics["s"].partitions[0]
    assert (alone.leader, alone.leader_epoch, alone.isr) == (-1, 1, ())
    assert (alone.replicas, alone.adding_replicas, alone.removing_replicas) == ((1, 3), (1,), (3,))
    assert move(on, topic="s", cancel=True) == PartitionAnswer(
        0,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "Unable to revert partition assignment for s:0 because it would require an unclean leader"
        " election.",
    )


def test_a_replica_that_was_taken_away_is_not_eligible_when_it_is_added_again() -> None:
    """It lacks what the one that stayed has acknowledged alone."""
    on = Cluster(1, 2, 3, 4, defaults=TopicDefaults(min_in_sync_replicas=2))
    on.create(NewTopic("t", assignments=(assignment(0, 1, 2, 3),)))
    move(on, 3)
    assert shape(on) == ((3,), (3,), (), ())
    assert first(on).eligible_leader_replicas == ()
    on.feed(LoseBroker(BrokerId(3), BrokerEpoch(3)))
    move(on, 1, 3)
    assert first(on).leader == NO_LEADER
    assert first(on).eligible_leader_replicas == ids(3)


def test_a_replica_that_was_taken_away_keeps_no_other_from_leading() -> None:
    on = Cluster(1, 2, 3, 4, defaults=TopicDefaults(min_in_sync_replicas=2))
    on.create(NewTopic("t", assignments=(assignment(0, 1, 2),)))
    move(on, 1, 4)
    on.feed(LoseBroker(BrokerId(2), BrokerEpoch(2)))
    propose(on, 1, 4)
    on.feed(LoseBroker(BrokerId(4), BrokerEpoch(4)))
    move(on, 1)
    on.feed(LoseBroker(BrokerId(1), BrokerEpoch(1)))
    on.feed(RegisterBroker(None, broker_registration(1, incarnation=1), BrokerEpoch(11)))
    assert first(on).leader == 1
