"""From one generation to the next, and what timers say about those who do not come."""

from __future__ import annotations

from kafkalite.coordinator.groups.classic.events import (
    InitialDelayOver,
    Joined,
    JoinTimedOut,
    MemberDisconnected,
    SessionTimedOut,
    Synced,
    SyncTimedOut,
)
from kafkalite.coordinator.groups.settings import GroupSettings
from kafkalite.errors import ErrorCode
from tests.coordinator.sample_groups import GROUP, RANGE, Stage

AGAIN = RANGE._replace(metadata=b"")
"""What members of `Stage.stable` support."""


def test_a_new_group_forms_at_once_without_a_delay() -> None:
    stage = Stage()
    assert stage.join(stage.join_event()).generation == 1


def test_the_initial_delay_is_drawn_out_by_newcomers() -> None:
    stage = Stage(GroupSettings(initial_rebalance_delay_ms=3000))
    first, second = stage.join_event(), stage.join_event()
    stage.feed(first)
    stage.advance(1000)
    stage.feed(second)
    stage.advance(4999)
    assert first.token not in stage.replies
    stage.advance(1)
    assert stage.joined(first).generation == 1
    assert stage.joined(second).leader == stage.joined(first).member_id


def test_the_initial_delay_ends_with_the_rebalance_timeout() -> None:
    stage = Stage(GroupSettings(initial_rebalance_delay_ms=3000))
    first = stage.join_event(rebalance_ms=4000)
    stage.feed(first)
    for _ in range(3):
        stage.advance(1300)
        stage.feed(stage.join_event(rebalance_ms=4000))
    stage.advance(99)
    assert first.token not in stage.replies
    stage.advance(1)
    assert len(stage.joined(first).members) == 4


def test_nobody_completes_an_initial_delay() -> None:
    stage = Stage(GroupSettings(initial_rebalance_delay_ms=3000))
    id = stage.join(stage.join_event(first=True)).member_id
    waits = stage.join_event(id)
    stage.feed(waits)
    stage.leave(id)
    assert stage.joined(waits) == Joined(ErrorCode.UNKNOWN_MEMBER_ID, "")
    assert stage.state == "PreparingRebalance"
    stage.advance(3000)
    assert (stage.state, stage.generation) == ("Empty", 1)


def test_who_does_not_join_again_in_time_is_out() -> None:
    stage = Stage()
    a, b = stage.stable("a", "b")
    joins = stage.join_event(b, RANGE)
    assert stage.ask(joins) is None
    for _ in range(59):
        stage.advance(1000)
        assert stage.heartbeat(a, 2) is ErrorCode.REBALANCE_IN_PROGRESS
    stage.advance(1000)
    assert stage.joined(joins).leader == b
    assert [member.member_id for member in stage.describe().members] == [b]
    assert stage.heartbeat(a, 3) is ErrorCode.UNKNOWN_MEMBER_ID


def test_static_members_keep_their_place_for_their_session() -> None:
    stage = Stage()
    i = stage.join(stage.join_event(instance="i", rebalance_ms=1000)).member_id
    stage.sync(stage.sync_event(i, 1))
    joins = stage.join_event(rebalance_ms=1000)
    assert stage.ask(joins) is None
    stage.advance(1000)
    reply = stage.joined(joins)
    assert reply.leader == reply.member_id
    assert [member.member_id for member in reply.members] == [i, reply.member_id]


def test_with_static_members_alone_a_rebalance_waits_for_their_sessions() -> None:
    stage = Stage()
    i = stage.join(stage.join_event(instance="i", rebalance_ms=4000)).member_id
    stage.sync(stage.sync_event(i, 1))
    newcomer = stage.join(stage.join_event(first=True)).member_id
    waits = stage.join_event(newcomer, rebalance_ms=4000)
    stage.feed(waits)
    stage.leave(newcomer)
    assert stage.state == "PreparingRebalance"
    stage.advance(4000)
    assert (stage.state, stage.generation) == ("PreparingRebalance", 1)
    stage.advance(6000)
    assert (stage.state, stage.generation) == ("Empty", 2)


def test_those_who_wait_for_an_assignment_are_told_to_join_again() -> None:
    stage = Stage()
    _, b = stage.stable("a", "b")
    waits = stage.join_event(b, RANGE)
    stage.feed(waits)
    a = stage.join(stage.join_event(stage.describe().members[0].member_id, AGAIN)).member_id
    sync = stage.sync_event(b, 3)
    assert stage.ask(sync) is None
    assert stage.ask(stage.join_event(a, RANGE)) is None
    assert stage.replies[sync.token] == Synced(ErrorCode.REBALANCE_IN_PROGRESS)


def test_who_never_syncs_is_out() -> None:
    stage = Stage()
    a, b = stage.stable("a", "b")
    waits = stage.join_event(b, RANGE)
    stage.feed(waits)
    stage.join(stage.join_event(a, AGAIN))
    stage.sync(stage.sync_event(a, 3))
    for _ in range(60):
        stage.advance(1000)
        stage.heartbeat(a, 3)
        stage.heartbeat(b, 3)
    assert stage.heartbeat(b, 3) is ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.heartbeat(a, 3) is ErrorCode.REBALANCE_IN_PROGRESS


def test_silence_while_all_join_completes_the_join() -> None:
    stage = Stage()
    a, b = stage.stable("a", "b")
    joins = stage.join_event(b, RANGE)
    stage.feed(joins)
    stage.advance(10_000)
    assert stage.joined(joins).generation == 3
    assert stage.heartbeat(a, 3) is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_id_that_does_not_come_back_holds_nobody_up() -> None:
    stage = Stage()
    (a,) = stage.stable("a")
    stage.join(stage.join_event(first=True))
    joins = stage.join_event(a, RANGE)
    assert stage.ask(joins) is None
    stage.advance(10_000)
    assert stage.joined(joins).generation == 2


def test_a_stable_groups_member_falls_silent() -> None:
    stage = Stage()
    a, _ = stage.stable("a", "b")
    stage.advance(9_999)
    stage.heartbeat(a, 2)
    stage.advance(1)
    assert stage.heartbeat(a, 2) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_newcomer_may_wait_five_minutes() -> None:
    stage = Stage(GroupSettings(initial_rebalance_delay_ms=400_000))
    joins = stage.join_event(rebalance_ms=500_000)
    stage.feed(joins)
    stage.advance(299_999)
    assert joins.token not in stage.replies
    stage.advance(1)
    assert stage.joined(joins) == Joined(ErrorCode.UNKNOWN_MEMBER_ID, "")
    assert stage.state == "Empty"


def test_a_member_that_leaves_while_nobody_else_is_missed_completes_the_join() -> None:
    stage = Stage()
    (a,) = stage.stable("a")
    joins = stage.join_event()
    assert stage.ask(joins) is None
    stage.leave(a)
    assert stage.joined(joins).generation == 2


def test_an_id_of_a_stable_group_is_forgotten_in_silence() -> None:
    stage = Stage()
    (a,) = stage.stable("a")
    stage.join(stage.join_event(first=True))
    stage.advance(5_000)
    stage.heartbeat(a, 1)
    stage.advance(5_000)
    assert stage.heartbeat(a, 1) is ErrorCode.NONE
    assert stage.state == "Stable"


def test_timers_that_come_too_late_change_nothing() -> None:
    stage = Stage()
    a, _ = stage.stable("a", "b")
    log = len(stage.log)
    for event in (
        InitialDelayOver(GROUP, 1, 0),
        JoinTimedOut(GROUP),
        SyncTimedOut(GROUP, 1),
        SyncTimedOut(GROUP, 2),
        SessionTimedOut(GROUP, "nobody"),
        SessionTimedOut("no such group", a),
        JoinTimedOut("no such group"),
    ):
        assert stage.feed(event).timers == ()
    assert stage.state == "Stable"
    assert len(stage.log) == log


def test_a_member_that_waits_for_us_has_not_fallen_silent() -> None:
    stage = Stage()
    _, b = stage.stable("a", "b")
    stage.feed(stage.join_event(b, RANGE))
    assert not stage.feed(SessionTimedOut(GROUP, b)).timers
    assert len(stage.describe().members) == 2


def test_when_the_last_one_leaves_nobody_is_waited_for() -> None:
    stage = Stage()
    (a,) = stage.stable("a")
    stage.leave(a)
    assert (stage.state, stage.generation) == ("Empty", 2)
    assert not {key for key in stage.timers if key != ("expiry",)}


def test_a_member_whose_connection_has_dropped_is_out() -> None:
    stage = Stage()
    a, b = stage.stable("a", "b")
    stage.feed(MemberDisconnected(GROUP, a))
    assert stage.state == "PreparingRebalance"
    assert [member.member_id for member in stage.describe().members] == [b]
    assert ("session", GROUP, a) not in stage.timers
    stage.feed(MemberDisconnected(GROUP, "nobody"))
    stage.feed(MemberDisconnected("no group", a))
    assert [member.member_id for member in stage.describe().members] == [b]


def test_an_id_that_was_given_to_a_connection_that_has_dropped_is_not_waited_for() -> None:
    stage = Stage()
    (a,) = stage.stable("a")
    given = stage.join(stage.join_event("", client="b", first=True)).member_id
    again = stage.join_event(a, client="a")
    stage.feed(again)
    assert again.token not in stage.replies
    stage.feed(MemberDisconnected(GROUP, given))
    assert stage.joined(again).code is ErrorCode.NONE
    assert ("session", GROUP, given) not in stage.timers
