"""Who leads a partition when brokers come and go: pure functions from a partition to its change.

The leader is the first in the order of the assignment that is active and in the in-sync replicas. A
partition whose last in-sync replica goes keeps it there, without a leader, and waits for it:
another replica could lack acknowledged records.

Kafka differs: a new cluster there keeps eligible leader replicas (KIP-966), from which it elects
when no replica is in sync. Here it keeps none; but partitions that a Kafka left to such replicas
get their leader from those.

Source: Kafka's `PartitionChangeBuilder` and `ReplicationControlManager.handleBroker...`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kafkalite.metadata.image import MetadataImage, PartitionImage, TopicImage
from kafkalite.protocol.messages.metadata_records import (
    PartitionChangeRecord,
)
from kafkalite.types import NO_LEADER, BrokerId, Uuid

_RECOVERING = 1


def elect(partition: PartitionImage, candidates: Collection[BrokerId]) -> BrokerId:
    """The preferred one of the candidates; `NO_LEADER` when none is a replica."""
    return next((id for id in partition.replicas if id in candidates), NO_LEADER)


def broker_lost(
    topic: TopicImage, index: int, lost: BrokerId, active: Collection[BrokerId]
) -> PartitionChangeRecord | None:
    """What a partition becomes when `lost` is no longer active (`active` lacks it); None: as it
    was."""
    partition = topic.partitions[index]
    leads = partition.leader == lost
    isr: list[int] = [id for id in partition.isr if id != lost]
    if not leads and (len(isr) == len(partition.isr) or not isr):
        return None
    change = PartitionChangeRecord(partition_id=index, topic_id=topic.id)
    if isr and len(isr) < len(partition.isr):
        change.isr = isr
    if leads:
        change.leader = elect(
            partition, [id for id in partition.isr if id != lost and id in active]
        )
    return change


def broker_returned(
    topic: TopicImage, index: int, returned: BrokerId, active: Collection[BrokerId]
) -> PartitionChangeRecord | None:
    """What a partition becomes when a new incarnation of `returned` is active (`active` has it).

    One that it still leads, since it went unnoticed, gets a new leader epoch: it may have lost what
    was not on disk, and clients tell by the epoch (KIP-320). Any other in-sync replica comes first.
    """
    partition = topic.partitions[index]
    change = PartitionChangeRecord(partition_id=index, topic_id=topic.id)
    if partition.leader == returned:
        others = [id for id in partition.isr if id != returned and id in active]
        change.leader = elect(partition, others or [returned])
        if others:
            change.isr = [id for id in partition.isr if id != returned]
        return change
    if partition.leader != NO_LEADER or returned not in partition.replicas:
        return None
    in_sync = [id for id in partition.isr if id in active]
    if in_sync:
        change.leader = elect(partition, in_sync)
    elif returned in partition.eligible_leader_replicas:
        change.leader = returned
        change.isr = [returned]
        change.eligible_leader_replicas = [
            id for id in partition.eligible_leader_replicas if id != returned
        ]
        change.last_known_elr = []
    elif (
        not partition.isr
        and not partition.eligible_leader_replicas
        and returned in partition.last_known_elr
    ):
        change.leader = returned
        change.isr = [returned]
        change.leader_recovery_state = _RECOVERING
        change.last_known_elr = []
    else:
        return None
    return change


def after_loss(
    image: MetadataImage, lost: BrokerId, active: Collection[BrokerId]
) -> Iterator[PartitionChangeRecord]:
    """`broker_lost` over all partitions, in the order of topics."""
    for topic in image.topics.values():
        for index in range(len(topic.partitions)):
            change = broker_lost(topic, index, lost, active)
            if change is not None:
                yield change


def after_return(
    image: MetadataImage,
    returned: BrokerId,
    active: Collection[BrokerId],
    *,
    log_dirs: Collection[Uuid],
    loses_nothing: bool,
) -> Iterator[PartitionChangeRecord]:
    """`broker_returned` over all partitions, in the order of topics; but for those that it still
    leads, if it `loses_nothing`. Replicas in folders that are none of its `log_dirs` are lost
    instead: it came without them."""
    others = [id for id in active if id != returned]
    for topic in image.topics.values():
        for index, partition in enumerate(topic.partitions):
            if partition.is_offline(returned, log_dirs):
                change = broker_lost(topic, index, returned, others)
            elif loses_nothing and partition.leader == returned:
                continue
            else:
                change = broker_returned(topic, index, returned, active)
            if change is not None:
                yield change
