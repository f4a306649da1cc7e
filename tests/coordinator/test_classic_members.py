"""Members of a consumer group that speak the classic protocol."""

from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.classic.events import (
    GroupProtocol,
    LeavingMember,
    Synced,
)
from kafkalite.coordinator.groups.consumer.state import MemberState
from kafkalite.coordinator.groups.settings import (
    ConsumerSettings,
    GroupSettings,
    MigrationPolicy,
)
from kafkalite.errors import ErrorCode
from tests.coordinator.sample_groups import GROUP
from tests.coordinator.sample_migrations import (
    REBALANCE_MS,
    SESSION_MS,
    Classic,
    MixedStage,
    mixed,
    settings_with,
    subscription_bytes,
)


def test_one_more_joins_and_all_share() -> None:
    stage = mixed(t=6)
    joined = stage.classic_join("third")
    assert (joined.code, joined.protocol_type, joined.protocol) == (
        ErrorCode.NONE,
        "consumer",
        "range",
    )
    assert (joined.member_id, joined.leader, joined.members) == ("id of third", "", ())
    stage.classic_sync("third")
    assert stage.classics["third"].owned == {}
    stage.settle_all()
    assert sorted(len(owned["t"]) for owned in stage.all_owned().values()) == [2, 2, 2]
    assert stage.replayed().consumer_groups == stage.core.recorded.consumer_groups


def test_a_member_without_an_id_is_sent_back_once() -> None:
    stage = mixed()
    answer = stage.join(stage.classic_event("third", first=True))
    assert (answer.code, answer.member_id) == (ErrorCode.MEMBER_ID_REQUIRED, "id of third")
    assert len(stage.group.members) == 2


def test_who_may_not_join() -> None:
    stage = mixed()
    event = stage.classic_event("third")
    inconsistent = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert stage.code_of(event._replace(protocol_type="connect")) is inconsistent
    other = GroupProtocol("roundrobin", event.protocols[0].metadata)
    assert stage.code_of(event._replace(protocols=(other,))) is inconsistent
    assert stage.code_of(event._replace(protocols=())) is inconsistent
    unreadable = GroupProtocol("range", b"")
    assert stage.code_of(event._replace(protocols=(unreadable,))) is inconsistent
    both = (other, event.protocols[0])
    assert stage.code_of(event._replace(protocols=both)) is ErrorCode.NONE
    short = stage.classic_event("fourth")._replace(session_timeout_ms=1)
    assert stage.code_of(short) is ErrorCode.INVALID_SESSION_TIMEOUT


def test_the_policy_forbids_both_ways() -> None:
    stage = mixed()
    stage.settings = settings_with(MigrationPolicy.DISABLED)
    stage.reload()
    event = stage.classic_event("third")
    assert stage.code_of(event) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_group_is_full() -> None:
    stage = mixed()
    stage.settings = GroupSettings(consumer=ConsumerSettings(max_size=2))
    stage.reload()
    event = stage.classic_event("third")
    assert stage.code_of(event) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert stage.classic_join("old").code is ErrorCode.NONE


def test_a_static_member_is_back_and_keeps_its_place() -> None:
    stage = mixed()
    stage.classics["i"] = Classic(instance="i")
    stage.classic_join("i")
    stage.settle_all()
    had = stage.classics["i"].owned
    stage.classics["again"] = Classic(instance="i")
    event = stage.classic_event("again")
    joined = stage.joined_as("again", stage.join(event))
    assert joined.code is ErrorCode.NONE
    stage.classic_sync("again")
    old = stage.classics.pop("i")
    assert stage.heartbeat(old.member_id, old.generation, "i") is ErrorCode.FENCED_INSTANCE_ID
    stage.settle_all()
    assert stage.classics["again"].owned == had
    stranger = stage.classic_event("again")._replace(member_id="stranger")
    assert stage.code_of(stranger) is ErrorCode.FENCED_INSTANCE_ID
    unknown = stage.classic_event("again")._replace(instance_id="j")
    assert stage.code_of(unknown) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_changes_over_without_a_word() -> None:
    stage = MixedStage()
    stage.classics["old"] = Classic(instance="i")
    stage.assign(old={"t": (0, 1, 2, 3)})
    told = stage.join_as("new", instance="i")
    assert told.assigned
    assert set(stage.group.members) == {"new"}
    assert stage.group.members["new"].classic is None
    assert stage.classic_beat("old") is ErrorCode.FENCED_INSTANCE_ID


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


def test_a_member_without_a_rebalance_timeout_has_its_session_timeout() -> None:
    stage = mixed()
    event = stage.classic_event("third")
    stage.join(event._replace(rebalance_timeout_ms=None))
    assert stage.group.members["id of third"].rebalance_timeout_ms == SESSION_MS


def test_a_subscription_with_a_rack_and_topics_that_do_not_exist() -> None:
    stage = mixed()
    event = stage.classic_event("third")
    metadata = subscription_bytes(["t", "v"], {"v": [0]}, "here")
    stage.join(event._replace(protocols=(GroupProtocol("range", metadata),)))
    member = stage.group.members["id of third"]
    assert (member.rack_id, member.topics) == ("here", ("t", "v"))
