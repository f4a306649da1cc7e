"""What belongs to an open transaction: partitions are added before they are written to, and whoever
is asked to append to one may ask whether it was (KIP-890).

Source: Kafka's `TransactionCoordinator.handleAddPartitionsToTransaction` and
`handleVerifyPartitionsInTransaction`.
"""

from __future__ import annotations

from dataclasses import replace

from kafkalite.coordinator.transactions.events import (
    AddPartitions,
    PartitionsVerified,
    VerifyPartitions,
)
from kafkalite.coordinator.transactions.state import Transaction, TransactionState
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.types import TimestampMs


def with_partitions(
    transaction: Transaction | None, event: AddPartitions, now: TimestampMs
) -> Transaction | None:
    """The transaction with all of them, open; None when it has them already."""
    transaction = _of_producer(transaction, event)
    if transaction.state is TransactionState.ONGOING and event.partitions <= transaction.partitions:
        return None
    return replace(
        transaction,
        previous_producer_id=transaction.producer_id,
        state=TransactionState.ONGOING,
        partitions=transaction.partitions | event.partitions,
        started_ms=now if transaction.state.is_over else transaction.started_ms,
        updated_ms=now,
        protocol_version=event.protocol_version,
    )


def verified(transaction: Transaction | None, event: VerifyPartitions) -> PartitionsVerified:
    """Which of them the transaction has."""
    added = _of_producer(transaction, event).partitions
    return PartitionsVerified(
        {
            partition: (ErrorCode.NONE if partition in added else ErrorCode.TRANSACTION_ABORTABLE)
            for partition in sorted(event.partitions)
        }
    )


def _of_producer(
    transaction: Transaction | None, event: AddPartitions | VerifyPartitions
) -> Transaction:
    if not event.transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if transaction is None or transaction.producer_id != event.producer.id:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if transaction.producer_epoch != event.producer.epoch:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    if transaction.state.is_prepared:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    return transaction
