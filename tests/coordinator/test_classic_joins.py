"""Members that speak the classic protocol join a consumer group."""

from __future__ import annotations

from kafkalite.coordinator.groups.classic.events import GroupProtocol
from kafkalite.coordinator.groups.settings import (
    ConsumerSettings,
    GroupSettings,
    MigrationPolicy,
)
from kafkalite.errors import ErrorCode
from tests.coordinator.sample_migrations import (
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
