from __future__ import annotations

from kafkalite.coordinator.groups.classic.events import GroupProtocol, JoinedMember
from kafkalite.coordinator.groups.classic.state import ClassicGroup, GroupState, Member
from kafkalite.errors import ErrorCode
from kafkalite.types import TimestampMs
from tests.coordinator.sample_groups import RANGE, STICKY, subscription

NOW = TimestampMs(7)


def member(
    id: str, *protocols: GroupProtocol, instance: str | None = None, joins: bool = True
) -> Member:
    waits = f"{id}'s join" if joins else None
    return Member(id, instance, "c", "/h", 100, 10, protocols or (RANGE,), awaiting_join=waits)


def group_with(*members: Member) -> ClassicGroup:
    group = ClassicGroup("g", GroupState.PREPARING_REBALANCE, protocol_type="consumer")
    for one in members:
        group.add(one)
    return group


def test_the_first_member_leads_and_then_the_oldest() -> None:
    group = group_with(member("a"), member("b"), member("c"))
    assert group.leader == "a"
    group.remove("b")
    assert group.leader == "a"
    group.remove("a")
    assert group.leader == "c"
    group.remove("c")
    assert group.leader is None


def test_removing_a_stranger_or_an_id_that_was_only_given() -> None:
    group = group_with(member("a", instance="i"))
    group.pending_members.add("p")
    group.remove("nobody")
    group.remove("p")
    assert not group.pending_members
    group.remove("a")
    assert not group.static_members


def test_a_member_that_comes_with_its_id_is_not_awaited_any_more() -> None:
    group = group_with()
    group.pending_members.add("p")
    seen = [group.all_joined]
    for one in (member("p"), member("late", joins=False)):
        group.add(one)
        seen.append(group.all_joined)
    assert seen == [False, True, False]
    assert group.joined == 1


def test_protocols_that_everybody_has() -> None:
    group = group_with(member("a", RANGE, STICKY), member("b", STICKY))
    assert group.supports("consumer", (STICKY,))
    assert not group.supports("consumer", (RANGE,))
    assert not group.supports("connect", (STICKY,))
    assert not group.supports("consumer", ())
    group.set_protocols(group.members["a"], (RANGE,))
    assert not group.supports("consumer", (STICKY,))
    group.remove("b")
    assert group.supports("consumer", (RANGE,))


def test_an_empty_group_supports_everything_but_nothing() -> None:
    group = ClassicGroup("g")
    assert group.supports("anything", (RANGE,))
    assert not group.supports("", (RANGE,))
    assert not group.supports("anything", ())


def test_a_static_member_keeps_its_place() -> None:
    group = group_with(member("a", instance="i"), member("b", instance="j"))
    group.pending_sync = {"a": None, "b": None}
    old = group.members["a"]
    old.assignment = b"mine"
    new = group.replace_static(old, "a2")
    assert list(group.members) == ["a2", "b"]
    assert (new.assignment, new.awaiting_join) == (b"mine", None)
    assert group.leader == "a2"
    assert list(group.pending_sync) == ["b", "a2"]
    assert group.check_member("a2", "i") is ErrorCode.NONE
    assert group.check_member("a", "i") is ErrorCode.FENCED_INSTANCE_ID
    group.pending_sync.clear()
    group.replace_static(group.members["b"], "b2")
    assert group.leader == "a2"
    assert not group.pending_sync


def test_who_is_a_member() -> None:
    group = group_with(member("a"), member("b", instance="j"))
    assert group.check_member("a", None) is ErrorCode.NONE
    assert group.check_member("b", None) is ErrorCode.NONE
    assert group.check_member("c", None) is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.check_member("a", "no such") is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_leader_that_is_not_here_loses_its_place() -> None:
    group = group_with(member("a", instance="i", joins=False), member("b"))
    assert group.elect_joined_leader()
    assert group.leader == "b"
    assert group.elect_joined_leader()
    group.members["b"].awaiting_join = None
    assert not group.elect_joined_leader()
    assert not group_with().elect_joined_leader()


def test_a_generation_begins() -> None:
    group = group_with(member("a", STICKY, RANGE), member("b", RANGE, instance="j"))
    group.pending_sync = {"a": None}
    group.start_generation(NOW)
    assert (group.generation, group.protocol) == (1, "range")
    assert (group.state, group.state_timestamp) == (GroupState.COMPLETING_REBALANCE, NOW)
    assert not group.pending_sync
    assert group.joined_members() == (
        JoinedMember("a", None, RANGE.metadata),
        JoinedMember("b", "j", RANGE.metadata),
    )


def test_a_generation_of_nobody_is_empty() -> None:
    group = group_with()
    group.start_generation(NOW)
    assert (group.generation, group.protocol) == (1, None)
    assert group.state is GroupState.EMPTY


def test_a_rebalance_remembers_that_the_group_was_empty() -> None:
    group = ClassicGroup("g")
    seen = []
    for state in (GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE):
        group.move_to(state, NOW)
        seen.append(group.was_empty)
    assert seen == [True, False]


def test_the_longest_rebalance_timeout() -> None:
    group = group_with(member("a"), member("b"))
    group.members["b"].rebalance_timeout_ms = 500
    assert group.rebalance_timeout_ms == 500
    assert group_with().rebalance_timeout_ms == 0


def test_whose_silence_counts() -> None:
    one = member("a", joins=False)
    seen = [one.must_heartbeat]
    one.awaiting_sync = "its sync"
    seen.append(one.must_heartbeat)
    one.is_new = True
    seen.append(one.must_heartbeat)
    assert seen == [True, False, True]
    assert not member("b").must_heartbeat


def test_topics_that_members_read() -> None:
    group = group_with(member("a", GroupProtocol("range", subscription("t", "u"))))
    assert group.is_subscribed_to("anything")
    group.start_generation(NOW)
    assert group.is_subscribed_to("t")
    assert not group.is_subscribed_to("v")
    group.set_protocols(group.members["a"], (RANGE,))
    group.start_generation(NOW)
    assert group.is_subscribed_to("anything")


def test_what_connect_workers_say_is_not_read() -> None:
    group = group_with(member("a"))
    group.protocol_type = "connect"
    group.start_generation(NOW)
    assert group.subscribed_topics is None
    assert not group.is_subscribed_to("t")
