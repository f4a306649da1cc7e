"""Committed offsets of a group: who may commit, what is kept, and for how long.

Source: Kafka's `OffsetMetadataManager`; KIP-211 (expiry), KIP-447 (stable offsets), KIP-496
(deleting them).
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkalite.coordinator.groups.classic.rebalance import keep_session
from kafkalite.coordinator.groups.classic.state import ClassicGroup, GroupState
from kafkalite.coordinator.groups.consumer.committers import (
    check_commit,
    check_commit_in_transaction,
    check_fetch,
)
from kafkalite.coordinator.groups.consumer.state import ConsumerGroup
from kafkalite.coordinator.groups.draft import Draft
from kafkalite.coordinator.groups.log_record import TransactionEnded
from kafkalite.coordinator.groups.offset_events import (
    CommitOffsets,
    CommittedOffset,
    CommitTransactionalOffsets,
    DeletedOffset,
    DeleteOffsets,
    EndTransactionalOffsets,
    FetchedOffset,
    FetchOffsets,
    OffsetsCommitted,
    OffsetsDeleted,
    OffsetsFetched,
    OffsetToCommit,
    TopicPartitions,
    TransactionalOffsetsEnded,
)
from kafkalite.coordinator.offsets import CommittedOffsets
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.messages.classic_group_records import OffsetCommitValue
from kafkalite.types import LeaderEpoch, Offset, TimestampMs, TopicPartition

AnyGroup = ClassicGroup | ConsumerGroup
"""Kinds of groups that commit offsets."""


def commit(draft: Draft, group: AnyGroup | None, event: CommitOffsets) -> None:
    """Keep the offsets. A commit shows, as a heartbeat does, that a classic group's member is
    alive.

    Kafka differs: a simple consumer's group comes to be even if none of its offsets is kept."""
    if isinstance(group, ConsumerGroup):
        check_commit(group, event)
    else:
        code = _check_commit(group, event)
        if code is not ErrorCode.NONE:
            raise KafkaError(code)
        if group is not None and group.state is not GroupState.EMPTY:
            keep_session(draft, group, group.members[event.member_id])
    for offset in event.offsets:
        if _fits(draft, offset):
            value = _value(offset, draft.now, event.retention_ms)
            partition = TopicPartition(offset.topic, offset.partition)
            draft.write_offset(event.group_id, partition, value)
    draft.reply(event.token, _committed(draft, event))


def commit_in_transaction(
    draft: Draft, group: AnyGroup | None, event: CommitTransactionalOffsets
) -> None:
    """Keep the offsets until the transaction ends. Whoever tells no member is none: the client that
    produces may be another one than the one that consumes."""
    wanted = event.commit
    if isinstance(group, ConsumerGroup):
        check_commit_in_transaction(group, wanted)
    else:
        code = _check_commit_in_transaction(group, wanted)
        if code is not ErrorCode.NONE:
            raise KafkaError(code)
    for offset in wanted.offsets:
        if _fits(draft, offset):
            draft.write_offset(
                wanted.group_id,
                TopicPartition(offset.topic, offset.partition),
                _value(offset, draft.now, wanted.retention_ms),
                producer_id=event.producer_id,
                producer_epoch=event.producer_epoch,
            )
    draft.reply(event.token, _committed(draft, wanted))


def _check_commit_in_transaction(group: ClassicGroup | None, event: CommitOffsets) -> ErrorCode:
    if group is None:
        return ErrorCode.NONE if event.generation < 0 else ErrorCode.ILLEGAL_GENERATION
    if event.generation < 0 and group.state is GroupState.EMPTY:
        return ErrorCode.NONE
    if event.generation < 0 and not event.member_id and event.instance_id is None:
        return ErrorCode.NONE
    code = group.check_member(event.member_id, event.instance_id)
    if code is ErrorCode.NONE and event.generation != group.generation:
        code = ErrorCode.ILLEGAL_GENERATION
    return code


def end_transaction(draft: Draft, event: EndTransactionalOffsets) -> None:
    """The offsets that the producer has committed count from now on, or never did."""
    draft.end_transaction(
        TransactionEnded(
            event.producer_id,
            committed=event.commits,
            producer_epoch=event.producer_epoch,
            coordinator_epoch=event.coordinator_epoch,
        )
    )
    draft.reply(event.token, TransactionalOffsetsEnded(event.producer_id))


def _fits(draft: Draft, offset: OffsetToCommit) -> bool:
    return _utf16_units(offset.metadata or "") <= draft.settings.offset_metadata_max_bytes


def _committed(draft: Draft, event: CommitOffsets) -> OffsetsCommitted:
    return OffsetsCommitted(
        tuple(
            CommittedOffset(
                offset.topic,
                offset.partition,
                ErrorCode.NONE if _fits(draft, offset) else ErrorCode.OFFSET_METADATA_TOO_LARGE,
            )
            for offset in event.offsets
        )
    )


def _check_commit(group: ClassicGroup | None, event: CommitOffsets) -> ErrorCode:
    if group is None:
        if event.generation < 0:
            return ErrorCode.NONE
        if event.knows_consumer_groups:
            return ErrorCode.GROUP_ID_NOT_FOUND
        return ErrorCode.ILLEGAL_GENERATION
    if event.generation < 0 and group.state is GroupState.EMPTY:
        return ErrorCode.NONE
    code = group.check_member(event.member_id, event.instance_id)
    if code is ErrorCode.NONE and event.generation != group.generation:
        code = ErrorCode.ILLEGAL_GENERATION
    if code is ErrorCode.NONE and group.state is GroupState.COMPLETING_REBALANCE:
        code = ErrorCode.REBALANCE_IN_PROGRESS
    return code


def _value(offset: OffsetToCommit, now: TimestampMs, retention_ms: int) -> OffsetCommitValue:
    return OffsetCommitValue(
        offset=offset.offset,
        leader_epoch=offset.leader_epoch,
        metadata=offset.metadata or "",
        commit_timestamp=now,
        expire_timestamp=-1 if retention_ms == -1 else now + retention_ms,
        topic_id=offset.topic_id,
    )


def _utf16_units(text: str) -> int:
    """What Java calls the length of a text."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def fetch(
    draft: Draft, group: AnyGroup | None, offsets: CommittedOffsets, event: FetchOffsets
) -> None:
    """What was committed. A group that does not exist has committed nothing. Who says that it is a
    member of a consumer group must be one."""
    if isinstance(group, ConsumerGroup):
        check_fetch(group, event)
    committed = offsets.of_group(event.group_id) if group is not None else {}
    unstable = offsets.pending_of_group(event.group_id) if event.require_stable else {}
    asked = list(committed) if event.topics is None else list(_partitions(event.topics))
    fetched = []
    for partition in asked:
        name, index = partition.topic, partition.partition
        value = committed.get(partition)
        if partition in unstable:
            fetched.append(FetchedOffset(name, index, code=ErrorCode.UNSTABLE_OFFSET_COMMIT))
        elif value is None:
            fetched.append(FetchedOffset(name, index))
        else:
            epoch = LeaderEpoch(value.leader_epoch)
            fetched.append(FetchedOffset(name, index, Offset(value.offset), epoch, value.metadata))
    draft.reply(event.token, OffsetsFetched(tuple(fetched)))


def _partitions(topics: tuple[TopicPartitions, ...]) -> Iterator[TopicPartition]:
    for topic in topics:
        for index in topic.partitions:
            yield TopicPartition(topic.topic, index)


def delete(
    draft: Draft, group: AnyGroup | None, offsets: CommittedOffsets, event: DeleteOffsets
) -> None:
    """Forget offsets of topics that no member reads."""
    if not event.group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    if group is None:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
    if isinstance(group, ClassicGroup) and not group.may_forget_offsets:
        raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
    known = offsets.of_group(event.group_id).keys() | offsets.pending_of_group(event.group_id)
    deleted = []
    for partition in _partitions(event.topics):
        code = ErrorCode.NONE
        if group.is_subscribed_to(partition.topic):
            code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        elif partition in known:
            draft.write_offset(event.group_id, partition, None)
        deleted.append(DeletedOffset(partition.topic, partition.partition, code))
    draft.reply(event.token, OffsetsDeleted(tuple(deleted)))


def delete_all(draft: Draft, group_id: str, offsets: CommittedOffsets) -> None:
    """Forget all offsets of a group, also those of open transactions."""
    for partition in offsets.of_group(group_id) | offsets.pending_of_group(group_id):
        draft.write_offset(group_id, partition, None)


def delete_topics(draft: Draft, offsets: CommittedOffsets, topics: tuple[str, ...]) -> None:
    """Forget what all groups have committed for topics that are gone."""
    gone = frozenset(topics)
    for group_id in dict.fromkeys([*offsets.groups(), *offsets.pending_groups()]):
        for partition in offsets.of_group(group_id) | offsets.pending_of_group(group_id):
            if partition.topic in gone:
                draft.write_offset(group_id, partition, None)


def expire(draft: Draft, group: AnyGroup, offsets: CommittedOffsets) -> bool:
    """Forget offsets that nobody has needed for the retention time. Whether none is left, nor comes
    with an open transaction."""
    committed = offsets.of_group(group.group_id)
    if committed and not group.offsets_may_expire:
        return False
    pending = offsets.pending_of_group(group.group_id)
    left = False
    for partition, value in committed.items():
        if (
            group.is_subscribed_to(partition.topic)
            or partition in pending
            or not _is_expired(draft, group, value)
        ):
            left = True
        else:
            draft.write_offset(group.group_id, partition, None)
    return not left and not offsets.has_open_transactions(group.group_id)


def _is_expired(draft: Draft, group: AnyGroup, value: OffsetCommitValue) -> bool:
    if value.expire_timestamp != -1:
        return draft.now >= value.expire_timestamp
    unused_since = group.unused_since(value.commit_timestamp)
    return draft.now - unused_since >= draft.settings.offsets_retention_ms
