"""Who leads when brokers come and go: one decision for each partition, over all partitions.

Source: Kafka's `ReplicationControlManager.handleBrokerFenced`, `handleBrokerUnfenced`,
`handleBrokerShutdown` and `generateLeaderAndIsrUpdates`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from kafkalite.controller.partition_change import (
    Candidates,
    Election,
    partition_change,
    target_of,
)
from kafkalite.controller.settings import ControllerSettings
from kafkalite.metadata.image import BrokerImage, MetadataImage, TopicImage
from kafkalite.metadata.registrations import KEEP_LEADER
from kafkalite.protocol.messages.metadata_records import PartitionChangeRecord
from kafkalite.types import NO_LEADER, BrokerId, Uuid


def broker_lost(
    topic: TopicImage,
    index: int,
    lost: BrokerId,
    candidates: Candidates,
    election: Election = Election.ONLINE,
) -> PartitionChangeRecord | None:
    """What a partition becomes when `lost` is none of the candidates any more; None: as it was."""
    partition = topic.partitions[index]
    if lost not in partition.isr:
        return None  # So it does not lead.
    target = target_of(partition)
    return partition_change(
        topic,
        index,
        target._replace(isr=tuple(id for id in target.isr if id != lost)),
        candidates,
        election=election,
    )


def broker_returned(
    topic: TopicImage,
    index: int,
    returned: BrokerId,
    candidates: Candidates,
    election: Election = Election.ONLINE,
) -> PartitionChangeRecord | None:
    """What a partition becomes when a new incarnation of `returned` is one of the candidates.

    It may have lost what was not on disk, and its end may have gone unnoticed: so it leaves the
    in-sync replicas if others are there. If not, and it leads still, then in a new leader epoch, by
    which clients tell (KIP-320).
    """
    partition = topic.partitions[index]
    target = target_of(partition)
    others = tuple(id for id in partition.isr if id != returned)
    if returned in partition.isr and any(candidates.may_lead(partition, id) for id in others):
        return partition_change(topic, index, target._replace(isr=others), candidates)
    if partition.leader == returned:
        return PartitionChangeRecord(partition_id=index, topic_id=topic.id, leader=returned)
    if partition.leader != NO_LEADER or returned not in partition.replicas:
        return None
    return partition_change(topic, index, target, candidates, election=election)


def after_loss(
    image: MetadataImage, lost: BrokerId, candidates: Candidates, settings: ControllerSettings
) -> Iterator[PartitionChangeRecord]:
    """`broker_lost` over all partitions, in the order of topics."""
    for topic in image.topics.values():
        election = settings.election(image, topic.name)
        for index in range(len(topic.partitions)):
            change = broker_lost(topic, index, lost, candidates, election)
            if change is not None:
                yield _with_epoch(change, topic, settings)


def after_return(
    image: MetadataImage,
    returned: BrokerImage,
    candidates: Candidates,
    settings: ControllerSettings,
    *,
    loses_nothing: bool,
) -> Iterator[PartitionChangeRecord]:
    """`broker_returned` over all partitions, in the order of topics; but for those that it still
    leads, if it `loses_nothing`. Replicas in folders that the broker does not have any more are
    lost instead: it came without them."""
    candidates = candidates.joined_by(returned)
    others = candidates.without(returned.id)
    for topic in image.topics.values():
        election = settings.election(image, topic.name)
        for index, partition in enumerate(topic.partitions):
            if partition.is_offline(returned.id, returned.log_dirs):
                change = broker_lost(topic, index, returned.id, others, election)
            elif loses_nothing and partition.leader == returned.id:
                continue
            else:
                change = broker_returned(topic, index, returned.id, candidates, election)
            if change is not None:
                yield _with_epoch(change, topic, settings)


def _with_epoch(
    change: PartitionChangeRecord, topic: TopicImage, settings: ControllerSettings
) -> PartitionChangeRecord:
    """A leader that is named again leads in a new epoch."""
    before = topic.partitions[change.partition_id]
    is_shrunk = change.isr is not None and len(change.isr) < len(before.isr)
    if settings.raises_epoch_of_shrunk and is_shrunk and change.leader == KEEP_LEADER:
        change.leader = before.leader
    return change


def without_leader(
    image: MetadataImage, candidates: Candidates, settings: ControllerSettings
) -> Iterator[PartitionChangeRecord]:
    """Leaders for partitions that have none, where one can be had: a controller that died over
    ZooKeeper may have left some, since it learns there of who comes and goes before it decides."""
    for topic in image.topics.values():
        election = settings.election(image, topic.name)
        for index, partition in enumerate(topic.partitions):
            if partition.leader == NO_LEADER:
                target = target_of(partition)
                change = partition_change(topic, index, target, candidates, election=election)
                if change is not None:
                    yield change


def after_failed_folders(
    image: MetadataImage,
    broker: BrokerId,
    failed: Collection[Uuid],
    candidates: Candidates,
    settings: ControllerSettings,
) -> Iterator[PartitionChangeRecord]:
    """`broker_lost` over the partitions that the broker has in failed folders."""
    others = candidates.without(broker)
    for topic in image.topics.values():
        election = settings.election(image, topic.name)
        for index, partition in enumerate(topic.partitions):
            if partition.directory_of(broker) in failed:
                change = broker_lost(topic, index, broker, others, election)
                if change is not None:
                    yield change


def after_failed_replicas(
    image: MetadataImage,
    broker: BrokerId,
    failed: Iterable[tuple[Uuid, int]],
    candidates: Candidates,
    settings: ControllerSettings,
) -> Iterator[PartitionChangeRecord]:
    """`broker_lost` over these partitions, by topic id and index; those that are gone are passed
    over."""
    others = candidates.without(broker)
    for topic_id, index in failed:
        topic = image.topics_by_id.get(topic_id)
        if topic is not None and index < len(topic.partitions):
            election = settings.election(image, topic.name)
            change = broker_lost(topic, index, broker, others, election)
            if change is not None:
                yield _with_epoch(change, topic, settings)
