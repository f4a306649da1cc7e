"""Before the first batch of a transaction is appended to a partition, its coordinator is asked:
does the partition belong to it? (KIP-890) Clients of version 2 of the protocol do not add
partitions themselves; then it is added.

A producer that has an open transaction in the partition already is not asked about again.

Source: Kafka's `AddPartitionsToTxnManager` and `ReplicaManager.handleProduceAppend`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

from kafkalite.coordinator.transactions.events import (
    AddPartitions,
    PartitionsAdded,
    PartitionsVerified,
    Producer,
    VerifyPartitions,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.topic_names import INTERNAL_TOPICS
from kafkalite.server.core_driver import OnReply
from kafkalite.server.request import Services
from kafkalite.server.transaction_coordinators import TransactionCoordinators
from kafkalite.types import TopicPartition

Codes = dict[TopicPartition, ErrorCode]

_BUMPS_EPOCHS = 2
_TRY_AGAIN = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
"""Told as NOT_ENOUGH_REPLICAS, which every client tries again, and asks for no metadata."""


class Client(Enum):
    """What a client knows, by the version of its request."""

    OLD = auto()
    """Is told INVALID_TXN_STATE of a partition that it did not add."""
    KNOWS_ABORTABLE = auto()
    """Is told TRANSACTION_ABORTABLE."""
    LEAVES_ADDING = auto()
    """Version 2 of the protocol."""


def ask_about_existing(
    services: Services,
    event: AddPartitions,
    on_reply: OnReply,
    *,
    verifies: bool,
    of_client: bool,
) -> None:
    """Ask the coordinator to add these, or only whether they are added. If one does not exist, none
    is asked about: `on_reply` gets `PartitionsVerified` then, with UNKNOWN_TOPIC_OR_PARTITION for
    it and OPERATION_NOT_ATTEMPTED for the others. Likewise if a client names an internal topic:
    TOPIC_AUTHORIZATION_FAILED, whoever it is."""
    topics = services.image.topics
    refused = {
        each: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        for each in sorted(event.partitions)
        if each.topic not in topics or not 0 <= each.partition < len(topics[each.topic].partitions)
    }
    if of_client:
        internal = [each for each in sorted(event.partitions) if each.topic in INTERNAL_TOPICS]
        refused |= dict.fromkeys(internal, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if refused:
        codes = dict.fromkeys(sorted(event.partitions), ErrorCode.OPERATION_NOT_ATTEMPTED)
        on_reply(PartitionsVerified(codes | refused))
    elif verifies:
        services.transactions.ask_about(
            VerifyPartitions(None, event.transactional_id, event.producer, event.partitions),
            on_reply,
        )
    else:
        services.transactions.ask_about(event, on_reply)


def verify(
    transactions: TransactionCoordinators,
    transactional_id: str,
    producer: Producer,
    partitions: frozenset[TopicPartition],
    client: Client,
    on_codes: Callable[[Codes], None],
) -> None:
    """Call `on_codes`, now or later, with what each partition's append is to be refused with, as
    that client is told it; NONE: not refused."""

    def on_reply(reply: object) -> None:
        if isinstance(reply, KafkaError):
            codes = dict.fromkeys(sorted(partitions), reply.code)
        elif isinstance(reply, PartitionsVerified):
            codes = reply.codes
        else:
            assert isinstance(reply, PartitionsAdded), reply
            codes = {}
        on_codes({partition: _told(code, client) for partition, code in codes.items()})

    event: AddPartitions | VerifyPartitions
    if not transactions.verifies_partitions and client is not Client.LEAVES_ADDING:
        on_codes({})
        return
    if client is Client.LEAVES_ADDING:
        event = AddPartitions(None, transactional_id, producer, partitions, _BUMPS_EPOCHS)
    else:
        event = VerifyPartitions(None, transactional_id, producer, partitions)
    transactions.ask_wherever(event, on_reply)


def _told(code: ErrorCode, client: Client) -> ErrorCode:
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE and client is Client.OLD:
        return ErrorCode.INVALID_TXN_STATE
    if code in _TRY_AGAIN:
        return ErrorCode.NOT_ENOUGH_REPLICAS
    if code is ErrorCode.CONCURRENT_TRANSACTIONS and client is not Client.LEAVES_ADDING:
        return ErrorCode.NOT_ENOUGH_REPLICAS
    return code
