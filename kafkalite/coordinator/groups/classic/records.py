"""What a classic group's record says of it, and back.

Source: Kafka's `GroupCoordinatorRecordHelpers`.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.classic.events import GroupProtocol
from kafkalite.coordinator.groups.classic.state import ClassicGroup, GroupState, Member
from kafkalite.protocol.messages.classic_group_records import GroupMetadataValue, MemberMetadata
from kafkalite.types import TimestampMs


def record_of(group: ClassicGroup) -> GroupMetadataValue:
    """What is written of a group that is complete: its generation, or that it is empty."""
    protocol = group.protocol
    return GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=protocol,
        leader=group.leader,
        current_state_timestamp=group.state_timestamp,
        members=[
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata(protocol),
                assignment=member.assignment,
            )
            for member in group.members.values()
            if protocol is not None
        ],
    )


def group_of(group_id: str, value: GroupMetadataValue | None) -> ClassicGroup:
    """The group that was written; None: a simple consumer's, which has offsets and no record."""
    group = ClassicGroup(group_id)
    if value is None:
        return group
    group.generation = value.generation
    group.protocol_type = value.protocol_type or None
    group.protocol = value.protocol
    group.state_timestamp = TimestampMs(value.current_state_timestamp)
    for member in value.members:
        timeout = member.rebalance_timeout
        group.add(
            Member(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                member.session_timeout if timeout == -1 else timeout,
                member.session_timeout,
                (GroupProtocol(value.protocol or "", bytes(member.subscription)),),
                bytes(member.assignment),
            )
        )
        group.state = GroupState.STABLE
    group.leader = value.leader
    group.update_subscribed_topics()
    return group
