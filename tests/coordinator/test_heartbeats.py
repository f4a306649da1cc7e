"""Members of a consumer group: what they are told, and what is written, as by the real Kafka."""

from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.consumer.state import GroupState, MemberState
from kafkalite.coordinator.groups.settings import ConsumerSettings, GroupSettings
from kafkalite.errors import ErrorCode
from tests.coordinator.sample_consumers import ConsumerStage, id_of


def stage_with(settings: ConsumerSettings) -> ConsumerStage:
    return ConsumerStage(GroupSettings(consumer=settings), t=6)


def test_two_members_as_in_the_real_kafkas_log() -> None:
    """Recorded: member-A alone, member-B within a second, then A a second later."""
    stage = stage_with(ConsumerSettings(assignment_interval_ms=1000))
    first = stage.join_as("member-A")
    assert (first.member_epoch, first.assigned) == (2, {id_of("t"): (0, 1, 2, 3, 4, 5)})
    stage.advance(600)
    assert stage.go_on("member-A").assigned is None
    second = stage.join_as("member-B")
    assert (second.member_epoch, second.assigned) == (2, {})
    stage.advance(300)
    assert stage.go_on("member-A").assigned is None
    assert stage.go_on("member-B").member_epoch == 2
    stage.advance(300)
    told = stage.beat(stage.event("member-A", 2))
    assert (told.member_epoch, told.assigned) == (2, {id_of("t"): (0, 1, 2)})
    assert stage.go_on("member-B").member_epoch == 3
    assert stage.written == [
        "MemberMetadata member-A",
        "Metadata",
        "TargetAssignmentMember member-A",
        "TargetAssignmentMetadata",
        "CurrentMemberAssignment member-A",
        "MemberMetadata member-B",
        "Metadata",
        "CurrentMemberAssignment member-B",
        "TargetAssignmentMember member-A",
        "TargetAssignmentMember member-B",
        "TargetAssignmentMetadata",
        "CurrentMemberAssignment member-A",
        "CurrentMemberAssignment member-B",
    ]
    assert stage.group.members["member-A"].state is MemberState.UNREVOKED_PARTITIONS
    assert stage.group.members["member-B"].state is MemberState.UNRELEASED_PARTITIONS
    assert stage.group.state is GroupState.RECONCILING


def test_a_heartbeat_that_changes_nothing_writes_nothing() -> None:
    stage = ConsumerStage()
    stage.join_as("a")
    before = len(stage.log)
    seen = stage.beat(stage.event("a", 2))
    assert (seen.member_epoch, seen.heartbeat_interval_ms, seen.assigned) == (2, 500, None)
    assert len(stage.log) == before


@pytest.mark.parametrize(("id", "host"), [("d", "/127.0.0.1"), ("c", "/127.0.0.2")])
def test_from_where_a_member_speaks_is_written_when_it_changes(id: str, host: str) -> None:
    """Though it says nothing else."""
    stage = ConsumerStage()
    stage.join_as("a")
    before = len(stage.log)
    beat = stage.event("a", 2)._replace(client_id=id, client_host=host)
    assert stage.beat(beat).member_epoch == 2
    assert stage.written[before:] == ["MemberMetadata a"]
    member = stage.group.members["a"]
    assert (member.client_id, member.client_host) == (id, host)
    stage.beat(beat._replace(token=stage.token()))
    assert len(stage.log) == before + 1


def test_a_member_that_tells_all_is_told_all() -> None:
    stage = ConsumerStage()
    stage.join_as("a")
    full = stage.event("a", 2, topics=["t"], owned={"t": [0]}, rebalance_ms=1)
    assert stage.beat(full).assigned == {id_of("t"): (0, 1, 2, 3)}


def test_partitions_go_over_only_when_they_are_given_up() -> None:
    stage = ConsumerStage()
    stage.join_as("a")
    stage.join_as("b")
    assert stage.owned() == {"a": {"t": (0, 1, 2, 3)}, "b": {}}
    keeps = stage.beat(stage.event("a", 2, owned={"t": [0, 1, 2, 3]}))
    assert (keeps.member_epoch, keeps.assigned) == (2, {id_of("t"): (0, 1)})
    assert stage.beat(stage.event("a", 2, owned={"t": [0, 1, 2]})).member_epoch == 2
    assert stage.go_on("b").assigned is None
    gave = stage.beat(stage.event("a", 2, owned={"t": [0, 1]}))
    assert (gave.member_epoch, gave.assigned) == (3, None)
    assert stage.go_on("b").assigned == {id_of("t"): (2, 3)}
    assert stage.group.state is GroupState.STABLE


def test_what_a_member_leaves_out_is_as_before() -> None:
    stage = ConsumerStage(t=2, u=2)
    stage.join_as("a")
    stage.beat(stage.event("a", 2, rack="r"))
    member = stage.group.members["a"]
    assert (member.rack_id, member.topics, member.rebalance_timeout_ms) == ("r", ("t",), 30_000)
    assert stage.group.epoch == 2
    changed = stage.beat(stage.event("a", 2, topics=["u", "u"]))
    assert stage.group.members["a"].topics == ("u",)
    assert (changed.member_epoch, changed.assigned) == (2, {})
    assert stage.beat(stage.event("a", 2, owned={})).assigned == {id_of("u"): (0, 1)}


def test_a_topic_that_comes_and_one_that_grows() -> None:
    stage = ConsumerStage(t=1)
    stage.join_as("a", ["t", "u"])
    stage.set_topics({"t": 1, "x": 1})
    assert stage.go_on("a").member_epoch == 2
    stage.set_topics({"t": 2, "u": 1})
    assert stage.go_on("a").assigned == {id_of("t"): (0, 1), id_of("u"): (0,)}
    assert stage.go_on("a").member_epoch == 3


def test_a_topic_that_goes_is_taken_away() -> None:
    stage = ConsumerStage(t=1, u=1)
    stage.join_as("a", ["t", "u"])
    stage.set_topics({"t": 1})
    assert stage.go_on("a").assigned == {id_of("t"): (0,)}
    assert stage.go_on("a").member_epoch == 3


def test_epochs_that_are_not_the_members() -> None:
    stage = ConsumerStage()
    stage.join_as("a")
    ahead = stage.why(stage.event("a", 9))
    assert ahead.code is ErrorCode.FENCED_MEMBER_EPOCH
    assert ahead.message == (
        "The consumer group member has a greater member epoch (9) than the one known by the group"
        " coordinator (2). The member must abandon all its partitions and rejoin."
    )
    behind = stage.why(stage.event("a", 1))
    assert behind.code is ErrorCode.FENCED_MEMBER_EPOCH
    assert "smaller member epoch (1)" in behind.message
    assert stage.why(stage.event("b", 2)).code is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_missed_an_answer_may_be_one_epoch_behind() -> None:
    stage = ConsumerStage()
    stage.join_as("a")
    stage.join_as("b")
    stage.settle("a", "b")
    assert stage.consumers["a"].epoch == 3
    assert stage.beat(stage.event("a", 3, owned={"t": [0, 1]})).member_epoch == 3
    stage.set_topics({"t": 5})
    stage.go_on("a")
    epoch = stage.group.members["a"].previous_epoch
    assert stage.beat(stage.event("a", epoch, owned={"t": [0]})).member_epoch == epoch + 1
    assert stage.why(stage.event("a", epoch)).code is ErrorCode.FENCED_MEMBER_EPOCH
    foreign = stage.event("a", epoch, owned={"u": [0]})
    assert stage.why(foreign).code is ErrorCode.FENCED_MEMBER_EPOCH


def test_a_member_that_joins_again_keeps_its_place() -> None:
    stage = ConsumerStage()
    stage.join_as("a")
    before = len(stage.log)
    again = stage.join_as("a")
    assert (again.member_epoch, again.assigned) == (2, {id_of("t"): (0, 1, 2, 3)})
    assert len(stage.log) == before


def test_a_full_group() -> None:
    stage = stage_with(ConsumerSettings(max_size=1))
    stage.join_as("a", instance="i")
    refused = stage.why(stage.event("b", 0, topics=["t"], owned={}, rebalance_ms=1))
    assert refused.code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert refused.message == "The consumer group has reached its maximum capacity of 1 members."
    assert stage.beat(stage.event("a", 2, instance="i")).member_epoch == 2
    stage.beat(stage.event("a", -2, instance="i"))
    assert stage.join_as("c", instance="i").member_epoch == 2


def test_what_most_ask_for_assigns() -> None:
    stage = ConsumerStage(t=2, u=2)
    stage.join_as("a", ["t", "u"])
    assert stage.describe_consumers().assignor == "uniform"
    stage.join_as("b", ["t", "u"], assignor="range")
    stage.settle("a", "b")
    assert stage.describe_consumers().assignor == "range"
    assert stage.owned() == {"a": {"t": (0,), "u": (0,)}, "b": {"t": (1,), "u": (1,)}}
    epoch = stage.group.epoch
    stage.beat(stage.event("a", epoch, assignor="range"))
    assert stage.group.epoch == epoch
    stage.beat(stage.event("b", epoch, assignor="uniform"))
    assert stage.group.epoch == epoch + (stage.describe_consumers().assignor != "range")


def test_a_member_without_an_id_is_given_one() -> None:
    stage = ConsumerStage()
    event = stage.event("", 0, topics=[], owned={}, rebalance_ms=1, must_bring_id=False)
    seen = stage.beat(event)
    assert (seen.member_id, seen.member_epoch) == ("drawn", 1)
    assert stage.replayed().consumer_groups == stage.core.recorded.consumer_groups


def test_a_static_member_is_back() -> None:
    stage = ConsumerStage()
    stage.join_as("a", instance="i")
    taken = stage.why(stage.event("b", 0, topics=["t"], owned={}, rebalance_ms=1, instance="i"))
    assert taken.code is ErrorCode.UNRELEASED_INSTANCE_ID
    assert taken.message == (
        "Static member b with instance id i cannot join the group because the instance id is owned"
        " by a member."
    )
    stage.beat(stage.event("a", -2, instance="i"))
    before = len(stage.log)
    back = stage.join_as("b", instance="i")
    assert (back.member_epoch, back.assigned) == (2, {id_of("t"): (0, 1, 2, 3)})
    assert stage.written[before:] == [
        "CurrentMemberAssignment a gone",
        "TargetAssignmentMember a gone",
        "MemberMetadata a gone",
        "MemberMetadata b",
        "TargetAssignmentMember b",
        "CurrentMemberAssignment b",
        "CurrentMemberAssignment b",
    ]
    assert list(stage.group.members) == ["b"]
    assert stage.why(stage.event("a", 2, instance="i")).code is ErrorCode.FENCED_INSTANCE_ID
    assert stage.go_on("b", instance="i").member_epoch == 2
    assert stage.why(stage.event("b", 7, instance="i")).code is ErrorCode.FENCED_MEMBER_EPOCH


def test_a_static_member_that_is_back_with_other_topics() -> None:
    stage = ConsumerStage(t=2, u=2)
    stage.join_as("a", instance="i")
    stage.beat(stage.event("a", -2, instance="i"))
    assert stage.join_as("b", ["u"], instance="i").assigned == {id_of("u"): (0, 1)}
    assert stage.replayed().consumer_groups == stage.core.recorded.consumer_groups


@pytest.mark.parametrize("members", [2, 3, 7])
def test_any_number_of_members_shares_all(members: int) -> None:
    stage = ConsumerStage(t=8, u=3)
    names = [f"m{number}" for number in range(members)]
    for name in names:
        stage.join_as(name, ["t", "u"])
    stage.settle(*names)
    shared = sorted((t, i) for own in stage.owned().values() for t, ii in own.items() for i in ii)
    assert shared == [("t", i) for i in range(8)] + [("u", i) for i in range(3)]
    assert stage.group.state is GroupState.STABLE
    assert stage.replayed().consumer_groups == stage.core.recorded.consumer_groups
