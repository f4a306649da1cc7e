"""JoinGroup: who is let in, under which id, and whether the group must rebalance for it.

Source: Kafka's `GroupMetadataManager.classicGroupJoin`; KIP-345 (static members), KIP-394 (ids
first), KIP-814 (skipping the assignment).
"""

from __future__ import annotations

from kafkalite.coordinator.groups.classic.events import (
    NO_MEMBER_ID,
    Joined,
    JoinGroup,
    SessionTimedOut,
    Synced,
)
from kafkalite.coordinator.groups.classic.rebalance import (
    NEW_MEMBER_JOIN_TIMEOUT_MS,
    answer_join,
    answer_sync,
    complete_if_joined,
    joined,
    keep_session,
    prepare,
    rebalance_or_complete,
    session_timer,
)
from kafkalite.coordinator.groups.classic.records import record_of
from kafkalite.coordinator.groups.classic.state import ClassicGroup, GroupState, Member
from kafkalite.coordinator.groups.draft import Draft
from kafkalite.errors import ErrorCode


def check_join(draft: Draft, event: JoinGroup) -> ErrorCode:
    """What can be said without the group: INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT."""
    settings = draft.settings
    if not event.group_id:
        return ErrorCode.INVALID_GROUP_ID
    shortest, longest = settings.min_session_timeout_ms, settings.max_session_timeout_ms
    if not shortest <= event.session_timeout_ms <= longest:
        return ErrorCode.INVALID_SESSION_TIMEOUT
    return ErrorCode.NONE


def join(draft: Draft, group: ClassicGroup, event: JoinGroup) -> None:
    """Someone wants to be a member, or to go on being one."""
    if not _has_room(draft, group, event.member_id):
        group.remove(event.member_id)
        refuse(draft, event, ErrorCode.GROUP_MAX_SIZE_REACHED, NO_MEMBER_ID)
    elif not group.supports(event.protocol_type, event.protocols):
        refuse(draft, event, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    elif event.member_id == NO_MEMBER_ID:
        _join_as_new(draft, group, event)
    elif event.member_id in group.pending_members:
        if event.instance_id is None:
            _add(draft, group, event, event.member_id)
        else:
            refuse(draft, event, ErrorCode.UNKNOWN_SERVER_ERROR, NO_MEMBER_ID)
    else:
        code = group.check_member(event.member_id, event.instance_id)
        if code is ErrorCode.NONE:
            _rejoin(draft, group, event, group.members[event.member_id])
        else:
            refuse(draft, event, code)


def refuse(draft: Draft, event: JoinGroup, code: ErrorCode, member_id: str | None = None) -> None:
    """With the member id that was asked for, unless another is given."""
    draft.reply(event.token, Joined(code, event.member_id if member_id is None else member_id))


def _has_room(draft: Draft, group: ClassicGroup, member_id: str) -> bool:
    """While all join, first come, first served; else whoever is in stays in."""
    most = draft.settings.max_size
    if group.state is GroupState.EMPTY:
        return True
    member = group.members.get(member_id)
    if group.state is GroupState.PREPARING_REBALANCE:
        return group.joined < most or (member is not None and member.awaiting_join is not None)
    return len(group.members) < most or member is not None


def _join_as_new(draft: Draft, group: ClassicGroup, event: JoinGroup) -> None:
    prefix = event.client_id if event.instance_id is None else event.instance_id
    member_id = f"{prefix}-{event.new_member_uuid}"
    if event.instance_id is not None:
        known = group.static_members.get(event.instance_id)
        if known is None:
            _add(draft, group, event, member_id)
        else:
            _replace_static(draft, group, event, group.members[known], member_id)
    elif event.requires_known_member_id:
        group.pending_members.add(member_id)
        draft.set_timer(
            session_timer(group.group_id, member_id),
            event.session_timeout_ms,
            SessionTimedOut(group.group_id, member_id),
        )
        refuse(draft, event, ErrorCode.MEMBER_ID_REQUIRED, member_id)
    else:
        _add(draft, group, event, member_id)


def _add(draft: Draft, group: ClassicGroup, event: JoinGroup, member_id: str) -> None:
    if not group.members:
        group.protocol_type = event.protocol_type
    if group.state is GroupState.PREPARING_REBALANCE and group.was_empty:
        group.new_member_added = True
    member = Member(
        member_id,
        event.instance_id,
        event.client_id,
        event.client_host,
        _rebalance_timeout_ms(event),
        event.session_timeout_ms,
        event.protocols,
        is_new=True,
        awaiting_join=event.token,
    )
    group.add(member)
    keep_session(draft, group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
    rebalance_or_complete(draft, group, f"{member_id} joins{_because(event)}")


def _rejoin(draft: Draft, group: ClassicGroup, event: JoinGroup, member: Member) -> None:
    """A member asks again: for the next generation, or because it missed the answer."""
    changed = member.protocols != event.protocols
    leads = group.state is GroupState.STABLE and group.leader == member.member_id
    if group.state is GroupState.PREPARING_REBALANCE or changed or leads:
        # The leader alone knows whether partitions have to be assigned anew.
        _update(draft, group, event, member)
        what = "joins again with other protocols" if changed else "leads, and joins again"
        rebalance_or_complete(draft, group, f"{member.member_id} {what}{_because(event)}")
    else:
        draft.reply(
            event.token,
            joined(group, member),
        )


def _update(draft: Draft, group: ClassicGroup, event: JoinGroup, member: Member) -> None:
    """It waits with this JoinGroup now.

    Kafka differs: of two JoinGroups of one member it never answers the first. Here that is told to
    come again, with REBALANCE_IN_PROGRESS."""
    answer_join(draft, member, Joined(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))
    group.set_protocols(member, event.protocols)
    member.rebalance_timeout_ms = _rebalance_timeout_ms(event)
    member.session_timeout_ms = event.session_timeout_ms
    member.awaiting_join = event.token


def _replace_static(
    draft: Draft, group: ClassicGroup, event: JoinGroup, old: Member, member_id: str
) -> None:
    """A static member has started anew. Whoever still uses its old id is fenced. A stable group
    goes on without a rebalance, if it keeps its protocol."""
    old_leader = group.leader or ""
    answer_join(draft, old, Joined(ErrorCode.FENCED_INSTANCE_ID, old.member_id))
    answer_sync(draft, old, Synced(ErrorCode.FENCED_INSTANCE_ID))
    draft.cancel_timer(session_timer(group.group_id, old.member_id))
    member = group.replace_static(old, member_id)
    keep_session(draft, group, member)
    _update(draft, group, event, member)
    if group.state is GroupState.PREPARING_REBALANCE:
        complete_if_joined(draft, group)
    elif group.state is GroupState.STABLE and group.select_protocol() == group.protocol:
        draft.write_group(group.group_id, record_of(group))
        answer = joined(group, member)
        if event.supports_skipping_assignment:
            answer = answer._replace(skip_assignment=group.leader == member_id)
        else:
            # It must not think that it leads: it would assign, and nobody else would sync.
            answer = answer._replace(leader=old_leader, members=())
        answer_join(draft, member, answer)
    else:
        reason = f"{member_id} has taken the place of {old.member_id}{_because(event)}"
        prepare(draft, group, reason)


def _because(event: JoinGroup) -> str:
    return f": {event.reason}" if event.reason else ""


def _rebalance_timeout_ms(event: JoinGroup) -> int:
    timeout = event.rebalance_timeout_ms
    return event.session_timeout_ms if timeout is None else timeout
