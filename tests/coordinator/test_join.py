"""Who is let in. The order of the checks is Kafka's, and so is every answer."""

from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.classic.events import Joined, JoinedMember, Synced
from kafkalite.coordinator.groups.settings import GroupSettings
from kafkalite.errors import ErrorCode
from tests.coordinator.sample_groups import GROUP, RANGE, STICKY, Stage


def test_a_group_needs_a_name() -> None:
    stage = Stage()
    assert stage.join(stage.join_event("m", group="")) == Joined(ErrorCode.INVALID_GROUP_ID, "m")


@pytest.mark.parametrize(("timeout_ms", "fits"), [(5999, 0), (6000, 1), (7000, 1), (7001, 0)])
def test_session_timeouts_have_bounds(timeout_ms: int, fits: int) -> None:
    stage = Stage(GroupSettings(max_session_timeout_ms=7000))
    reply = stage.join(stage.join_event(session_ms=timeout_ms))
    assert (reply.code is ErrorCode.NONE) == bool(fits)
    assert fits or reply == Joined(ErrorCode.INVALID_SESSION_TIMEOUT, "")
    assert bool(stage.log) == bool(fits)


def test_a_stranger_does_not_make_a_group() -> None:
    stage = Stage()
    reply = stage.join(stage.join_event("nobody"))
    assert reply == Joined(ErrorCode.UNKNOWN_MEMBER_ID, "nobody")
    assert not stage.log


def test_from_version_4_an_id_comes_first() -> None:
    stage = Stage()
    reply = stage.join(stage.join_event(first=True))
    assert reply == Joined(ErrorCode.MEMBER_ID_REQUIRED, "c-1")
    assert stage.describe().members == ()
    reply = stage.join(stage.join_event("c-1", first=True))
    assert reply == Joined(
        ErrorCode.NONE,
        "c-1",
        1,
        "consumer",
        "range",
        "c-1",
        members=(JoinedMember("c-1", None, RANGE.metadata),),
    )


def test_an_id_that_nobody_uses_is_forgotten() -> None:
    stage = Stage()
    id = stage.join(stage.join_event(first=True)).member_id
    stage.advance(10_000)
    assert stage.join(stage.join_event(id)).code is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_id_that_was_given_is_not_a_static_members() -> None:
    stage = Stage()
    id = stage.join(stage.join_event(first=True)).member_id
    reply = stage.join(stage.join_event(id, instance="i"))
    assert reply == Joined(ErrorCode.UNKNOWN_SERVER_ERROR, "")


def test_a_refused_newcomer_leaves_an_empty_group_behind() -> None:
    stage = Stage()
    reply = stage.join(stage.join_event(type=""))
    assert reply == Joined(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    assert stage.state == "Empty"
    assert len(stage.log) == 1


def test_protocols_must_fit() -> None:
    stage = Stage()
    (id,) = stage.stable("a")
    for event in (stage.join_event("", STICKY), stage.join_event(id, type="connect")):
        reply = stage.join(event)
        assert reply == Joined(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, event.member_id)
    assert stage.state == "Stable"


def test_a_static_member_needs_no_id_first() -> None:
    stage = Stage()
    reply = stage.join(stage.join_event(instance="i", first=True))
    assert (reply.code, reply.member_id) == (ErrorCode.NONE, "i-1")


def test_without_a_rebalance_timeout_the_session_timeout_counts() -> None:
    stage = Stage()
    stage.join(stage.join_event(session_ms=7000, rebalance_ms=None))
    assert stage.timers[("sync", GROUP)].at_ms == stage.now + 7000


def test_a_follower_that_changes_nothing_is_answered_at_once() -> None:
    stage = Stage()
    a, b = stage.stable("a", "b")
    again = stage.join_event(b, RANGE._replace(metadata=b""))
    expected = Joined(ErrorCode.NONE, b, 2, "consumer", "range", a)
    assert stage.join(again) == expected
    assert stage.state == "Stable"


def test_a_follower_that_changes_begins_a_rebalance() -> None:
    stage = Stage()
    _, b = stage.stable("a", "b")
    assert stage.ask(stage.join_event(b, RANGE, STICKY)) is None
    assert stage.state == "PreparingRebalance"


def test_the_leader_may_ask_for_a_rebalance() -> None:
    stage = Stage()
    (a,) = stage.stable("a")
    reply = stage.join(stage.join_event(a, RANGE._replace(metadata=b""), session_ms=9000))
    assert (reply.code, reply.generation) == (ErrorCode.NONE, 2)
    assert stage.timers[("session", GROUP, a)].at_ms == stage.now + 9000


def test_the_answer_is_given_again_to_who_missed_it() -> None:
    stage = Stage()
    first = stage.join(stage.join_event())
    assert stage.join(stage.join_event(first.member_id)) == first
    changed = stage.join(stage.join_event(first.member_id, RANGE, STICKY))
    assert changed.generation == 2


def test_a_join_that_is_asked_again_is_answered() -> None:
    stage = Stage()
    stage.stable("a")
    b = stage.join(stage.join_event(first=True)).member_id
    first, again = stage.join_event(b), stage.join_event(b)
    assert stage.ask(first) is None
    assert stage.ask(again) is None
    assert stage.joined(first) == Joined(ErrorCode.REBALANCE_IN_PROGRESS, b)
    assert again.token not in stage.replies


def test_groups_have_a_size() -> None:
    stage = Stage(GroupSettings(max_size=1))
    id = stage.join(stage.join_event()).member_id
    refused = Joined(ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert stage.join(stage.join_event()) == refused
    assert stage.join(stage.join_event(id)).code is ErrorCode.NONE


def test_an_id_alone_does_not_make_room() -> None:
    stage = Stage(GroupSettings(max_size=1))
    late = stage.join(stage.join_event(first=True)).member_id
    stage.join(stage.join_event())
    assert stage.join(stage.join_event(late)).code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert stage.join(stage.join_event(late)).code is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_while_all_join_the_first_have_the_room() -> None:
    stage = Stage(GroupSettings(max_size=2))
    a, b = stage.stable("a", "b")
    stage.settings = GroupSettings(max_size=1)
    stage.reload()
    assert stage.state == "PreparingRebalance"
    waits = stage.join_event(b)
    assert stage.ask(waits) is None
    assert stage.join(stage.join_event(a)).code is ErrorCode.GROUP_MAX_SIZE_REACHED
    again = stage.join_event(b)
    # Who waits already is in. Kafka, too, sees only then that nobody else is missing.
    assert stage.join(again).generation == 3


def static_pair(stage: Stage) -> tuple[str, str]:
    """A stable group of two static members, i and j."""
    i = stage.join(stage.join_event(instance="i")).member_id
    joins = stage.join_event(instance="j")
    stage.feed(joins)
    stage.join(stage.join_event(i, instance="i"))
    j = stage.joined(joins).member_id
    stage.sync(stage.sync_event(i, 2, assignments={i: b"i's", j: b"j's"}))
    stage.sync(stage.sync_event(j, 2))
    return i, j


def test_a_static_follower_comes_back_without_a_rebalance() -> None:
    stage = Stage()
    i, j = static_pair(stage)
    reply = stage.join(stage.join_event(instance="j"))
    assert reply == Joined(ErrorCode.NONE, "j-4", 2, "consumer", "range", i)
    assert stage.sync(stage.sync_event("j-4", 2, instance="j")).assignment == b"j's"
    assert stage.heartbeat(j, 2, "j") is ErrorCode.FENCED_INSTANCE_ID
    assert stage.join(stage.join_event(j, instance="j")).code is ErrorCode.FENCED_INSTANCE_ID


def test_a_static_leader_may_skip_the_assignment() -> None:
    stage = Stage()
    _, j = static_pair(stage)
    reply = stage.join(stage.join_event(instance="i"))
    assert (reply.leader, reply.skip_assignment) == ("i-4", True)
    assert [member.member_id for member in reply.members] == ["i-4", j]


def test_an_older_static_leader_does_not_know_that_it_leads() -> None:
    stage = Stage()
    i, _ = static_pair(stage)
    reply = stage.join(stage.join_event(instance="i", skip=False))
    assert reply == Joined(ErrorCode.NONE, "i-4", 2, "consumer", "range", i)


def test_a_restart_with_another_protocol_needs_a_rebalance() -> None:
    stage = Stage()
    id = stage.join(stage.join_event("", RANGE, STICKY, instance="i")).member_id
    stage.sync(stage.sync_event(id, 1, assignments={}))
    reply = stage.join(stage.join_event("", STICKY, RANGE, instance="i"))
    assert (reply.code, reply.generation, reply.protocol) == (ErrorCode.NONE, 2, "sticky")


def test_a_restart_while_the_leader_assigns_needs_a_rebalance() -> None:
    stage = Stage()
    i = stage.join(stage.join_event(instance="i")).member_id
    sync = stage.sync_event(i, 1)
    joins = stage.join_event(instance="j")
    stage.feed(joins)
    assert stage.join(stage.join_event(i, instance="i")).generation == 2
    j = stage.joined(joins).member_id
    sync = stage.sync_event(j, 2)
    assert stage.ask(sync) is None
    assert stage.ask(stage.join_event(instance="j")) is None
    assert stage.replies[sync.token] == Synced(ErrorCode.FENCED_INSTANCE_ID)
    assert stage.state == "PreparingRebalance"


def test_a_restart_while_all_join_takes_the_place_that_waits() -> None:
    stage = Stage()
    static_pair(stage)
    stage.feed(stage.join_event())
    waits = stage.join_event(instance="j")
    assert stage.ask(waits) is None
    old_id = next(m.member_id for m in stage.describe().members if m.instance_id == "j")
    again = stage.join_event(instance="j")
    assert stage.ask(again) is None
    assert stage.joined(waits) == Joined(ErrorCode.FENCED_INSTANCE_ID, old_id)
    assert stage.join(stage.join_event(instance="i")).code is ErrorCode.NONE
    assert stage.joined(again).generation == 3


def test_a_newcomer_of_an_initial_delay_draws_it_out() -> None:
    stage = Stage(GroupSettings(initial_rebalance_delay_ms=3000))
    first, second = stage.join_event(), stage.join_event()
    stage.feed(first)
    stage.feed(second)
    stage.advance(3000)
    assert first.token not in stage.replies
    stage.advance(3000)
    assert len(stage.joined(first).members) == 2
