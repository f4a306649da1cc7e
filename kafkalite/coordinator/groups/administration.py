"""What tools ask about groups: list, describe, delete.

Source: Kafka's `GroupCoordinatorShard`; KIP-518 and KIP-848 (filters), KIP-1043 (describing what
does not exist).
"""

from __future__ import annotations

from collections.abc import Iterable

from kafkalite.coordinator.groups.administration_events import (
    DeletedGroup,
    DescribedGroup,
    DescribedMember,
    ListedGroup,
    ListGroups,
)
from kafkalite.coordinator.groups.classic.state import DEAD, ClassicGroup, GroupState
from kafkalite.coordinator.groups.commits import AnyGroup, delete_all
from kafkalite.coordinator.groups.consumer.member_records import group_tombstones
from kafkalite.coordinator.groups.consumer.state import ConsumerGroup
from kafkalite.coordinator.groups.draft import Draft
from kafkalite.coordinator.offsets import CommittedOffsets
from kafkalite.errors import ErrorCode

CLASSIC = "classic"
CONSUMER = "consumer"
"""Kafka's words for the types of groups; the second is also the protocol type of consumers."""


def listed(groups: Iterable[AnyGroup], event: ListGroups) -> tuple[ListedGroup, ...]:
    """Those that pass the filters."""
    states = {word.strip().lower() for word in event.states}
    types = {word.lower() for word in event.types}
    return tuple(
        told
        for told in map(_listed, groups)
        if not states or told.state.lower() in states
        if not types or told.type in types
    )


def _listed(group: AnyGroup) -> ListedGroup:
    if isinstance(group, ConsumerGroup):
        return ListedGroup(group.group_id, CONSUMER, group.state.value, CONSUMER)
    return ListedGroup(group.group_id, group.protocol_type or "", group.state.value, CLASSIC)


def described(group_id: str, group: AnyGroup | None) -> DescribedGroup:
    """All that is known of a classic group; what members told each other only while it is in
    use."""
    if not isinstance(group, ClassicGroup):
        why = "not found" if group is None else "is not a classic group"
        message = f"Group {group_id} {why}."
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
    draft: Draft, group_id: str, group: AnyGroup | None, offsets: CommittedOffsets
) -> DeletedGroup:
    """A group without members, and all that it has committed."""
    if group is None:
        return DeletedGroup(group_id, ErrorCode.GROUP_ID_NOT_FOUND)
    if group.members:
        return DeletedGroup(group_id, ErrorCode.NON_EMPTY_GROUP)
    delete_all(draft, group_id, offsets)
    write_tombstones(draft, group)
    return DeletedGroup(group_id, ErrorCode.NONE)


def write_tombstones(draft: Draft, group: AnyGroup) -> None:
    """A group without members is gone."""
    if isinstance(group, ConsumerGroup):
        draft.write(*group_tombstones(group))
    else:
        draft.write_group(group.group_id, None)
