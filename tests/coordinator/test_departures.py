"""Members that are out."""

from __future__ import annotations

from kafkalite.coordinator.groups.consumer.events import MemberSilent, RevocationTimedOut
from kafkalite.coordinator.groups.consumer.state import GroupState
from kafkalite.errors import ErrorCode
from tests.coordinator.sample_consumers import REBALANCE_MS, ConsumerStage
from tests.coordinator.sample_groups import GROUP

SESSION_MS = 10_000


def test_a_member_leaves_and_the_others_get_what_it_had() -> None:
    stage = ConsumerStage()
    stage.join_as("a")
    stage.join_as("b")
    stage.settle("a", "b")
    before = len(stage.log)
    left = stage.beat(stage.event("b", -1))
    assert (left.member_id, left.member_epoch, left.heartbeat_interval_ms) == ("b", -1, 0)
    assert stage.written[before:] == [
        "CurrentMemberAssignment b gone",
        "TargetAssignmentMember b gone",
        "MemberMetadata b gone",
        "Metadata",
    ]
    assert stage.go_on("a").assigned is not None
    assert stage.consumers["a"].owned == {"t": (0, 1, 2, 3)}


def test_the_last_one_leaves_an_empty_group_that_may_be_assigned_at_once() -> None:
    stage = ConsumerStage()
    stage.join_as("a")
    stage.advance(5)
    stage.beat(stage.event("a", -1))
    group = stage.group
    assert group.state is GroupState.EMPTY
    assert (group.epoch, group.assignment_epoch, group.assignment_timestamp) == (3, 3, 0)
    assert (group.metadata_hash, group.owner_epochs, group.targets) == (0, {}, {})
    assert stage.timers.keys() <= {("expiry",)}


def test_who_cannot_leave() -> None:
    stage = ConsumerStage()
    stage.join_as("a", instance="i")
    assert stage.why(stage.event("b", -1)).code is ErrorCode.UNKNOWN_MEMBER_ID
    unknown = stage.why(stage.event("b", -1, instance="j"))
    assert (unknown.code, unknown.message) == (
        ErrorCode.UNKNOWN_MEMBER_ID,
        "Instance id j is unknown.",
    )
    fenced = stage.why(stage.event("b", -1, instance="i"))
    assert (fenced.code, fenced.message) == (
        ErrorCode.FENCED_INSTANCE_ID,
        "Static member b with instance id i was fenced by member a.",
    )


def test_a_static_member_that_is_away_keeps_its_place_for_its_session() -> None:
    stage = ConsumerStage()
    stage.join_as("a", instance="i")
    stage.advance(SESSION_MS // 2)
    stage.beat(stage.event("a", -2, instance="i"))
    assert stage.group.members["a"].epoch == -2
    assert stage.group.owner_epochs
    stage.advance(SESSION_MS // 2 - 1)
    assert "a" in stage.group.members
    stage.advance(1)
    assert stage.group.members == {}


def test_a_static_member_may_leave_for_good() -> None:
    stage = ConsumerStage()
    stage.join_as("a", instance="i")
    stage.beat(stage.event("a", -1, instance="i"))
    assert (stage.group.members, stage.group.static_members) == ({}, {})


def test_a_silent_member_is_out_after_its_session() -> None:
    stage = ConsumerStage()
    stage.join_as("a")
    stage.join_as("b")
    stage.advance(SESSION_MS - 1)
    stage.go_on("a")
    stage.advance(1)
    assert list(stage.group.members) == ["a"]
    stage.settle("a")
    assert stage.consumers["a"].owned == {"t": (0, 1, 2, 3)}


def test_a_member_that_does_not_give_up_is_out_after_its_rebalance_timeout() -> None:
    stage = ConsumerStage()
    stage.join_as("a")
    stage.join_as("b")
    for _ in range(REBALANCE_MS // 5000):
        stage.beat(stage.event("a", 2, owned={"t": [0, 1, 2, 3]}))
        stage.go_on("b")
        stage.advance(5000)
    assert list(stage.group.members) == ["b"]
    stage.settle("b")
    assert stage.consumers["b"].owned == {"t": (0, 1, 2, 3)}


def test_a_member_that_gave_up_in_time_stays() -> None:
    stage = ConsumerStage()
    stage.join_as("a")
    stage.join_as("b")
    stage.go_on("a")
    stage.settle("a", "b")
    for _ in range(REBALANCE_MS // 5000 + 1):
        stage.advance(5000)
        stage.settle("a", "b")
    assert sorted(stage.group.members) == ["a", "b"]


def test_timers_that_come_too_late() -> None:
    stage = ConsumerStage()
    stage.join_as("a")
    before = len(stage.log)
    stage.feed(MemberSilent(GROUP, "b"))
    stage.feed(MemberSilent("none", "a"))
    stage.feed(RevocationTimedOut(GROUP, "a", 1))
    assert len(stage.log) == before
