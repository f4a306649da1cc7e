"""How a classic group gets from one generation to the next.

    prepare            members are to join anew; those who wait for an assignment are told
    complete_join      all have joined, or had their time: the next generation begins
    (the leader syncs: `membership.py`)

and what timers tell about members who do not come back. Source: Kafka's `GroupMetadataManager`.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.classic.events import (
    InitialDelayOver,
    Joined,
    JoinTimedOut,
    SessionTimedOut,
    Synced,
    SyncTimedOut,
)
from kafkalite.coordinator.groups.classic.records import record_of
from kafkalite.coordinator.groups.classic.state import ClassicGroup, GroupState, Member
from kafkalite.coordinator.groups.draft import Draft
from kafkalite.errors import ErrorCode

NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""How long a new member's JoinGroup may wait: it has no session to lose yet."""


def join_timer(group_id: str) -> tuple[str, str]:
    """The key of the timer that ends the wait for members to join."""
    return ("join", group_id)


def sync_timer(group_id: str) -> tuple[str, str]:
    """The key of the timer that ends the wait for members to sync."""
    return ("sync", group_id)


def session_timer(group_id: str, member_id: str) -> tuple[str, str, str]:
    """The key of a member's session timer."""
    return ("session", group_id, member_id)


def keep_session(
    draft: Draft, group: ClassicGroup, member: Member, timeout_ms: int | None = None
) -> None:
    """A member is alive: it has its session timeout, or another, from now."""
    draft.set_timer(
        session_timer(group.group_id, member.member_id),
        member.session_timeout_ms if timeout_ms is None else timeout_ms,
        SessionTimedOut(group.group_id, member.member_id),
    )


def rebalance_or_complete(draft: Draft, group: ClassicGroup, reason: str) -> None:
    """Members have changed: begin a rebalance for that reason, or go on with the one under way."""
    if group.state is GroupState.PREPARING_REBALANCE:
        complete_if_joined(draft, group)
    else:
        prepare(draft, group, reason)


def complete_if_joined(draft: Draft, group: ClassicGroup) -> None:
    """Complete the join if that can be, which it cannot in a group's initial delay."""
    preparing = group.state is GroupState.PREPARING_REBALANCE
    if preparing and not group.was_empty and group.all_joined:
        complete_join(draft, group)


def prepare(draft: Draft, group: ClassicGroup, reason: str) -> None:
    """Have all members join anew. An empty group first gives others the initial delay to come."""
    draft.rebalance(group.group_id, reason)
    if group.state is GroupState.COMPLETING_REBALANCE:
        for member in group.members.values():
            member.assignment = b""
        answer_syncs(draft, group, ErrorCode.REBALANCE_IN_PROGRESS)
    group.pending_sync.clear()
    draft.cancel_timer(sync_timer(group.group_id))
    group.move_to(GroupState.PREPARING_REBALANCE, draft.now)
    if group.was_empty:
        delay_ms = draft.settings.initial_rebalance_delay_ms
        remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
        group.new_member_added = False
        _wait_for_more(draft, group, delay_ms, remaining_ms)
    elif group.all_joined:
        complete_join(draft, group)
    else:
        _wait_for_joins(draft, group)


def initial_delay_over(draft: Draft, group: ClassicGroup, event: InitialDelayOver) -> None:
    """Wait again when members came meanwhile, within the rebalance timeout."""
    if group.new_member_added and event.remaining_ms:
        group.new_member_added = False
        _wait_for_more(
            draft,
            group,
            min(draft.settings.initial_rebalance_delay_ms, event.remaining_ms),
            max(event.remaining_ms - event.delay_ms, 0),
        )
    else:
        complete_join(draft, group)


def _wait_for_more(draft: Draft, group: ClassicGroup, delay_ms: int, remaining_ms: int) -> None:
    if delay_ms:
        event = InitialDelayOver(group.group_id, delay_ms, remaining_ms)
        draft.set_timer(join_timer(group.group_id), delay_ms, event)
    else:
        complete_join(draft, group)


def _wait_for_joins(draft: Draft, group: ClassicGroup) -> None:
    draft.set_timer(
        join_timer(group.group_id), group.rebalance_timeout_ms, JoinTimedOut(group.group_id)
    )


def complete_join(draft: Draft, group: ClassicGroup) -> None:
    """The next generation begins with those who have joined, and with static members."""
    draft.cancel_timer(join_timer(group.group_id))
    late = [m for m in group.members.values() if m.awaiting_join is None and m.instance_id is None]
    for member in late:
        group.remove(member.member_id)
        draft.cancel_timer(session_timer(group.group_id, member.member_id))
    if not group.elect_joined_leader() and group.members:
        # Static members alone, none of them here: wait until their sessions end.
        _wait_for_joins(draft, group)
        return
    group.start_generation(draft.now)
    if not group.members:
        draft.write_group(group.group_id, record_of(group))
        return
    for member in group.members.values():
        answer_join(draft, member, joined(group, member))
        keep_session(draft, group, member)
        member.is_new = False
        group.pending_sync[member.member_id] = None
    draft.set_timer(
        sync_timer(group.group_id),
        group.rebalance_timeout_ms,
        SyncTimedOut(group.group_id, group.generation),
    )


def joined(group: ClassicGroup, member: Member) -> Joined:
    """A member's view of the generation."""
    is_leader = member.member_id == group.leader
    return Joined(
        ErrorCode.NONE,
        member.member_id,
        group.generation,
        group.protocol_type,
        group.protocol,
        group.leader or "",
        members=group.joined_members() if is_leader else (),
    )


def answer_join(draft: Draft, member: Member, body: Joined) -> None:
    """If its JoinGroup waits."""
    token, member.awaiting_join = member.awaiting_join, None
    draft.reply(token, body)


def answer_sync(draft: Draft, member: Member, body: Synced) -> None:
    """If its SyncGroup waits."""
    token, member.awaiting_sync = member.awaiting_sync, None
    draft.reply(token, body)


def answer_syncs(draft: Draft, group: ClassicGroup, code: ErrorCode) -> None:
    """All that wait, with their assignments or an error; those members have a fresh session."""
    told = code is ErrorCode.NONE
    for member in group.members.values():
        if member.awaiting_sync is not None:
            body = Synced(
                code,
                group.protocol_type if told else None,
                group.protocol if told else None,
                member.assignment,
            )
            answer_sync(draft, member, body)
            keep_session(draft, group, member)


def remove_member(draft: Draft, group: ClassicGroup, member: Member) -> None:
    """A member is out; if it waits, it is told so.

    Kafka differs: it never answers the SyncGroup of a member that is removed. Here that is told
    UNKNOWN_MEMBER_ID."""
    answer_join(draft, member, Joined(ErrorCode.UNKNOWN_MEMBER_ID, ""))
    answer_sync(draft, member, Synced(ErrorCode.UNKNOWN_MEMBER_ID))
    draft.cancel_timer(session_timer(group.group_id, member.member_id))
    group.remove(member.member_id)


def session_timed_out(draft: Draft, group: ClassicGroup, member_id: str) -> None:
    """A member is given up, or an id that was given and never used."""
    member = group.members.get(member_id)
    if member_id in group.pending_members:
        group.remove(member_id)
    elif member is not None and member.must_heartbeat:
        remove_member(draft, group, member)
        if group.state is not GroupState.PREPARING_REBALANCE:
            reason = f"{member_id} was silent for its session timeout"
            prepare(draft, group, reason)
            return
    else:
        return
    if group.state is GroupState.PREPARING_REBALANCE and group.all_joined:
        complete_join(draft, group)


def disconnected(draft: Draft, group: ClassicGroup, member_id: str) -> None:
    """A member is out, whatever it waits for; so is an id that was given and not used yet."""
    member = group.members.get(member_id)
    if member is not None:
        remove_member(draft, group, member)
        rebalance_or_complete(draft, group, f"the connection of {member_id} has dropped")
    elif member_id in group.pending_members:
        draft.cancel_timer(session_timer(group.group_id, member_id))
        group.remove(member_id)
        complete_if_joined(draft, group)


def sync_timed_out(draft: Draft, group: ClassicGroup, generation: int) -> None:
    """Members that joined the generation and never asked for their assignment are out."""
    if group.generation != generation or not group.pending_sync:
        return
    late = list(group.pending_sync)
    for member_id in late:
        remove_member(draft, group, group.members[member_id])
    prepare(draft, group, f"{', '.join(late)} did not sync in time")
