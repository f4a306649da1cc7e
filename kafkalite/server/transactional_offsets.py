"""Offsets that a group commits in a transaction: the transaction's coordinator is asked whether the
group belongs to it, and then the group's coordinator.

Source: Kafka's `GroupCoordinatorService.commitTransactionalOffsets`.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.offset_events import (
    CommitOffsets,
    CommitTransactionalOffsets,
    OffsetToCommit,
)
from kafkalite.coordinator.transactions.events import Producer
from kafkalite.coordinator.transactions.verification import Client, Refusal, Refusals
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.topic_names import CONSUMER_OFFSETS
from kafkalite.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kafkalite.protocol.records.batch import NO_SEQUENCE
from kafkalite.server.core_driver import OnReply
from kafkalite.server.request import RequestContext
from kafkalite.server.transaction_verification import verify
from kafkalite.types import ProducerEpoch, ProducerId, TopicPartition

_FIRST_VERSION_WITH_ABORTABLE = 4
_FIRST_VERSION_THAT_ADDS = 5


def commit_in_transaction(
    ctx: RequestContext,
    request: TxnOffsetCommitRequest,
    offsets: tuple[OffsetToCommit, ...],
    on_reply: OnReply,
) -> None:
    """`on_reply` gets `OffsetsCommitted`, or a `KafkaError`, now or later."""
    groups = ctx.services.groups
    producer = Producer(ProducerId(request.producer_id), ProducerEpoch(request.producer_epoch))
    home = TopicPartition(CONSUMER_OFFSETS, groups.partition_of(request.group_id))
    commit = CommitOffsets(
        None,
        request.group_id,
        request.generation_id_or_member_epoch,
        request.member_id,
        request.group_instance_id,
        offsets,
    )
    event = CommitTransactionalOffsets(None, commit, producer.id, producer.epoch)

    try:
        partition = ctx.services.replicas.find(home.topic, home.partition)
    except KafkaError:
        on_reply(KafkaError(ErrorCode.NOT_COORDINATOR))
        return
    producers = partition.log.producers
    if producers.is_in_transaction(producer.id, producer.epoch):
        groups.ask(request.group_id, event, on_reply)
        return
    if producers.is_fenced(*producer):
        on_reply(KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH))
        return
    client = Client.of(
        ctx.version,
        knows_abortable_from=_FIRST_VERSION_WITH_ABORTABLE,
        leaves_adding_from=_FIRST_VERSION_THAT_ADDS,
    )
    verification = producers.verifications.begin(
        producer.id,
        producer.epoch,
        NO_SEQUENCE,
        ctx.services.clock.now_ms(),
        bumps_epoch=client is Client.LEAVES_ADDING,
    )

    def on_refusals(refusals: Refusals) -> None:
        code, _ = refusals.get(home, Refusal(ErrorCode.NONE))
        if not code and not producers.is_in_transaction(producer.id, producer.epoch):
            code = producers.verifications.refusal(producer.id, verification, NO_SEQUENCE)
        if code is ErrorCode.NOT_ENOUGH_REPLICAS:
            code = ErrorCode.COORDINATOR_NOT_AVAILABLE
        if code:
            on_reply(KafkaError(code))
        else:
            groups.ask(request.group_id, event, on_reply)

    transactions, id = ctx.services.transactions, request.transactional_id
    verify(transactions, id, producer, frozenset({home}), client, on_refusals)
