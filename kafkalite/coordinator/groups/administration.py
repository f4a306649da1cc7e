"""What tools ask about groups: list, describe, delete.

Source: Kafka's `GroupCoordinatorShard`; KIP-518 and KIP-848 (filters), KIP-1043 (describing what
does not exist).
"""

from __future__ import annotations

from collections.abc import Iterable

from kafkalite.coordinator.groups.classic.events import (
    DeletedGroup,
    DescribedGroup,
    DescribedMember,
    ListedGroup,
    ListGroups,
)
from kafkalite.coordinator.groups.classic.state import DEAD, ClassicGroup, GroupState
from kafkalite.coordinator.groups.commits import delete_all
from kafkalite.coordinator.groups.draft import Draft
from kafkalite.coordinator.offsets import CommittedOffsets
from kafkalite.errors import ErrorCode

CLASSIC = "classic"
"""Kafka's word for the type of these groups."""


def listed(groups: Iterable[ClassicGroup], event: ListGroups) -> tuple[ListedGroup, ...]:
    """Those that pass the filters."""
    states = {word.strip().lower() for word in event.states}
    types = {word.lower() for word in event.types}
    return tuple(
        ListedGroup(group.group_id, group.protocol_type or "", group.state.value, CLASSIC)
        for group in groups
        if not states or group.state.value.lower() in states
        if not types or CLASSIC in types
    )


def described(group_id: str, group: ClassicGroup | None) -> DescribedGroup:
    """All that is known; what members told each other only while it is in use."""
    if group is None:
        message = f"Group {group_id} not found."
        return DescribedGroup(group_id, DEAD, code=ErrorCode.GROUP_ID_NOT_FOUND, message=message)
    protocol = group.protocol if group.state is GroupState.STABLE else None
    members = tuple(
        DescribedMember(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            member.metadata(protocol) if protocol is not None else b"",
            member.assignment,
        )
        for member in group.members.values()
    )
    type_ = group.protocol_type or ""
    return DescribedGroup(group_id, group.state.value, type_, protocol or "", members)


def delete(
    draft: Draft, group_id: str, group: ClassicGroup | None, offsets: CommittedOffsets
) -> DeletedGroup:
    """A group without members, and all that it has committed."""
    if group is None:
        return DeletedGroup(group_id, ErrorCode.GROUP_ID_NOT_FOUND)
    if group.state is not GroupState.EMPTY:
        return DeletedGroup(group_id, ErrorCode.NON_EMPTY_GROUP)
    delete_all(draft, group_id, offsets)
    draft.write_group(group_id, None)
    return DeletedGroup(group_id, ErrorCode.NONE)
