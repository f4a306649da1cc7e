"""Timers of members."""

from __future__ import annotations

from kafkalite.coordinator.groups.consumer.events import AwaitedRequest, ClassicMemberLate
from kafkalite.coordinator.groups.consumer.state import Member
from kafkalite.coordinator.groups.consumer.timers import (
    await_request,
    cancel_timers,
    keep_session,
    rejoin_timer,
    revocation_timer,
    session_timer,
    sync_timer,
    watch_revocation,
)
from kafkalite.coordinator.groups.draft import Draft
from kafkalite.coordinator.groups.settings import GroupSettings
from kafkalite.core import CancelTimer, SetTimer
from kafkalite.types import TimestampMs

MEMBER = Member("m", rebalance_timeout_ms=30)


def test_a_member_has_a_timer_of_each_kind_and_loses_all() -> None:
    draft = Draft(TimestampMs(1), GroupSettings())
    keep_session(draft, "g", "m", 10)
    watch_revocation(draft, "g", MEMBER)
    await_request(draft, "g", MEMBER, AwaitedRequest.JOIN)
    await_request(draft, "g", MEMBER, AwaitedRequest.SYNC)
    timers = draft.outcome().timers
    assert [timer.key for timer in timers] == [
        session_timer("g", "m"),
        revocation_timer("g", "m"),
        rejoin_timer("g", "m"),
        sync_timer("g", "m"),
    ]
    assert timers[2] == SetTimer(
        rejoin_timer("g", "m"), TimestampMs(31), ClassicMemberLate("g", "m", AwaitedRequest.JOIN)
    )
    end = Draft(TimestampMs(2), GroupSettings())
    cancel_timers(end, "g", "m")
    assert end.outcome().timers == tuple(CancelTimer(timer.key) for timer in timers)
