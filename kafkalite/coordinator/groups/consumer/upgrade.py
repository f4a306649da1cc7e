"""A classic group with members becomes a consumer group: the first member that speaks the consumer
protocol has come (KIP-848).

The generation becomes the epoch. Members keep their ids and what they have; they go on with
JoinGroup, SyncGroup and Heartbeat (`classic_members.py`). Those who wait are told to join again.

Source: Kafka's `GroupMetadataManager.convertToConsumerGroup` and `ConsumerGroup.fromClassicGroup`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NoReturn

from kafkalite.coordinator.groups.classic.embedded import read_assignment, read_subscription
from kafkalite.coordinator.groups.classic.events import Joined, Synced
from kafkalite.coordinator.groups.classic.rebalance import (
    answer_join,
    answer_sync,
    join_timer,
    session_timer,
    sync_timer,
)
from kafkalite.coordinator.groups.classic.state import CONSUMER_PROTOCOL_TYPE, ClassicGroup
from kafkalite.coordinator.groups.classic.state import Member as ClassicMember
from kafkalite.coordinator.groups.consumer.member_records import (
    assignment_epoch_record,
    current_record,
    epoch_record,
    member_record,
    target_record,
)
from kafkalite.coordinator.groups.consumer.replay import ConsumerGroups, replay
from kafkalite.coordinator.groups.consumer.state import (
    NEVER,
    ClassicUse,
    ConsumerGroup,
    Member,
)
from kafkalite.coordinator.groups.consumer.targets import metadata_hash
from kafkalite.coordinator.groups.consumer.timers import keep_session
from kafkalite.coordinator.groups.draft import Draft
from kafkalite.coordinator.groups.log_record import Record
from kafkalite.coordinator.groups.settings import ConsumerSettings
from kafkalite.coordinator.java_maps import timeline_order
from kafkalite.coordinator.partitioner import java_hash
from kafkalite.errors import ErrorCode, KafkaError, ProtocolError
from kafkalite.metadata.image import MetadataImage
from kafkalite.types import Uuid


def upgrade(draft: Draft, group: ClassicGroup, image: MetadataImage) -> ConsumerGroup:
    """Write it, and what it will be. `KafkaError`: GROUP_ID_NOT_FOUND where that cannot be,
    UNKNOWN_SERVER_ERROR while the group has had no generation yet.

    Kafka differs: members who wait are answered even if the request that upgrades is then
    refused."""
    _check(group, draft.settings.consumer)
    members = _members(group, image)
    draft.write_group(group.group_id, None)
    groups: ConsumerGroups = {}
    for record in _records(group, members, image):
        draft.write(record)
        replay(groups, record)
    draft.rebalance(group.group_id, "a member speaks the consumer protocol")
    return groups[group.group_id]


def leave_behind(draft: Draft, group: ClassicGroup) -> None:
    """The classic group is one no more: whoever waits joins again. Sessions go on as they were."""
    draft.cancel_timer(join_timer(group.group_id))
    draft.cancel_timer(sync_timer(group.group_id))
    for member_id in sorted(group.pending_members):
        draft.cancel_timer(session_timer(group.group_id, member_id))
    for member in group.members.values():
        answer_join(draft, member, Joined(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))
        answer_sync(draft, member, Synced(ErrorCode.REBALANCE_IN_PROGRESS))
        draft.cancel_timer(session_timer(group.group_id, member.member_id))
        keep_session(draft, group.group_id, member.member_id, member.session_timeout_ms)


def _check(group: ClassicGroup, settings: ConsumerSettings) -> None:
    if not settings.migration.allows_upgrade:
        _refuse(group, "online upgrade is disabled.")
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        _refuse(group, "the group does not use the consumer embedded protocol.")
    if len(group.members) > settings.max_size:
        _refuse(group, "the group size exceeds the consumer group maximum size.")
    if group.protocol is None or any(
        all(mine.name != group.protocol for mine in member.protocols)
        for member in group.members.values()
    ):
        # Between two generations; there Kafka fails.
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


def _refuse(group: ClassicGroup, why: str) -> NoReturn:
    raise KafkaError(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {group.group_id} to consumer group because {why}",
    )


def _members(group: ClassicGroup, image: MetadataImage) -> list[Member]:
    try:
        members = [_member(group, each, image) for each in group.members.values()]
    except ProtocolError:
        _refuse(group, "the embedded consumer protocol is malformed.")
    by_id = {member.member_id: member for member in members}
    return [by_id[member_id] for member_id in timeline_order(by_id, java_hash)]


def _member(group: ClassicGroup, member: ClassicMember, image: MetadataImage) -> Member:
    assert group.protocol is not None, group
    subscription = read_subscription(member.metadata(group.protocol))
    epoch = group.generation
    return Member(
        member.member_id,
        member.instance_id,
        subscription.rack_id or None,
        member.client_id,
        member.client_host,
        tuple(sorted({*subscription.topics})),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        epoch=epoch,
        previous_epoch=epoch,
        assigned={
            topic: dict.fromkeys(indexes, epoch)
            for topic, indexes in _assigned(group, member, image).items()
        },
        classic=ClassicUse(member.session_timeout_ms, member.protocols),
    )


def _assigned(
    group: ClassicGroup, member: ClassicMember, image: MetadataImage
) -> Mapping[Uuid, tuple[int, ...]]:
    """Of topics that exist."""
    if not member.assignment:
        return {}
    assignment = read_assignment(member.assignment)
    if assignment.user_data:
        _refuse(
            group,
            "an unsupported custom assignor is in use. Please refer to the documentation or switch"
            " to a default assignor before re-attempting the upgrade.",
        )
    named = ((image.topics.get(p.topic), p.partitions) for p in assignment.assigned_partitions)
    return {topic.id: tuple(sorted({*indexes})) for topic, indexes in named if topic and indexes}


def _records(group: ClassicGroup, members: list[Member], image: MetadataImage) -> Iterator[Record]:
    group_id, epoch = group.group_id, group.generation
    for member in members:
        yield member_record(group_id, member)
    names = frozenset(topic for member in members for topic in member.topics)
    yield epoch_record(group_id, epoch, metadata_hash(names, image))
    for member in members:
        target = {topic: tuple(epochs) for topic, epochs in member.assigned.items()}
        yield target_record(group_id, member.member_id, target)
    yield assignment_epoch_record(group_id, epoch, NEVER)
    for member in members:
        yield current_record(group_id, member)
