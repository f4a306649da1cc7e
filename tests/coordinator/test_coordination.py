"""Which groups there are, of which kind, and what is known of the metadata."""

from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.administration_events import (
    DeletedGroup,
    DeleteGroups,
    DescribeGroups,
    GroupsDeleted,
    GroupsDescribed,
    GroupsListed,
    ListedGroup,
    ListGroups,
)
from kafkalite.coordinator.groups.offset_events import (
    DeleteOffsets,
    ExpireOffsets,
    OffsetsDeleted,
    TopicPartitions,
)
from kafkalite.coordinator.groups.settings import ConsumerSettings, GroupSettings
from kafkalite.errors import ErrorCode, KafkaError
from tests.coordinator.sample_consumers import ConsumerStage
from tests.coordinator.sample_groups import GROUP


def listed(stage: ConsumerStage, *states: str, types: tuple[str, ...] = ()) -> list[ListedGroup]:
    reply = stage.ask(ListGroups(stage.token(), states, types))
    assert isinstance(reply, GroupsListed)
    return list(reply.groups)


def deleted(stage: ConsumerStage) -> DeletedGroup:
    reply = stage.ask(DeleteGroups(stage.token(), (GROUP,)))
    assert isinstance(reply, GroupsDeleted)
    return reply.groups[0]


def test_a_group_that_is_not_there() -> None:
    stage = ConsumerStage()
    beats = stage.why(stage.event("a", 1))
    assert (beats.code, beats.message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Consumer group g not found.",
    )
    leaves = stage.why(stage.event("a", -1))
    assert (leaves.code, leaves.message) == (ErrorCode.GROUP_ID_NOT_FOUND, "Group g not found.")
    assert stage.core.recorded.consumer_groups == {}


def test_the_protocol_is_off() -> None:
    stage = ConsumerStage(GroupSettings(consumer=ConsumerSettings(is_on=False)))
    assert stage.why(stage.event("a", 0)).code is ErrorCode.UNSUPPORTED_VERSION


def test_a_classic_group_that_cannot_be_upgraded_is_none() -> None:
    stage = ConsumerStage()
    stage.stable("c")
    assert stage.why(stage.event("a", 0, topics=["t"], owned={}, rebalance_ms=1)).code is (
        ErrorCode.GROUP_ID_NOT_FOUND
    )
    for epoch in (1, -1):
        refused = stage.why(stage.event("a", epoch))
        assert refused.code is ErrorCode.GROUP_ID_NOT_FOUND
        assert refused.message == "Group g is not a consumer group."
    assert stage.describe_consumers().message == "Group g is not a consumer group."


def test_an_empty_classic_group_makes_way_and_its_offsets_stay() -> None:
    stage = ConsumerStage()
    (member,) = stage.stable("c")
    stage.leave(member)
    stage.commit("t", 5)
    stage.join_as("a")
    assert stage.core.group(GROUP) is None
    assert stage.fetched() == {"t-0": 5}
    assert stage.replayed().consumer_groups == stage.core.recorded.consumer_groups
    assert stage.replayed().groups == {}


def test_a_simple_consumers_group_makes_way() -> None:
    stage = ConsumerStage()
    stage.commit("t", 5)
    stage.join_as("a")
    assert stage.core.recorded.groups == {}
    assert stage.fetched() == {"t-0": 5}


def test_an_empty_consumer_group_makes_way() -> None:
    stage = ConsumerStage()
    stage.join_as("a")
    assert stage.refused(stage.join_event("", client="c")) is (
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    )
    stage.beat(stage.event("a", -1))
    assert stage.join(stage.join_event("", client="c")).code is ErrorCode.NONE
    assert stage.core.recorded.consumer_groups == {}
    assert stage.replayed().consumer_groups == {}


def test_lists_and_their_filters() -> None:
    stage = ConsumerStage()
    stage.join_as("a")
    stage.join_as("b")
    ours = [ListedGroup(GROUP, "consumer", "Reconciling", "consumer")]
    stage.go_on("a")
    assert listed(stage) == ours
    assert listed(stage, "reconciling") == listed(stage, types=("Consumer",)) == ours
    assert listed(stage, "Stable") == listed(stage, types=("classic",)) == []


def test_a_classic_description_of_a_consumer_group() -> None:
    stage = ConsumerStage()
    stage.join_as("a")
    reply = stage.ask(DescribeGroups(stage.token(), (GROUP,)))
    assert isinstance(reply, GroupsDescribed)
    told = reply.groups[0]
    assert (told.code, told.state, told.message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Dead",
        "Group g is not a classic group.",
    )


def test_a_group_is_deleted_when_it_is_empty() -> None:
    stage = ConsumerStage()
    stage.join_as("a")
    assert deleted(stage).code is ErrorCode.NON_EMPTY_GROUP
    stage.beat(stage.event("a", -1))
    assert deleted(stage).code is ErrorCode.NONE
    assert stage.core.recorded.consumer_groups == {}
    assert stage.join_as("a").member_epoch == 2


def test_a_coordinator_that_is_loaded_anew_goes_on() -> None:
    stage = ConsumerStage()
    stage.join_as("a")
    stage.join_as("b")
    stage.go_on("a")
    stage.reload()
    stage.settle("a", "b")
    assert stage.owned() == {"a": {"t": (0, 1)}, "b": {"t": (2, 3)}}
    stage.reload()
    stage.advance(10_000)
    assert stage.group.members == {}


def test_one_who_gives_up_has_fresh_time_after_a_reload() -> None:
    stage = ConsumerStage()
    stage.join_as("a")
    stage.join_as("b")
    stage.beat(stage.event("a", 2))
    stage.reload()
    for _ in range(5):
        stage.advance(5_000)
        stage.beat(stage.event("a", 2))
    assert "a" in stage.group.members
    stage.advance(5_000)
    assert "a" not in stage.group.members


def test_what_the_log_did_not_take_is_looked_at_again() -> None:
    stage = ConsumerStage(t=1)
    stage.join_as("a")
    stage.set_topics({"t": 2})
    stage.lose(stage.event("a", 2), KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))
    assert stage.go_on("a").member_epoch == 3


@pytest.mark.parametrize("days", [6, 8])
def test_offsets_of_an_empty_group_expire_with_it(days: int) -> None:
    stage = ConsumerStage()
    stage.join_as("a")
    stage.beat(stage.event("a", -1))
    stage.commit("t", 5)
    stage.reload()
    stage.advance(days * 24 * 3_600_000)
    assert (GROUP in stage.core.recorded.consumer_groups) == (days == 6)
    assert (stage.fetched() == {"t-0": 5}) == (days == 6)


def test_offsets_of_an_active_group_expire_but_for_topics_that_are_read() -> None:
    """By their names, or by a regular expression; from their commits on."""
    week_ms = 7 * 24 * 3_600_000
    stage = ConsumerStage(GroupSettings(offsets_retention_ms=week_ms), t=1, u=1, v=1)
    stage.join_as("a", ("t",))
    stage.join_as("b", None, regex="v.*")
    stage.settle("a", "b")
    epoch = stage.consumers["a"].epoch
    for topic in ("t", "u", "v"):
        stage.commit(topic, 5, member_id="a", generation=epoch)
    stage.now += week_ms - 1
    assert stage.feed(ExpireOffsets()).records == ()
    stage.now += 1
    stage.feed(ExpireOffsets())
    assert stage.fetched() == {"t-0": 5, "v-0": 5}
    stage.beat(stage.event("a", epoch, topics=["u"], owned={"t": [0]}))
    stage.feed(ExpireOffsets())
    assert stage.fetched() == {"v-0": 5}
    assert set(stage.group.members) == {"a", "b"}


def test_offsets_of_topics_that_are_read_are_not_deleted() -> None:
    stage = ConsumerStage(t=1, u=1)
    stage.join_as("a")
    asked = tuple(TopicPartitions(topic, (0,)) for topic in ("t", "u"))
    reply = stage.ask(DeleteOffsets(stage.token(), GROUP, asked))
    assert isinstance(reply, OffsetsDeleted)
    codes = [each.code for each in reply.offsets]
    assert codes == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, ErrorCode.NONE]


def test_a_group_that_waits_for_its_assignment() -> None:
    stage = ConsumerStage(GroupSettings(consumer=ConsumerSettings(assignment_interval_ms=1000)))
    stage.join_as("a")
    stage.join_as("b")
    assert stage.describe_consumers().state == "Assigning"
    stage.advance(1000)
    stage.settle("a", "b")
    assert stage.describe_consumers().state == "Stable"
