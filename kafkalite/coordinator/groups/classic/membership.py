"""What members do between joins: sync, send heartbeats, leave.

Source: Kafka's `GroupMetadataManager`.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.classic.events import (
    NO_MEMBER_ID,
    Heartbeat,
    HeartbeatSeen,
    LeaveGroup,
    LeavingMember,
    Left,
    LeftMember,
    Synced,
    SyncGroup,
)
from kafkalite.coordinator.groups.classic.rebalance import (
    answer_sync,
    answer_syncs,
    keep_session,
    rebalance_or_complete,
    remove_member,
    session_timer,
    sync_timer,
)
from kafkalite.coordinator.groups.classic.records import record_of
from kafkalite.coordinator.groups.classic.state import ClassicGroup, GroupState, Member
from kafkalite.coordinator.groups.draft import Draft
from kafkalite.errors import ErrorCode


def sync(draft: Draft, group: ClassicGroup | None, event: SyncGroup) -> None:
    """A member asks what it is to do; the leader says what all are to do."""
    code = _check_sync(group, event)
    if code is not ErrorCode.NONE or group is None:
        draft.reply(event.token, Synced(code))
        return
    member = group.members[event.member_id]
    group.pending_sync.pop(member.member_id, None)
    if not group.pending_sync:
        draft.cancel_timer(sync_timer(group.group_id))
    if group.state is GroupState.STABLE:
        draft.reply(
            event.token,
            Synced(ErrorCode.NONE, group.protocol_type, group.protocol, member.assignment),
        )
        return
    # Kafka differs: of two SyncGroups of one member it never answers the first. Here that is told
    # REBALANCE_IN_PROGRESS.
    answer_sync(draft, member, Synced(ErrorCode.REBALANCE_IN_PROGRESS))
    member.awaiting_sync = event.token
    if group.leader == member.member_id:
        _assign(draft, group, event)


def _check_sync(group: ClassicGroup | None, event: SyncGroup) -> ErrorCode:
    if not event.group_id:
        return ErrorCode.INVALID_GROUP_ID
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    code = _check(group, event)
    if code is not ErrorCode.NONE:
        return code
    pairs = (event.protocol_type, group.protocol_type), (event.protocol, group.protocol)
    if any(None not in (asked, ours) and asked != ours for asked, ours in pairs):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is GroupState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def _check(group: ClassicGroup, event: SyncGroup | Heartbeat) -> ErrorCode:
    code = group.check_member(event.member_id, event.instance_id)
    if code is ErrorCode.NONE and event.generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return code


def _assign(draft: Draft, group: ClassicGroup, event: SyncGroup) -> None:
    """The group is complete: this is recorded. Members that the leader left out get nothing."""
    assignments = {given.member_id: given.assignment for given in event.assignments}
    for member in group.members.values():
        member.assignment = assignments.get(member.member_id, b"")
    draft.write_group(group.group_id, record_of(group))
    answer_syncs(draft, group, ErrorCode.NONE)
    group.move_to(GroupState.STABLE, draft.now)


def heartbeat(draft: Draft, group: ClassicGroup | None, event: Heartbeat) -> None:
    """A member is alive, and is told when it must join anew."""
    if not event.group_id:
        code = ErrorCode.INVALID_GROUP_ID
    elif group is None:
        code = ErrorCode.UNKNOWN_MEMBER_ID
    else:
        code = _check(group, event)
        if code is ErrorCode.NONE:
            keep_session(draft, group, group.members[event.member_id])
            if group.state is GroupState.PREPARING_REBALANCE:
                code = ErrorCode.REBALANCE_IN_PROGRESS
    draft.reply(event.token, HeartbeatSeen(code))


def leave(draft: Draft, group: ClassicGroup | None, event: LeaveGroup) -> None:
    """Members go, or are sent away by their instance ids."""
    if not event.group_id:
        draft.reply(event.token, Left(ErrorCode.INVALID_GROUP_ID))
        return
    left = tuple(_leave(draft, group, leaving) for leaving in event.members)
    draft.reply(event.token, Left(ErrorCode.NONE, left))
    if group is None or all(member.code is not ErrorCode.NONE for member in left):
        return
    if group.state is not GroupState.EMPTY:
        gone = ", ".join(
            told(leaving)
            for leaving, member in zip(event.members, left, strict=True)
            if member.code is ErrorCode.NONE
        )
        rebalance_or_complete(draft, group, f"left: {gone}")


def told(leaving: LeavingMember) -> str:
    """Who leaves, and why if the client says so."""
    who = leaving.member_id or leaving.instance_id or ""
    return f"{who} ({leaving.reason})" if leaving.reason else who


def _leave(draft: Draft, group: ClassicGroup | None, leaving: LeavingMember) -> LeftMember:
    code = ErrorCode.UNKNOWN_MEMBER_ID
    if group is not None:
        found = _find(group, leaving)
        if isinstance(found, Member):
            remove_member(draft, group, found)
            code = ErrorCode.NONE
        elif leaving.member_id in group.pending_members:
            draft.cancel_timer(session_timer(group.group_id, leaving.member_id))
            group.remove(leaving.member_id)
            code = ErrorCode.NONE
        else:
            code = found
    return LeftMember(leaving.member_id, leaving.instance_id, code)


def _find(group: ClassicGroup, leaving: LeavingMember) -> Member | ErrorCode:
    member_id = leaving.member_id
    if member_id == NO_MEMBER_ID and leaving.instance_id is not None:
        member_id = group.static_members.get(leaving.instance_id, NO_MEMBER_ID)
    code = group.check_member(member_id, leaving.instance_id)
    return group.members[member_id] if code is ErrorCode.NONE else code
