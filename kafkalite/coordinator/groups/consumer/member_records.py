"""What a consumer group writes: Kafka's own records, from its values and back.

Source: Kafka's `GroupCoordinatorRecordHelpers`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kafkalite.coordinator.groups.assignors.subject import Partitions
from kafkalite.coordinator.groups.classic.events import GroupProtocol
from kafkalite.coordinator.groups.consumer.state import (
    NOTHING,
    ClassicUse,
    ConsumerGroup,
    Member,
    MemberState,
    Owned,
    ResolvedRegex,
)
from kafkalite.coordinator.groups.log_record import Record
from kafkalite.protocol.messages.consumer_group_records import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    TopicPartition,
    TopicPartitions,
)
from kafkalite.types import TimestampMs

_UNKNOWN_EPOCH = 0
"""Of partitions in records of releases before 4.4: any epoch of the member may commit for them."""


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> Record:
    """The group has come to this epoch."""
    value = ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return Record(ConsumerGroupMetadataKey(group_id=group_id), value)


def member_record(group_id: str, member: Member) -> Record:
    """What the member says of itself."""
    value = ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topics),
        subscribed_topic_regex=member.regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.assignor,
        classic_member_metadata=None if member.classic is None else _classic(member.classic),
    )
    key = ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id)
    return Record(key, value)


def _classic(use: ClassicUse) -> ClassicMemberMetadata:
    return ClassicMemberMetadata(
        session_timeout_ms=use.session_timeout_ms,
        supported_protocols=[
            ClassicProtocol(name=mine.name, metadata=mine.metadata) for mine in use.protocols
        ],
    )


def said_by(value: ConsumerGroupMemberMetadataValue) -> dict[str, object]:
    """The fields of `Member` that `member_record` writes."""
    classic = value.classic_member_metadata
    return {
        "instance_id": value.instance_id,
        "rack_id": value.rack_id,
        "client_id": value.client_id,
        "client_host": value.client_host,
        "topics": tuple(value.subscribed_topic_names),
        "regex": value.subscribed_topic_regex or "",
        "rebalance_timeout_ms": value.rebalance_timeout_ms,
        "assignor": value.server_assignor,
        "classic": None
        if classic is None
        else ClassicUse(
            classic.session_timeout_ms,
            tuple(GroupProtocol(each.name, each.metadata) for each in classic.supported_protocols),
        ),
    }


def target_record(group_id: str, member_id: str, target: Partitions) -> Record:
    """What the member is to have."""
    value = ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=[
            TopicPartition(topic_id=topic, partitions=list(indexes))
            for topic, indexes in target.items()
        ]
    )
    key = ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return Record(key, value)


def target_of(value: ConsumerGroupTargetAssignmentMemberValue) -> Partitions:
    """The inverse."""
    return {each.topic_id: tuple(sorted(each.partitions)) for each in value.topic_partitions}


def assignment_epoch_record(group_id: str, epoch: int, timestamp: TimestampMs) -> Record:
    """All have a target for this epoch; made at `timestamp`, or 0 for none."""
    value = ConsumerGroupTargetAssignmentMetadataValue(
        assignment_epoch=epoch, assignment_timestamp=timestamp
    )
    return Record(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def current_record(group_id: str, member: Member) -> Record:
    """Where the member stands, and what it has."""
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state,
        assigned_partitions=_written(member.assigned),
        partitions_pending_revocation=_written(member.revoking),
    )
    key = ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id)
    return Record(key, value)


def standing_of(value: ConsumerGroupCurrentMemberAssignmentValue) -> dict[str, object]:
    """The fields of `Member` that `current_record` writes."""
    known = value.state in set(MemberState)
    return {
        "epoch": value.member_epoch,
        "previous_epoch": value.previous_member_epoch,
        "state": MemberState(value.state) if known else MemberState.UNKNOWN,
        "assigned": _read(value.assigned_partitions),
        "revoking": _read(value.partitions_pending_revocation),
    }


def _written(owned: Owned) -> list[TopicPartitions]:
    return [
        TopicPartitions(
            topic_id=topic, partitions=list(epochs), assignment_epochs=list(epochs.values())
        )
        for topic, epochs in owned.items()
    ]


def _read(topics: Sequence[TopicPartitions]) -> Owned:
    read = {}
    for each in topics:
        epochs = each.assignment_epochs
        if epochs is None or len(epochs) != len(each.partitions):
            epochs = [_UNKNOWN_EPOCH] * len(each.partitions)
        read[each.topic_id] = dict(zip(each.partitions, epochs, strict=True))
    return read


def regex_record(group_id: str, regex: str, resolved: ResolvedRegex | None) -> Record:
    """What the regular expression stands for; None: nobody subscribes to it any more."""
    key = ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
    if resolved is None:
        return Record(key, None)
    value = ConsumerGroupRegularExpressionValue(
        topics=sorted(resolved.topics), version=resolved.version, timestamp=resolved.timestamp
    )
    return Record(key, value)


def resolved_of(value: ConsumerGroupRegularExpressionValue) -> ResolvedRegex:
    """The inverse."""
    return ResolvedRegex(frozenset(value.topics), value.version, TimestampMs(value.timestamp))


def removal_records(group_id: str, member_id: str) -> Iterator[Record]:
    """Tombstones: the member is out."""
    yield Record(
        ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None
    )
    yield Record(
        ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None
    )
    yield Record(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None)


def group_tombstones(
    group: ConsumerGroup, renamed: Mapping[str, str] = NOTHING
) -> Iterator[Record]:
    """The group is gone, with all of its members and regular expressions. `renamed`: the member id
    of one who was replaced just before -> its new one."""
    group_id = group.group_id
    member_ids = [renamed.get(member_id, member_id) for member_id in group.members]
    for member_id in member_ids:
        key = ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)
        yield Record(key, None)
    for member_id in member_ids:
        target = ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
        yield Record(target, None)
    yield Record(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None)
    for member_id in member_ids:
        said = ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id)
        yield Record(said, None)
    for regex in group.regexes:
        yield regex_record(group_id, regex, None)
    yield Record(ConsumerGroupPartitionMetadataKey(group_id=group_id), None)
    yield Record(ConsumerGroupMetadataKey(group_id=group_id), None)
