"""The timers of a consumer group's members: all of its soft state.

Source: Kafka's `GroupMetadataManager`.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.consumer.events import (
    AwaitedRequest,
    ClassicMemberLate,
    MemberSilent,
    RevocationTimedOut,
)
from kafkalite.coordinator.groups.consumer.state import Member, MemberState
from kafkalite.coordinator.groups.draft import Draft


def session_timer(group_id: str, member_id: str) -> tuple[str, str, str]:
    """The key of a member's session timer."""
    return ("consumer session", group_id, member_id)


def revocation_timer(group_id: str, member_id: str) -> tuple[str, str, str]:
    """The key of the timer that ends the wait for a member to give partitions up."""
    return ("revocation", group_id, member_id)


def rejoin_timer(group_id: str, member_id: str) -> tuple[str, str, str]:
    """The key of the timer that ends the wait for a classic member's JoinGroup."""
    return ("rejoin", group_id, member_id)


def sync_timer(group_id: str, member_id: str) -> tuple[str, str, str]:
    """The key of the timer that ends the wait for a classic member's SyncGroup."""
    return ("member sync", group_id, member_id)


def keep_session(draft: Draft, group_id: str, member_id: str, timeout_ms: int) -> None:
    """A member is alive: it has its session timeout from now."""
    draft.set_timer(
        session_timer(group_id, member_id),
        timeout_ms,
        MemberSilent(group_id, member_id),
    )


def watch_revocation(draft: Draft, group_id: str, member: Member) -> None:
    """Give the member its rebalance timeout, if there is something that it is to give up."""
    key = revocation_timer(group_id, member.member_id)
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        event = RevocationTimedOut(group_id, member.member_id, member.epoch)
        draft.set_timer(key, member.rebalance_timeout_ms, event)
    else:
        draft.cancel_timer(key)


def await_request(draft: Draft, group_id: str, member: Member, awaited: AwaitedRequest) -> None:
    """A classic member has its rebalance timeout to send that."""
    key = rejoin_timer if awaited is AwaitedRequest.JOIN else sync_timer
    event = ClassicMemberLate(group_id, member.member_id, awaited)
    draft.set_timer(key(group_id, member.member_id), member.rebalance_timeout_ms, event)


def cancel_timers(draft: Draft, group_id: str, member_id: str) -> None:
    """Nothing is expected of the member any more."""
    for key in (session_timer, revocation_timer, rejoin_timer, sync_timer):
        draft.cancel_timer(key(group_id, member_id))
