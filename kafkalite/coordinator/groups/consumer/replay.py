"""Folds the records of consumer groups into the groups: their only writer.

Records come in the order of the log, but those that a later one made superfluous may be missing
where the log was compacted. So a group and a member come to be with the first record that has
something to say of them.

Source: Kafka's `GroupMetadataManager.replay`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkalite.coordinator.groups.consumer.member_records import (
    resolved_of,
    said_by,
    standing_of,
    target_of,
)
from kafkalite.coordinator.groups.consumer.state import (
    LEAVING_EPOCH,
    NOTHING,
    ConsumerGroup,
    Member,
    MemberState,
)
from kafkalite.coordinator.groups.log_record import Record
from kafkalite.protocol.messages import consumer_group_records as wire
from kafkalite.protocol.schema import CoordinatorKey
from kafkalite.types import TimestampMs

ConsumerGroups = dict[str, ConsumerGroup]


def replay(groups: ConsumerGroups, record: Record) -> str | None:
    """Fold a record in. The id of the group that it is of; None: it is of another kind."""
    rule = _RULES.get(type(record.key))
    if rule is None:
        return None
    group_id: str = record.key.group_id  # type: ignore[attr-defined]  # All keys of _RULES have it.
    group = groups.get(group_id)
    if group is None:
        if record.value is None:
            return group_id
        group = groups[group_id] = ConsumerGroup(group_id)
    if record.value is None and isinstance(record.key, wire.ConsumerGroupMetadataKey):
        del groups[group_id]
    else:
        rule(group, record.key, record.value)
    return group_id


def _epoch(group: ConsumerGroup, key: Any, value: Any) -> None:
    group.epoch = value.epoch
    group.metadata_hash = value.metadata_hash


def _member(group: ConsumerGroup, key: Any, value: Any) -> None:
    member = group.members.get(key.member_id)
    if value is None:
        if member is not None:
            _own(group, member, member._replace(assigned=NOTHING, revoking=NOTHING))
            _leave_place(group, member)
            group.count(member, None)
            del group.members[member.member_id]
        return
    known = Member(key.member_id)
    if member is not None:
        _leave_place(group, member)
        known = member
    said = said_by(value)
    updated = known._replace(**said)  # type: ignore[arg-type]  # `said_by` names Member's fields.
    group.members[key.member_id] = updated
    group.count(member, updated)
    if updated.instance_id is not None:
        group.static_members[updated.instance_id] = updated.member_id


def _leave_place(group: ConsumerGroup, member: Member) -> None:
    """A static member that was replaced has no place to leave."""
    if member.instance_id is not None:
        holder = group.static_members.get(member.instance_id)
        if holder == member.member_id:
            del group.static_members[member.instance_id]


def _target(group: ConsumerGroup, key: Any, value: Any) -> None:
    if value is None:
        group.targets.pop(key.member_id, None)
    else:
        group.targets[key.member_id] = target_of(value)


def _assignment_epoch(group: ConsumerGroup, key: Any, value: Any) -> None:
    if value is None:
        group.assignment_epoch, group.assignment_timestamp = LEAVING_EPOCH, TimestampMs(0)
    else:
        group.assignment_epoch = value.assignment_epoch
        group.assignment_timestamp = TimestampMs(value.assignment_timestamp)


def _standing(group: ConsumerGroup, key: Any, value: Any) -> None:
    member = group.members.get(key.member_id)
    if member is None:
        if value is None:
            return
        member = Member(key.member_id)
        group.count(None, member)
    standing = (
        {
            "epoch": LEAVING_EPOCH,
            "previous_epoch": LEAVING_EPOCH,
            "state": MemberState.STABLE,
            "assigned": NOTHING,
            "revoking": NOTHING,
        }
        if value is None
        else standing_of(value)
    )
    updated = member._replace(**standing)  # type: ignore[arg-type]  # They are Member's fields.
    _own(group, member, updated)
    group.members[key.member_id] = updated


def _own(group: ConsumerGroup, before: Member, after: Member) -> None:
    """Keep `owner_epochs` in step."""
    for owned in (before.assigned, before.revoking):
        for topic, epochs in owned.items():
            for index in epochs:
                group.owner_epochs.pop((topic, index), None)
    for owned in (after.assigned, after.revoking):
        for topic, epochs in owned.items():
            for index in epochs:
                group.owner_epochs[topic, index] = after.epoch


def _regex(group: ConsumerGroup, key: Any, value: Any) -> None:
    if value is None:
        group.regexes.pop(key.regular_expression, None)
    else:
        group.regexes[key.regular_expression] = resolved_of(value)


def _superseded(group: ConsumerGroup, key: Any, value: Any) -> None:
    """Releases before 4.1 wrote what topics are like; since then a hash of it is enough."""


# `Any`: each rule takes the key and the value of its own line.
_RULES: dict[type[CoordinatorKey], Callable[[ConsumerGroup, Any, Any], None]] = {
    wire.ConsumerGroupMetadataKey: _epoch,
    wire.ConsumerGroupPartitionMetadataKey: _superseded,
    wire.ConsumerGroupMemberMetadataKey: _member,
    wire.ConsumerGroupTargetAssignmentMetadataKey: _assignment_epoch,
    wire.ConsumerGroupTargetAssignmentMemberKey: _target,
    wire.ConsumerGroupCurrentMemberAssignmentKey: _standing,
    wire.ConsumerGroupRegularExpressionKey: _regex,
}
