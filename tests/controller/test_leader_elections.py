from __future__ import annotations

import pytest

from kafkalite.controller.events import NewTopic
from kafkalite.controller.leader_elections import balance_leaders, elect_unclean_leaders
from kafkalite.controller.leader_timers import MAX_ELECTIONS_AT_ONCE
from kafkalite.controller.replica_events import (
    ElectionType,
    ElectLeaders,
    LeadersElected,
    PartitionAnswer,
    PartitionsOf,
    TopicAnswer,
)
from kafkalite.controller.settings import ControllerSettings
from kafkalite.controller.term_events import (
    BalanceLeaders,
    ElectUncleanLeaders,
    LoseBroker,
    RegisterBroker,
)
from kafkalite.core import SetTimer
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import MetadataImage, PartitionImage, TopicImage
from kafkalite.protocol.messages.metadata_records import ConfigRecord
from kafkalite.types import BrokerEpoch, BrokerId, TimestampMs
from tests.controller.sample_cluster import NOW, Cluster, assignment, broker_registration, uuid
from tests.controller.sample_partitions import change, partition

PREFERRED, UNCLEAN = ElectionType
NOT_NEEDED = PartitionAnswer(
    0, ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
)


def cluster() -> Cluster:
    """Of two; `t-0` is on both, 1 is preferred."""
    made = Cluster(1, 2)
    made.create(NewTopic("t", assignments=(assignment(0, 1, 2),)))
    return made


def lose(on: Cluster, id: int) -> None:
    on.feed(LoseBroker(BrokerId(id), on.controller.image.brokers[BrokerId(id)].epoch))


def bring_back(on: Cluster, id: int) -> None:
    epoch = BrokerEpoch(on.controller.image.brokers[BrokerId(id)].epoch + 10)
    on.feed(RegisterBroker(None, broker_registration(id, incarnation=epoch), epoch))


def elect(
    on: Cluster, type: int, *partitions: int, topic: str = "t"
) -> tuple[PartitionAnswer, ...]:
    answer = on.feed(ElectLeaders("token", type, (PartitionsOf(topic, partitions),)))
    assert isinstance(answer, LeadersElected)
    (of_topic,) = answer.topics
    assert of_topic.topic == topic
    return of_topic.partitions


def first(on: Cluster) -> PartitionImage:
    return on.controller.image.topics["t"].partitions[0]


def with_leader_2_and_both_in_sync() -> Cluster:
    on = cluster()
    lose(on, 1)
    bring_back(on, 1)
    on.controller.apply(change(isr=[2, 1]))
    return on


def test_the_preferred_leader_leads_again() -> None:
    on = with_leader_2_and_both_in_sync()
    assert first(on).leader == 2
    assert elect(on, PREFERRED, 0) == (PartitionAnswer(0),)
    assert (first(on).leader, first(on).isr) == (1, (2, 1))
    assert elect(on, PREFERRED, 0) == (NOT_NEEDED,)
    assert elect(on, UNCLEAN, 0) == (NOT_NEEDED,)
    assert on.records == ()


def test_a_preferred_leader_that_is_not_in_sync_cannot_lead() -> None:
    on = cluster()
    lose(on, 1)
    bring_back(on, 1)
    assert elect(on, PREFERRED, 0) == (
        PartitionAnswer(
            0,
            ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
            "The preferred leader was not available.",
        ),
    )
    assert first(on).leader == 2


def test_an_unclean_leader_where_there_is_none() -> None:
    on = cluster()
    lose(on, 1)
    lose(on, 2)
    assert elect(on, UNCLEAN, 0) == (
        PartitionAnswer(
            0,
            ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
            "Eligible topic partition leaders are not available.",
        ),
    )
    bring_back(on, 1)
    assert first(on).leader == -1, "it was not in sync"
    assert elect(on, UNCLEAN, 0) == (PartitionAnswer(0),)
    assert (first(on).leader, first(on).isr, first(on).leader_recovery_state) == (1, (1,), 1)


def test_what_does_not_exist() -> None:
    on = cluster()
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert elect(on, PREFERRED, 7, -1) == (
        PartitionAnswer(7, unknown, "No such partition as t-7"),
        PartitionAnswer(-1, unknown, "No such partition as t--1"),
    )
    assert elect(on, PREFERRED, 0, topic="none") == (
        PartitionAnswer(0, unknown, "No such topic as none"),
    )
    with pytest.raises(KafkaError, match="Unknown election type 7") as refused:
        elect(on, 7, 0)
    assert refused.value.code is ErrorCode.INVALID_REQUEST


def test_all_partitions_tell_of_those_that_needed_it() -> None:
    on = with_leader_2_and_both_in_sync()
    on.create(NewTopic("u"))
    answer = on.feed(ElectLeaders("token", PREFERRED, None))
    assert answer == LeadersElected((TopicAnswer("t", (PartitionAnswer(0),)), TopicAnswer("u", ())))
    again = on.feed(ElectLeaders("token", PREFERRED, None))
    assert again == LeadersElected((TopicAnswer("t", ()), TopicAnswer("u", ())))


def test_leaders_are_balanced_by_time() -> None:
    on = with_leader_2_and_both_in_sync()
    outcome = on.controller.decide(BalanceLeaders(), NOW)
    assert outcome.records == (change(leader=1),)
    assert outcome.timers == (
        SetTimer("BalanceLeaders", TimestampMs(NOW + 300_000), BalanceLeaders()),
    )
    on.feed(BalanceLeaders())
    on.feed(BalanceLeaders())
    assert on.records == ()


def test_what_cannot_be_balanced_stays() -> None:
    on = cluster()
    lose(on, 1)
    on.feed(BalanceLeaders())
    assert on.records == ()


def allow_unclean(on: Cluster) -> None:
    on.controller.apply(
        ConfigRecord(
            resource_type=2,
            resource_name="t",
            name="unclean.leader.election.enable",
            value="true",
        )
    )


def test_unclean_leaders_are_elected_by_time_where_they_are_allowed() -> None:
    on = cluster()
    lose(on, 1)
    lose(on, 2)
    bring_back(on, 1)
    on.feed(ElectUncleanLeaders())
    assert on.records == ()
    allow_unclean(on)
    outcome = on.controller.decide(ElectUncleanLeaders(), NOW)
    unclean = change(
        leader=1,
        isr=[1],
        leader_recovery_state=1,
        eligible_leader_replicas=[],
        last_known_elr=[],
    )
    assert outcome.records == (unclean,)
    assert outcome.timers == (
        SetTimer("ElectUncleanLeaders", TimestampMs(NOW + 300_000), ElectUncleanLeaders()),
    )


def test_where_nobody_is_left_nobody_is_elected() -> None:
    on = cluster()
    allow_unclean(on)
    lose(on, 1)
    lose(on, 2)
    on.feed(ElectUncleanLeaders())
    assert on.records == ()


def image_of_many(each: PartitionImage) -> MetadataImage:
    brokers = Cluster(1, 2).controller.image.brokers
    topic = TopicImage("t", uuid(1), (each,) * (MAX_ELECTIONS_AT_ONCE + 1))
    return MetadataImage(topics={"t": topic}, brokers=brokers)


def test_there_are_not_too_many_elections_at_once() -> None:
    settings = ControllerSettings(unclean_leader_election_enable=True)
    moved = balance_leaders(image_of_many(partition((1, 2), (1, 2), 2)), settings)
    assert len(moved) == MAX_ELECTIONS_AT_ONCE
    unclean = elect_unclean_leaders(image_of_many(partition((1, 2), (3,), -1)), settings)
    assert len(unclean) == MAX_ELECTIONS_AT_ONCE


@pytest.mark.parametrize(
    ("led_elsewhere", "percentage", "moves"),
    [(2, 10, 0), (3, 10, 3), (5, 25, 0), (6, 25, 6), (1, 0, 1), (20, 100, 0)],
)
def test_over_zookeeper_so_much_may_be_led_by_others(
    led_elsewhere: int, percentage: int, moves: int
) -> None:
    """Of what one broker is preferred for; what is out of balance of another is its own affair."""
    image = image_of_many(partition((1, 2), (1, 2), 1))
    ours = [partition((1, 2), (1, 2), 2)] * led_elsewhere
    ours += [partition((1, 2), (1, 2), 1)] * (20 - led_elsewhere)
    theirs = [partition((2, 1), (1, 2), 1)] * 2
    topic = TopicImage("t", uuid(1), (*ours, *theirs))
    image = image._replace(topics={"t": topic})
    over_zookeeper = ControllerSettings(over_zookeeper=True, tolerated_percentage=percentage)
    theirs_too = 2 * (percentage < 100)
    assert len(balance_leaders(image, over_zookeeper)) == moves + theirs_too
    assert len(balance_leaders(image, ControllerSettings())) == led_elsewhere + 2


def test_over_zookeeper_what_is_balanced_is_balanced_at_once() -> None:
    """The last tenth would be left as it is else."""
    image = image_of_many(partition((1, 2), (1, 2), 2))
    moved = balance_leaders(image, ControllerSettings(over_zookeeper=True))
    assert len(moved) == MAX_ELECTIONS_AT_ONCE + 1
