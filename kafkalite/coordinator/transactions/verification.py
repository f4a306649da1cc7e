"""Before the first batch of a transaction is appended to a partition its coordinator is asked
whether the partition belongs to it (KIP-890): what it is asked for which client, and what the
append is refused with then.

Source: Kafka's `AddPartitionsToTxnManager`, `ReplicaManager.handleProduceAppend` and
`KafkaApis.handleAddPartitionsToTxnRequest`.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, NamedTuple

from kafkalite.coordinator.transactions.events import (
    AddPartitions,
    PartitionsAdded,
    PartitionsVerified,
    Producer,
    VerifyPartitions,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.topic_names import INTERNAL_TOPICS
from kafkalite.types import TopicPartition

Codes = dict[TopicPartition, ErrorCode]
"""What the coordinator says of each partition."""


class Refusal(NamedTuple):
    """What an append is refused with."""

    code: ErrorCode
    message: str = ""


Refusals = dict[TopicPartition, Refusal]
"""Of the partitions whose append is refused."""

_BUMPS_EPOCHS: Final = 2
_TRY_AGAIN: Final = (
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

    @classmethod
    def of(cls, version: int, *, knows_abortable_from: int, leaves_adding_from: int) -> Client:
        """Of a request whose versions begin there to know more."""
        if version >= leaves_adding_from:
            return cls.LEAVES_ADDING
        return cls.KNOWS_ABORTABLE if version >= knows_abortable_from else cls.OLD


def question(
    transactional_id: str,
    producer: Producer,
    partitions: frozenset[TopicPartition],
    client: Client,
    *,
    verifies: bool,
) -> AddPartitions | VerifyPartitions | None:
    """What the coordinator is to be asked; None: nothing. `verifies`:
    `transaction.partition.verification.enable`."""
    if client is Client.LEAVES_ADDING:
        return AddPartitions(None, transactional_id, producer, partitions, _BUMPS_EPOCHS)
    if not verifies:
        return None
    return VerifyPartitions(None, transactional_id, producer, partitions)


def refusals(
    asked: AddPartitions | VerifyPartitions,
    reply: PartitionsAdded | PartitionsVerified | KafkaError,
    client: Client,
) -> Refusals:
    """What the coordinator's answer means for each partition, as that client is told it."""
    if isinstance(reply, PartitionsAdded):
        return {}
    if isinstance(reply, PartitionsVerified):
        codes = reply.codes
    else:
        codes = dict.fromkeys(sorted(asked.partitions), reply.code)
    return {partition: _told(code, client) for partition, code in codes.items() if code}


def _told(code: ErrorCode, client: Client) -> Refusal:
    if code is ErrorCode.PRODUCER_FENCED:
        return Refusal(ErrorCode.INVALID_PRODUCER_EPOCH)
    if code is ErrorCode.TRANSACTION_ABORTABLE and client is Client.OLD:
        return Refusal(ErrorCode.INVALID_TXN_STATE, "Partition was not added to the transaction")
    if code in _TRY_AGAIN or (
        code is ErrorCode.CONCURRENT_TRANSACTIONS and client is not Client.LEAVES_ADDING
    ):
        return Refusal(
            ErrorCode.NOT_ENOUGH_REPLICAS,
            "Unable to verify the partition has been added to the transaction. Underlying error: "
            + code.name,
        )
    return Refusal(code)


def what_cannot_be_added(
    partitions: frozenset[TopicPartition], image: MetadataImage, *, by_client: bool
) -> Codes:
    """Empty if the coordinator is to be asked about all; else a code for each, and none is asked
    about: UNKNOWN_TOPIC_OR_PARTITION for one that does not exist, TOPIC_AUTHORIZATION_FAILED for
    one of an internal topic if it is a client who asks, whoever it is, and OPERATION_NOT_ATTEMPTED
    for the others."""
    topics = image.topics
    refused: Codes = {}
    for each in sorted(partitions):
        topic = topics.get(each.topic)
        if by_client and each.topic in INTERNAL_TOPICS:
            refused[each] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        elif topic is None or not 0 <= each.partition < len(topic.partitions):
            refused[each] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not refused:
        return refused
    return dict.fromkeys(sorted(partitions), ErrorCode.OPERATION_NOT_ATTEMPTED) | refused
