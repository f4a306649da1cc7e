"""Who leads when brokers come and go: one decision for each partition, over all partitions.

Source: Kafka's `ReplicationControlManager.handleBrokerFenced`, `handleBrokerUnfenced`,
`handleBrokerShutdown` and `generateLeaderAndIsrUpdates`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from kafkalite.controller.partition_change import (
    ONLINE,
    Candidates,
    Rules,
    partition_change,
    target_of,
)
from kafkalite.controller.settings import ControllerSettings
from kafkalite.metadata.image import BrokerImage, MetadataImage, PartitionImage, TopicImage
from kafkalite.metadata.registrations import KEEP_LEADER, changed_partition
from kafkalite.protocol.messages.metadata_records import PartitionChangeRecord
from kafkalite.types import NO_LEADER, BrokerId, Uuid


def broker_lost(
    topic: TopicImage,
    index: int,
    lost: BrokerId,
    candidates: Candidates,
    rules: Rules = ONLINE,
    *,
    loses_records: bool = False,
) -> PartitionChangeRecord | None:
    """What a partition becomes when `lost` is none of the candidates any more; None: as it was.
    `loses_records`: its replica is not eligible either."""
    partition = topic.partitions[index]
    if not (lost in partition.isr or (loses_records and _is_eligible(partition, lost))):
        return None  # So it does not lead.
    target = target_of(partition)._replace(
        isr=_without(partition.isr, lost), unclean_stop=lost if loses_records else None
    )
    return partition_change(topic, index, target, candidates, rules=rules)


def broker_returned(
    topic: TopicImage,
    index: int,
    returned: BrokerId,
    candidates: Candidates,
    rules: Rules = ONLINE,
    *,
    is_clean: bool = False,
) -> list[PartitionChangeRecord]:
    """What a partition becomes when a new incarnation of `returned` is one of the candidates.

    Unless its stop `is_clean` it may have lost what was not on disk. Its end may have gone
    unnoticed: so it leaves the in-sync replicas, and leads again if nobody else can. Where none are
    eligible it leaves them only if others are there. If not, and it leads still, then in a new
    leader epoch, by which clients tell (KIP-320).
    """
    partition = topic.partitions[index]
    if rules.min_in_sync is not None:
        return _returned_to_eligible(topic, index, returned, candidates, rules, is_clean=is_clean)
    target = target_of(partition)
    others = _without(partition.isr, returned)
    if returned in partition.isr and any(candidates.may_lead(partition, id) for id in others):
        change = partition_change(topic, index, target._replace(isr=others), candidates)
    elif partition.leader == returned:
        change = PartitionChangeRecord(partition_id=index, topic_id=topic.id, leader=returned)
    elif partition.leader != NO_LEADER or returned not in partition.replicas:
        change = None
    else:
        change = partition_change(topic, index, target, candidates, rules=rules)
    return [] if change is None else [change]


def _returned_to_eligible(
    topic: TopicImage,
    index: int,
    returned: BrokerId,
    candidates: Candidates,
    rules: Rules,
    *,
    is_clean: bool,
) -> list[PartitionChangeRecord]:
    """Its end, if that was not known, and then its return: a record for each, as in Kafka."""
    others = candidates.without(returned)
    records = _made(broker_lost(topic, index, returned, others, rules, loses_records=not is_clean))
    partition = topic.partitions[index]
    for record in records:
        partition = changed_partition(partition, record)
    if partition.leader == NO_LEADER and returned in partition.replicas:
        partitions = (*topic.partitions[:index], partition, *topic.partitions[index + 1 :])
        now = topic._replace(partitions=partitions)
        records += _made(
            partition_change(now, index, target_of(partition), candidates, rules=rules)
        )
    return records


def _made(change: PartitionChangeRecord | None) -> list[PartitionChangeRecord]:
    return [] if change is None else [change]


def _is_eligible(partition: PartitionImage, id: BrokerId) -> bool:
    return id in partition.eligible_leader_replicas


def _without(isr: tuple[BrokerId, ...], gone: BrokerId) -> tuple[BrokerId, ...]:
    return tuple(id for id in isr if id != gone)


def after_loss(
    image: MetadataImage, lost: BrokerId, candidates: Candidates, settings: ControllerSettings
) -> Iterator[PartitionChangeRecord]:
    """`broker_lost` over all partitions, in the order of topics."""
    for topic in image.topics.values():
        rules = settings.rules(image, topic)
        for index in range(len(topic.partitions)):
            change = broker_lost(topic, index, lost, candidates, rules)
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
        rules = settings.rules(image, topic)
        for index, partition in enumerate(topic.partitions):
            if partition.is_offline(returned.id, returned.log_dirs):
                changes = _made(
                    broker_lost(topic, index, returned.id, others, rules, loses_records=True)
                )
            elif loses_nothing and partition.leader == returned.id:
                continue
            else:
                changes = broker_returned(
                    topic, index, returned.id, candidates, rules, is_clean=loses_nothing
                )
            for change in changes:
                yield _with_epoch(change, topic, settings)


def _with_epoch(
    change: PartitionChangeRecord, topic: TopicImage, settings: ControllerSettings
) -> PartitionChangeRecord:
    """A leader that is named again leads in a new epoch."""
    before = topic.partitions[change.partition_id]
    is_shrunk = change.isr is not None and len(change.isr) < len(before.isr)
    if settings.over_zookeeper and is_shrunk and change.leader == KEEP_LEADER:
        change.leader = before.leader
    return change


def without_leader(
    image: MetadataImage, candidates: Candidates, settings: ControllerSettings
) -> Iterator[PartitionChangeRecord]:
    """Leaders for partitions that have none, where one can be had: a controller that died over
    ZooKeeper may have left some, since it learns there of who comes and goes before it decides."""
    for topic in image.topics.values():
        rules = settings.rules(image, topic)
        for index, partition in enumerate(topic.partitions):
            if partition.leader == NO_LEADER:
                target = target_of(partition)
                change = partition_change(topic, index, target, candidates, rules=rules)
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
        rules = settings.rules(image, topic)
        for index, partition in enumerate(topic.partitions):
            if partition.directory_of(broker) in failed:
                change = broker_lost(topic, index, broker, others, rules)
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
            rules = settings.rules(image, topic)
            change = broker_lost(topic, index, broker, others, rules, loses_records=True)
            if change is not None:
                yield _with_epoch(change, topic, settings)
