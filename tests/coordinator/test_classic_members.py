"""Members of a consumer group that speak the classic protocol."""

from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.classic.events import LeavingMember, Synced
from kafkalite.coordinator.groups.consumer.state import MemberState
from kafkalite.errors import ErrorCode
from tests.coordinator.sample_groups import GROUP
from tests.coordinator.sample_migrations import (
    REBALANCE_MS,
    SESSION_MS,
    Classic,
    MixedStage,
    mixed,
)


def test_a_heartbeat_tells_to_join_for_a_new_assignment() -> None:
    stage = mixed()
    assert stage.classic_beat("old") is ErrorCode.NONE
    stage.join_as("third")
    assert stage.classic_beat("old") is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_member_that_must_give_up_joins_until_it_has() -> None:
    stage = mixed()
    stage.join_as("third")
    joined = stage.classic_join("old")
    member = stage.group.members[joined.member_id]
    assert member.state is MemberState.UNREVOKED_PARTITIONS
    sync = stage.classic_sync("old")
    assert sync.code is ErrorCode.NONE
    assert len(stage.classics["old"].owned["t"]) == 1
    assert stage.classic_beat("old") is ErrorCode.REBALANCE_IN_PROGRESS
    stage.classic_join("old")
    assert stage.classic_beat("old") is ErrorCode.NONE


def test_waiting_for_another_ones_partition() -> None:
    stage = MixedStage(t=1)
    stage.join_as("new")
    stage.classics["old"] = Classic(member_id="")
    stage.classic_join("old")
    member = stage.group.members["id of old"]
    assert member.state is MemberState.STABLE  # Nothing of one partition is for it.
    stage.set_topics({"t": 2})
    stage.go_on("new")
    assert stage.classic_beat("old") is ErrorCode.REBALANCE_IN_PROGRESS
    stage.classic_join("old")
    stage.classic_sync("old")
    assert stage.classics["old"].owned == {"t": (1,)}


def test_while_a_partition_is_not_free_nobody_joins_again() -> None:
    stage = MixedStage(t=2)
    stage.join_as("new")
    stage.classic_join("old")
    assert stage.group.members["id of old"].state is MemberState.UNRELEASED_PARTITIONS
    assert stage.classic_beat("old") is ErrorCode.NONE
    stage.go_on("new")
    stage.go_on("new")
    assert stage.classic_beat("old") is ErrorCode.REBALANCE_IN_PROGRESS
    stage.classic_join("old")
    stage.classic_sync("old")
    assert len(stage.classics["old"].owned["t"]) == 1


@pytest.mark.parametrize("rejoins", [False, True])
def test_who_does_not_join_again_in_time_is_out(rejoins: bool) -> None:
    stage = mixed()
    stage.join_as("third")
    assert stage.classic_beat("old") is ErrorCode.REBALANCE_IN_PROGRESS
    for _ in range(REBALANCE_MS // 5_000 - 1):
        stage.advance(5_000)
        for name in ("new", "third"):
            stage.go_on(name)
        stage.classic_beat("old")
    if rejoins:
        stage.classic_join("old")
        stage.classic_sync("old")
    stage.advance(5_000)
    assert (stage.classics["old"].member_id in stage.group.members) is rejoins


@pytest.mark.parametrize("syncs", [False, True])
def test_who_does_not_sync_in_time_is_out(syncs: bool) -> None:
    stage = mixed()
    stage.classic_join("old")
    if syncs:
        stage.classic_sync("old")
    for _ in range(REBALANCE_MS // 5_000):
        stage.advance(5_000)
        stage.go_on("new")
        if stage.classics["old"].member_id in stage.core.recorded.consumer_groups[GROUP].members:
            stage.classic_beat("old")
    assert (stage.classics["old"].member_id in stage.group.members) is syncs


def test_a_silent_member_is_out_after_its_own_session() -> None:
    stage = mixed()
    stage.classic_beat("old")
    for _ in range(SESSION_MS // 5_000):
        assert stage.classics["old"].member_id in stage.group.members
        stage.advance(5_000)
        stage.go_on("new")
    assert set(stage.group.members) == {"new"}


def test_syncs_that_are_refused() -> None:
    stage = mixed()
    old = stage.classics["old"]

    def code(member_id: str = old.member_id, generation: int = old.generation, **more: str) -> int:
        event = stage.sync_event(member_id, generation, **more)  # type: ignore[arg-type]  # Texts.
        return stage.sync(event).code

    assert code("nobody") is ErrorCode.UNKNOWN_MEMBER_ID
    assert code("new", 3) is ErrorCode.UNKNOWN_MEMBER_ID
    assert code(instance="i") is ErrorCode.UNKNOWN_MEMBER_ID
    assert code(generation=99) is ErrorCode.ILLEGAL_GENERATION
    assert code(type="connect") is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert code(protocol="sticky") is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert code(type="consumer", protocol="range") is ErrorCode.NONE
    stage.join_as("third")
    assert code() is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_sync_tells_what_it_was_told() -> None:
    stage = mixed()
    old = stage.classics["old"]
    sync = stage.sync(stage.sync_event(old.member_id, old.generation))
    assert sync == Synced(ErrorCode.NONE, None, None, sync.assignment)


def test_heartbeats_that_are_refused() -> None:
    stage = mixed()
    old = stage.classics["old"]
    assert stage.heartbeat("nobody", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.heartbeat("new", stage.consumers["new"].epoch) is ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.heartbeat(old.member_id, 99) is ErrorCode.ILLEGAL_GENERATION


def test_members_leave_of_either_protocol() -> None:
    stage = mixed()
    stage.join_as("third", instance="i")
    stage.settle_all()
    old = stage.classics.pop("old").member_id
    left = stage.classic_leave(
        LeavingMember(old),
        LeavingMember("nobody"),
        LeavingMember("new", "i"),
        LeavingMember("", "j"),
        LeavingMember("", "i"),
        LeavingMember("third", "i"),
    )
    assert [member.code for member in left.members] == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.NONE,
        ErrorCode.NONE,
    ]
    assert set(stage.group.members) == {"new"}
    stage.go_on("new")
    assert stage.consumers["new"].owned == {"t": (0, 1, 2, 3)}


def test_nobody_leaves() -> None:
    stage = mixed()
    before = len(stage.log)
    left = stage.classic_leave(LeavingMember("nobody"))
    assert left.members[0].code is ErrorCode.UNKNOWN_MEMBER_ID
    assert len(stage.log) == before


def test_a_topic_that_is_gone_is_not_told() -> None:
    stage = mixed()
    stage.set_topics({"u": 1})
    stage.classic_sync("old")
    assert stage.classics["old"].owned == {}
