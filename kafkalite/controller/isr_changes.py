"""AlterPartition: a leader's proposals of in-sync replicas, each taken or refused for itself.

A proposal that has the last of the replicas that are being added in sync completes the
reassignment; if its leader is one of those that go, another is elected in the same record.

Source: Kafka's `ReplicationControlManager.alterPartition`, `validateAlterPartitionData` and
`ineligibleReplicasForIsr` (KIP-497, KIP-704, KIP-841, KIP-903).
"""

from __future__ import annotations

from kafkalite.controller.brokers import check_broker_epoch
from kafkalite.controller.partition_change import (
    RECOVERED,
    RECOVERING,
    candidates_of,
    partition_change,
    target_of,
)
from kafkalite.controller.replica_events import (
    AlteredPartition,
    AlterPartitions,
    PartitionsAltered,
    ProposedIsr,
)
from kafkalite.controller.settings import ControllerSettings
from kafkalite.errors import ErrorCode
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import MetadataImage, PartitionImage
from kafkalite.metadata.registrations import KEEP_LEADER, changed_partition
from kafkalite.types import NO_BROKER_EPOCH, BrokerId, IsrMember


def alter_partitions(
    image: MetadataImage, event: AlterPartitions, settings: ControllerSettings
) -> tuple[list[Change], PartitionsAltered]:
    """A record for each proposal that is taken, and an answer for each.
    `KafkaError(STALE_BROKER_EPOCH)` for another incarnation of the broker."""
    check_broker_epoch(image, event.broker_id, event.broker_epoch)
    candidates = candidates_of(image)
    records: list[Change] = []
    answers = []
    for proposed in event.partitions:
        topic = image.topics_by_id.get(proposed.topic_id)
        if topic is None:
            answers.append(_refused(proposed, ErrorCode.UNKNOWN_TOPIC_ID))
            continue
        index = proposed.partition
        if not 0 <= index < len(topic.partitions):
            answers.append(_refused(proposed, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            continue
        before = topic.partitions[index]
        code = _fenced(before, event.broker_id, proposed) or _invalid(image, before, proposed)
        if code is not None:
            answers.append(_refused(proposed, code))
            continue
        change = partition_change(
            topic,
            index,
            target_of(before)._replace(
                isr=tuple(member.broker_id for member in proposed.new_isr),
                leader_recovery_state=proposed.leader_recovery_state,
            ),
            candidates,
            rules=settings.rules(image, topic),
        )
        after = before
        if change is not None:
            records.append(change)
            after = changed_partition(before, change)
            if change.leader not in (KEEP_LEADER, event.broker_id):
                answers.append(_refused(proposed, ErrorCode.NEW_LEADER_ELECTED))
                continue
        answers.append(_taken(proposed, after))
    return records, PartitionsAltered(tuple(answers))


def _fenced(before: PartitionImage, broker: BrokerId, proposed: ProposedIsr) -> ErrorCode | None:
    """Whether the broker is not the leader that the controller knows, or has not seen the newest
    state. Epochs from the future mean that the controller is the one who is behind."""
    if (
        proposed.leader_epoch > before.leader_epoch
        or proposed.partition_epoch > before.partition_epoch
    ):
        return ErrorCode.NOT_CONTROLLER
    if proposed.leader_epoch < before.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if broker != before.leader:
        return ErrorCode.INVALID_REQUEST
    if proposed.partition_epoch < before.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    return None


def _invalid(
    image: MetadataImage, before: PartitionImage, proposed: ProposedIsr
) -> ErrorCode | None:
    isr = [member.broker_id for member in proposed.new_isr]
    state = proposed.leader_recovery_state
    if not set(isr) <= set(before.replicas) or len(set(isr)) < len(isr) or before.leader not in isr:
        return ErrorCode.INVALID_REQUEST
    if state not in (RECOVERED, RECOVERING) or (state == RECOVERING and len(isr) > 1):
        return ErrorCode.INVALID_REQUEST
    if state == RECOVERING and before.leader_recovery_state == RECOVERED:
        return ErrorCode.INVALID_REQUEST
    if not all(_is_eligible(image, member) for member in proposed.new_isr):
        return ErrorCode.INELIGIBLE_REPLICA
    return None


def _is_eligible(image: MetadataImage, member: IsrMember) -> bool:
    """Whether the incarnation that caught up is active still."""
    broker = image.brokers.get(member.broker_id)
    if broker is None or not broker.active:
        return False
    return member.broker_epoch in (NO_BROKER_EPOCH, broker.epoch)


def _refused(proposed: ProposedIsr, code: ErrorCode) -> AlteredPartition:
    return AlteredPartition(proposed.topic_id, proposed.partition, code)


def _taken(proposed: ProposedIsr, after: PartitionImage) -> AlteredPartition:
    return AlteredPartition(
        proposed.topic_id,
        proposed.partition,
        leader=after.leader,
        leader_epoch=after.leader_epoch,
        isr=after.isr,
        leader_recovery_state=after.leader_recovery_state,
        partition_epoch=after.partition_epoch,
    )
