"""Whether partitions belong to a transaction, asked of its coordinator where that is another broker
(KIP-890): AddPartitionsToTxn, in the versions that brokers speak.

Kafka differs: it puts what it asks of one coordinator at about the same time in one request. Here
each question has its own.

Source: Kafka's `AddPartitionsToTxnManager`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kafkalite.coordinator.partitioner import CoordinatorType, coordinator_of
from kafkalite.coordinator.transactions.events import (
    AddPartitions,
    PartitionsVerified,
    VerifyPartitions,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.topic_names import TRANSACTION_STATE
from kafkalite.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kafkalite.protocol.schema import Response
from kafkalite.server.core_driver import OnReply
from kafkalite.server.peers import Peers
from kafkalite.types import NO_LEADER, BrokerId, TopicPartition

PURPOSE: Final = "verification"


class VerificationRoutes:
    """Of one broker."""

    def __init__(
        self,
        broker_id: BrokerId,
        peers: Peers,
        image: Callable[[], MetadataImage],
        timeout_ms: int,
    ) -> None:
        self._broker_id = broker_id
        self._peers = peers
        self._image = image
        self._timeout_ms = timeout_ms

    def ask(self, event: AddPartitions | VerifyPartitions, on_reply: OnReply) -> None:
        """Ask the coordinator, which is not here. `on_reply` gets `PartitionsVerified`, or a
        `KafkaError`: COORDINATOR_NOT_AVAILABLE where nobody can be asked now."""
        topic = self._image().topics.get(TRANSACTION_STATE)
        leader = NO_LEADER
        if topic is not None:
            leader = coordinator_of(CoordinatorType.TRANSACTION, event.transactional_id, topic)
        if leader in (NO_LEADER, self._broker_id):
            on_reply(KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        self._peers.ask(
            leader,
            AddPartitionsToTxnRequest(transactions=[_asked(event)]),
            lambda reply: on_reply(_told(event.partitions, reply)),
            timeout_ms=self._timeout_ms,
            purpose=PURPOSE,
        )


def _asked(event: AddPartitions | VerifyPartitions) -> AddPartitionsToTxnTransaction:
    indexes: dict[str, list[int]] = {}
    for each in sorted(event.partitions):
        indexes.setdefault(each.topic, []).append(each.partition)
    return AddPartitionsToTxnTransaction(
        transactional_id=event.transactional_id,
        producer_id=event.producer.id,
        producer_epoch=event.producer.epoch,
        verify_only=isinstance(event, VerifyPartitions),
        topics=[
            AddPartitionsToTxnTopic(name=name, partitions=of_topic)
            for name, of_topic in indexes.items()
        ],
    )


def _told(
    partitions: frozenset[TopicPartition], reply: Response | KafkaError
) -> PartitionsVerified | KafkaError:
    """What an answer leaves out has to be asked for again."""
    if isinstance(reply, KafkaError):
        return KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, reply.message)
    assert isinstance(reply, AddPartitionsToTxnResponse), reply
    if reply.error_code:
        return KafkaError(ErrorCode(reply.error_code))
    codes = dict.fromkeys(sorted(partitions), ErrorCode.COORDINATOR_NOT_AVAILABLE)
    for transaction in reply.results_by_transaction:
        for topic in transaction.topic_results:
            for each in topic.results_by_partition:
                partition = TopicPartition(topic.name, each.partition_index)
                codes[partition] = ErrorCode(each.partition_error_code)
    return PartitionsVerified(codes)
