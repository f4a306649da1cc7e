from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.classic.events import (
    LeaveGroup,
    LeavingMember,
    Left,
    LeftMember,
    Synced,
)
from kafkalite.errors import ErrorCode
from tests.coordinator.sample_groups import GROUP, RANGE, Stage

UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID


def test_the_leader_says_what_all_are_to_do() -> None:
    stage = Stage()
    a, b = stage.stable("a", "b")
    stage.feed(stage.join_event(b, RANGE))
    stage.join(stage.join_event(a, RANGE))
    waits = stage.sync_event(b, 3)
    assert stage.ask(waits) is None
    led = stage.sync(stage.sync_event(a, 3, assignments={b: b"all", "nobody": b"x"}))
    assert led == Synced(ErrorCode.NONE, "consumer", "range", b"")
    assert stage.replies[waits.token] == Synced(ErrorCode.NONE, "consumer", "range", b"all")
    assert stage.state == "Stable"


def test_what_followers_assign_is_ignored() -> None:
    stage = Stage()
    a, b = stage.stable("a", "b")
    stage.feed(stage.join_event(b, RANGE))
    stage.join(stage.join_event(a, RANGE))
    assert stage.ask(stage.sync_event(b, 3, assignments={b: b"mine"})) is None
    assert stage.sync(stage.sync_event(a, 3)).assignment == b""
    assert stage.sync(stage.sync_event(b, 3)).assignment == b""


def test_a_sync_that_is_asked_again_is_answered() -> None:
    stage = Stage()
    a, b = stage.stable("a", "b")
    stage.feed(stage.join_event(b, RANGE))
    stage.join(stage.join_event(a, RANGE))
    first = stage.sync_event(b, 3)
    assert stage.ask(first) is None
    assert stage.ask(stage.sync_event(b, 3)) is None
    assert stage.replies[first.token] == Synced(ErrorCode.REBALANCE_IN_PROGRESS)


def test_a_sync_needs_a_group() -> None:
    stage = Stage()
    assert stage.sync(stage.sync_event("m", 1)) == Synced(UNKNOWN)
    nameless = stage.sync_event("m", 1)._replace(group_id="")
    assert stage.sync(nameless) == Synced(ErrorCode.INVALID_GROUP_ID)


@pytest.mark.parametrize(
    ("type", "protocol", "code"),
    [
        (None, None, ErrorCode.NONE),
        ("consumer", "range", ErrorCode.NONE),
        ("connect", "range", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ("consumer", "sticky", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_protocols_are_checked_where_they_are_given(
    type: str | None, protocol: str | None, code: ErrorCode
) -> None:
    stage = Stage()
    (a,) = stage.stable("a")
    sync = stage.sync_event(a, 1, type=type, protocol=protocol)
    assert stage.sync(sync).code is code


def test_members_are_told_what_they_missed() -> None:
    stage = Stage()
    a, _ = stage.stable("a", "b")
    assert stage.sync(stage.sync_event("nobody", 2)).code is UNKNOWN
    assert stage.sync(stage.sync_event(a, 1)).code is ErrorCode.ILLEGAL_GENERATION
    assert stage.heartbeat(a, 2) is ErrorCode.NONE
    assert stage.heartbeat(a, 1) is ErrorCode.ILLEGAL_GENERATION
    assert stage.heartbeat("nobody", 2) is UNKNOWN
    assert stage.heartbeat(a, 2, "no such instance") is UNKNOWN
    stage.feed(stage.join_event(a, RANGE))
    assert stage.sync(stage.sync_event(a, 2)).code is ErrorCode.REBALANCE_IN_PROGRESS
    assert stage.heartbeat(a, 2) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_heartbeat_needs_a_group() -> None:
    stage = Stage()
    assert stage.heartbeat("m", 1) is UNKNOWN
    assert stage.heartbeat("m", 1, group="") is ErrorCode.INVALID_GROUP_ID


def test_leaving_a_group_that_is_not_there() -> None:
    stage = Stage()
    assert stage.leave("m") == Left(ErrorCode.NONE, (LeftMember("m", None, UNKNOWN),))
    nameless = LeaveGroup("t", "", (LeavingMember("m"),))
    assert stage.ask(nameless) == Left(ErrorCode.INVALID_GROUP_ID)


def test_the_last_one_leaves_an_empty_group() -> None:
    stage = Stage()
    (a,) = stage.stable("a")
    assert stage.leave("nobody") == Left(ErrorCode.NONE, (LeftMember("nobody", None, UNKNOWN),))
    assert stage.state == "Stable"
    assert stage.leave(a) == Left(ErrorCode.NONE, (LeftMember(a, None, ErrorCode.NONE),))
    assert (stage.state, stage.generation) == ("Empty", 2)
    assert ("session", GROUP, a) not in stage.timers


def test_several_leave_at_once() -> None:
    stage = Stage()
    a, b = stage.stable("a", "b")
    left = stage.leave(a, "nobody", b)
    assert isinstance(left, Left)
    assert [member.code for member in left.members] == [ErrorCode.NONE, UNKNOWN, ErrorCode.NONE]
    assert stage.state == "Empty"


def test_leaving_completes_the_others_join() -> None:
    stage = Stage()
    a, b = stage.stable("a", "b")
    joins = stage.join_event(b, RANGE)
    stage.feed(joins)
    stage.leave(a)
    assert stage.joined(joins).generation == 3


def test_leaving_answers_what_the_member_waits_for() -> None:
    stage = Stage()
    a, b = stage.stable("a", "b")
    joins = stage.join_event(b, RANGE)
    stage.feed(joins)
    stage.leave(b)
    assert stage.joined(joins).code is UNKNOWN
    joins = stage.join_event()
    stage.feed(joins)
    stage.join(stage.join_event(a, RANGE))
    c = stage.joined(joins).member_id
    waits = stage.sync_event(c, 3)
    stage.feed(waits)
    stage.leave(c)
    assert stage.replies[waits.token] == Synced(UNKNOWN)


def test_an_id_that_was_given_can_leave() -> None:
    stage = Stage()
    id = stage.join(stage.join_event(first=True)).member_id
    assert stage.leave(id) == Left(ErrorCode.NONE, (LeftMember(id, None, ErrorCode.NONE),))
    assert stage.state == "Empty"
    assert stage.join(stage.join_event(id)).code is UNKNOWN


def test_static_members_leave_by_their_instance() -> None:
    stage = Stage()
    i = stage.join(stage.join_event(instance="i")).member_id
    members = (
        LeavingMember("", "k"),
        LeavingMember(""),
        LeavingMember("other", "i"),
        LeavingMember("", "i"),
        LeavingMember(i, "i"),
    )
    left = stage.ask(LeaveGroup("t", GROUP, members))
    assert isinstance(left, Left)
    assert [member.code for member in left.members] == [
        UNKNOWN,
        UNKNOWN,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.NONE,
        UNKNOWN,
    ]
    assert stage.state == "Empty"
