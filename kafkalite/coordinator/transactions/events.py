"""What a partition's transaction coordinator is asked and told, and what it answers: two closed
unions.

A `token` names whoever waits for the reply; None where nobody does. What does not end well is
refused with a `KafkaError`. A decision that needs a fresh producer id and was given none answers
`ProducerIdNeeded`: the same is to be asked again with one.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from kafkalite.coordinator.transactions.state import Transaction
from kafkalite.errors import ErrorCode
from kafkalite.types import ProducerEpoch, ProducerId, TopicPartition


class Producer(NamedTuple):
    """A producer as it names itself."""

    id: ProducerId
    epoch: ProducerEpoch


# Requests.


class InitProducerId(NamedTuple):
    """Answered by `ProducerIdGiven` or `ProducerIdNeeded`. CONCURRENT_TRANSACTIONS while a
    transaction of the id ends, also when this request ends it."""

    token: Hashable
    transactional_id: str
    timeout_ms: int
    expected: Producer | None = None
    """As the producer knows itself, when it goes on after an error (KIP-360)."""
    fresh_id: ProducerId | None = None


class AddPartitions(NamedTuple):
    """Answered by `PartitionsAdded`."""

    token: Hashable
    transactional_id: str
    producer: Producer
    partitions: frozenset[TopicPartition]
    protocol_version: int = 0
    """Of the client's."""


class VerifyPartitions(NamedTuple):
    """Whether these belong to the open transaction. Answered by `PartitionsVerified`."""

    token: Hashable
    transactional_id: str
    producer: Producer
    partitions: frozenset[TopicPartition]


class EndTransaction(NamedTuple):
    """Answered by `TransactionEnding` or `ProducerIdNeeded`."""

    token: Hashable
    transactional_id: str
    producer: Producer
    commits: bool
    protocol_version: int = 0
    """Of the client's."""
    fresh_id: ProducerId | None = None


class DescribeTransactions(NamedTuple):
    """Answered by `TransactionsDescribed`: one id, whose coordinator is asked."""

    token: Hashable
    transactional_id: str


class ListTransactions(NamedTuple):
    """Answered by `TransactionsListed`: all that this coordinator has."""

    token: Hashable


# From timers, from the metadata, and from what was sent.


class MarkersWritten(NamedTuple):
    """All markers of a prepared transaction stand in their partitions."""

    transactional_id: str
    producer: Producer
    """As the markers have it."""
    token: None = None


class TransactionTimedOut(NamedTuple):
    """It has been open for longer than its producer wanted it to be."""

    transactional_id: str
    producer: Producer
    fresh_id: ProducerId | None = None
    token: None = None


class ProtocolChanged(NamedTuple):
    """The cluster's `transaction.version` is another one now."""

    protocol_version: int
    token: None = None


class ExpireTransactionalIds(NamedTuple):
    """Look for those that are unused for long."""

    token: None = None


class Loaded(NamedTuple):
    """The log was applied; what was prepared is to be finished."""

    token: None = None


Event = (
    InitProducerId
    | AddPartitions
    | VerifyPartitions
    | EndTransaction
    | DescribeTransactions
    | ListTransactions
    | MarkersWritten
    | TransactionTimedOut
    | ProtocolChanged
    | ExpireTransactionalIds
    | Loaded
)


# Replies.


class ProducerIdGiven(NamedTuple):
    """What the producer is from now on."""

    producer: Producer


class ProducerIdNeeded(NamedTuple):
    """Nothing has changed: ask again, with a fresh producer id."""


class PartitionsAdded(NamedTuple):
    """All of them, now or before."""


class PartitionsVerified(NamedTuple):
    """NONE, or TRANSACTION_ABORTABLE where the partition was not added."""

    codes: dict[TopicPartition, ErrorCode]


class TransactionEnding(NamedTuple):
    """The outcome is decided. What the producer goes on as: another epoch under version 2."""

    producer: Producer


class TransactionDescribed(NamedTuple):
    """The id as it is."""

    transaction: Transaction


class ListedTransaction(NamedTuple):
    """An id, and how it stands."""

    transactional_id: str
    transaction: Transaction


class TransactionsListed(NamedTuple):
    """In the order in which they came."""

    transactions: tuple[ListedTransaction, ...]


# Sent.


class NeedProducerId(NamedTuple):
    """A fresh one, for the next producer of an id whose transaction has timed out in its last
    epoch. Answered by `TransactionTimedOut`."""

    transactional_id: str
    producer: Producer


class WriteMarkers(NamedTuple):
    """To whoever leads these partitions: end the producer's transaction there. Answered by
    `MarkersWritten` when all of them have it."""

    transactional_id: str
    producer: Producer
    commits: bool
    partitions: frozenset[TopicPartition]
    protocol_version: int
