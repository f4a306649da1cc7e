"""What tools are told about consumer groups.

Source: Kafka's `ConsumerGroup.asDescribedGroup`; KIP-848, KIP-1099 (the member's type).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kafkalite.coordinator.groups.consumer.events import (
    DescribedConsumer,
    DescribedConsumerGroup,
    DescribedPartitions,
)
from kafkalite.coordinator.groups.consumer.state import NOTHING, ConsumerGroup, Member
from kafkalite.coordinator.groups.consumer.targets import preferred_assignor
from kafkalite.coordinator.java_maps import hash_set_order, timeline_order
from kafkalite.coordinator.partitioner import java_hash
from kafkalite.errors import ErrorCode
from kafkalite.metadata.image import MetadataImage
from kafkalite.types import Uuid


def described(
    group: ConsumerGroup, image: MetadataImage, default_assignor: str
) -> DescribedConsumerGroup:
    """All that is known of it. Topics that are gone are left out."""
    members = [group.members[id] for id in timeline_order(group.members, java_hash)]
    return DescribedConsumerGroup(
        group.group_id,
        group.state.value,
        group.epoch,
        group.assignment_epoch,
        preferred_assignor(group.assignors, default_assignor),
        tuple(_member(group, member, image) for member in members),
    )


def not_described(group_id: str, *, is_of_another_kind: bool) -> DescribedConsumerGroup:
    """There is no consumer group of that id."""
    why = "is not a consumer group" if is_of_another_kind else "not found"
    return DescribedConsumerGroup(
        group_id, code=ErrorCode.GROUP_ID_NOT_FOUND, message=f"Group {group_id} {why}."
    )


def _member(group: ConsumerGroup, member: Member, image: MetadataImage) -> DescribedConsumer:
    target = group.targets.get(member.member_id, NOTHING)
    return DescribedConsumer(
        member.member_id,
        member.instance_id,
        member.rack_id,
        member.epoch,
        member.client_id,
        member.client_host,
        tuple(hash_set_order(member.topics, java_hash)),
        member.regex,
        tuple(_named(_held(member), image)),
        tuple(_named(target, image)),
        is_classic=member.classic is not None,
    )


def _held(member: Member) -> dict[Uuid, list[int]]:
    """What it has, and behind that what it still gives up."""
    held: dict[Uuid, list[int]] = {}
    for owned in (member.assigned, member.revoking):
        for topic, epochs in owned.items():
            held.setdefault(topic, []).extend(epochs)
    return held


def _named(
    partitions: Mapping[Uuid, Iterable[int]], image: MetadataImage
) -> Iterator[DescribedPartitions]:
    for topic_id, indexes in partitions.items():
        topic = image.topics_by_id.get(topic_id)
        if topic is not None:
            yield DescribedPartitions(topic_id, topic.name, tuple(indexes))
