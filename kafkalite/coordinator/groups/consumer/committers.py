"""Who may commit and fetch offsets of a consumer group.

A commit may come from an epoch that is over, as long as the member has had the partition since
then: rebalances do not cost commits that are under way.

Source: Kafka's `ConsumerGroup.validateOffsetCommit` and `validateOffsetFetch`; KIP-1251.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.consumer.state import NOTHING, ConsumerGroup, Member
from kafkalite.coordinator.groups.offset_events import (
    NO_GENERATION,
    CommitOffsets,
    FetchOffsets,
    OffsetToCommit,
)
from kafkalite.errors import ErrorCode, KafkaError


def check_commit(group: ConsumerGroup, event: CommitOffsets) -> None:
    """`KafkaError`: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, UNSUPPORTED_VERSION; ILLEGAL_GENERATION
    to a member that speaks the classic protocol, in place of both. Without members, everybody may
    who does not say that it is one."""
    epoch = event.generation
    if epoch < 0 and not group.members:
        return
    member = group.member(event.member_id)
    if not event.knows_consumer_groups and member.classic is None:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION,
            "OffsetCommit version 9 or above must be used by members using the consumer group"
            " protocol",
        )
    _check_epoch(member, event)


def check_commit_in_transaction(group: ConsumerGroup, event: CommitOffsets) -> None:
    """`KafkaError`: UNKNOWN_MEMBER_ID; ILLEGAL_GENERATION where a commit outside a transaction is
    told STALE_MEMBER_EPOCH. Everybody may who does not say that it is a member."""
    if event.generation < 0 and not group.members:
        return
    if event.generation == NO_GENERATION and not event.member_id and event.instance_id is None:
        return
    member = group.member(event.member_id)
    try:
        _check_epoch(member, event)
    except KafkaError as error:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION, error.message) from None


def _check_epoch(member: Member, event: CommitOffsets) -> None:
    epoch = event.generation
    if epoch > member.epoch:
        raise KafkaError(
            _stale(member),
            f"Received member epoch {epoch} is newer than current member epoch {member.epoch}.",
        )
    if epoch < member.epoch:
        for offset in event.offsets:
            _check_assigned(member, offset, epoch)


def _check_assigned(member: Member, offset: OffsetToCommit, epoch: int) -> None:
    where = f"{offset.topic}-{offset.partition}"
    for owned in (member.assigned, member.revoking):
        since = owned.get(offset.topic_id, NOTHING).get(offset.partition)
        if since is not None:
            break
    else:
        raise KafkaError(
            _stale(member),
            f"Partition {where} is not assigned or pending revocation for member.",
        )
    if epoch < since:
        raise KafkaError(
            _stale(member),
            f"Received member epoch {epoch} is older than assignment epoch {since} for partition"
            f" {where}.",
        )


def check_fetch(group: ConsumerGroup, event: FetchOffsets) -> None:
    """`KafkaError`: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH or ILLEGAL_GENERATION; an epoch without a
    member is UNKNOWN_SERVER_ERROR, for Kafka cannot cope with it."""
    epoch = event.member_epoch
    if event.member_id is None:
        if epoch < 0:
            return
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    member = group.member(event.member_id)
    if epoch != member.epoch:
        raise KafkaError(
            _stale(member),
            f"The received member epoch {epoch} does not match the expected member epoch"
            f" {member.epoch}.",
        )


def _stale(member: Member) -> ErrorCode:
    """What a member of that protocol understands."""
    if member.classic is None:
        return ErrorCode.STALE_MEMBER_EPOCH
    return ErrorCode.ILLEGAL_GENERATION
