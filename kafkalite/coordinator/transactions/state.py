"""A transactional id as it is recorded, and the states that its transactions go through.

Source: Kafka's `TransactionState` and `TransactionMetadata`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from kafkalite.types import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    ProducerEpoch,
    ProducerId,
    TimestampMs,
    TopicPartition,
)

LAST_EPOCH: Final = ProducerEpoch((1 << 15) - 1)
"""No client ever has it: it is kept for fencing the last one that has."""
FIRST_EPOCH: Final = ProducerEpoch(0)


class TransactionState(IntEnum):
    """The numbers stand in the log. What an EndTxn meets in each state is a table in
    `ending.py`."""

    # Nothing since the producer id was given. Left by the first partition, or the end of a
    # transaction in which there is nothing (version 2 of the protocol).
    EMPTY = 0
    # Partitions are added. Left by EndTxn, by the timeout, and by another InitProducerId.
    ONGOING = 1
    # It is decided that all counts; markers are on their way. Meanwhile everyone is told
    # CONCURRENT_TRANSACTIONS. Left when the last marker is written.
    PREPARE_COMMIT = 2
    # As PREPARE_COMMIT, but that nothing counts.
    PREPARE_ABORT = 3
    # Over. Left by what also leaves EMPTY.
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    # The id is unused for `transactional.id.expiration.ms`. Here it is forgotten in the same
    # step, so no id is ever found in it.
    DEAD = 6
    # Kafka's own while it writes the abort that fences a producer. Here that is one step.
    PREPARE_EPOCH_FENCE = 7

    @property
    def kafka_name(self) -> str:
        """As ListTransactions has it: `PrepareCommit`."""
        return "".join(part.capitalize() for part in self.name.split("_"))

    @property
    def is_prepared(self) -> bool:
        """Whether the outcome is decided and not yet written everywhere."""
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def is_over(self) -> bool:
        """Whether no transaction is open, so that the next may begin."""
        return self in (
            TransactionState.EMPTY,
            TransactionState.COMPLETE_COMMIT,
            TransactionState.COMPLETE_ABORT,
        )


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transactional id: its producer, and its present or last transaction."""

    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    """While the outcome is prepared under version 2, already the one that comes after it."""
    timeout_ms: int
    """Of a transaction, from its first partition to its EndTxn."""
    state: TransactionState
    updated_ms: TimestampMs
    started_ms: TimestampMs = NO_TIMESTAMP
    """When the present or last transaction began; -1: none has."""
    partitions: frozenset[TopicPartition] = frozenset()
    """What the transaction has written to, and so wants its marker."""
    previous_producer_id: ProducerId = NO_PRODUCER_ID
    """Before the last change, so that a retry over a new producer id is known for one."""
    next_producer_id: ProducerId = NO_PRODUCER_ID
    """While the outcome is prepared: what the producer goes on with when its epochs are used up."""
    next_producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH
    """Of KIP-939; never set here."""
    protocol_version: int = 0
    """Of the client's: 2 bumps the epoch with each transaction."""
    last_producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH
    """What a producer that continues had before, so that its retry is known for one. Soft: not in
    the log, gone with a restart, as in Kafka."""

    @property
    def is_epoch_exhausted(self) -> bool:
        """Whether a new producer id must come before the next epoch."""
        return self.producer_epoch >= LAST_EPOCH - 1
