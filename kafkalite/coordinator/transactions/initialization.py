"""InitProducerId of a transactional id: which producer it is from now on, and who is fenced.

Each call gives another epoch, so that whoever had the one before it writes no more (KIP-98); one
who tells what he was goes on where he was, and his retries are known for what they are (KIP-360).

Kafka differs: the retry of a call that has given the last epoch is told UNKNOWN_SERVER_ERROR; here
it is answered as every other retry.

Source: Kafka's `TransactionCoordinator.handleInitProducerId`, `TransactionMetadata`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from kafkalite.coordinator.transactions.events import InitProducerId, Producer
from kafkalite.coordinator.transactions.settings import TransactionSettings
from kafkalite.coordinator.transactions.state import (
    FIRST_EPOCH,
    LAST_EPOCH,
    Transaction,
    TransactionState,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.types import (
    NO_PRODUCER_EPOCH,
    NO_TIMESTAMP,
    ProducerEpoch,
    ProducerId,
    TimestampMs,
)


class _Epochs(NamedTuple):
    present: ProducerEpoch
    last: ProducerEpoch


def check_request(event: InitProducerId, settings: TransactionSettings) -> None:
    """What is wrong whoever asks."""
    if not event.transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if not 0 < event.timeout_ms <= settings.max_timeout_ms:
        raise KafkaError(ErrorCode.INVALID_TRANSACTION_TIMEOUT)


def initialized(
    transaction: Transaction | None, event: InitProducerId, now: TimestampMs
) -> Transaction | None:
    """The producer that the id is from now on; None: for that a fresh producer id is needed.
    PRODUCER_FENCED when another has come since, CONCURRENT_TRANSACTIONS while the last transaction
    ends. The caller sees to an id whose transaction is open."""
    if transaction is None:
        return None if event.fresh_id is None else _new(event.fresh_id, event.timeout_ms, now)
    check_expected(transaction, event.expected)
    assert transaction.state is not TransactionState.ONGOING, transaction
    if not transaction.state.is_over:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    is_continued = event.expected is not None
    if transaction.is_epoch_exhausted and (
        event.expected is None or event.expected.epoch == transaction.producer_epoch
    ):
        if event.fresh_id is None:
            return None
        producer_id, epochs = (
            event.fresh_id,
            _Epochs(FIRST_EPOCH, transaction.producer_epoch if is_continued else NO_PRODUCER_EPOCH),
        )
    else:
        producer_id, epochs = transaction.producer_id, _bumped(transaction, event.expected)
    return replace(
        transaction,
        producer_id=producer_id,
        previous_producer_id=transaction.producer_id,
        producer_epoch=epochs.present,
        last_producer_epoch=epochs.last,
        timeout_ms=event.timeout_ms,
        state=TransactionState.EMPTY,
        partitions=frozenset(),
        started_ms=NO_TIMESTAMP,
        updated_ms=now,
    )


def _new(producer_id: ProducerId, timeout_ms: int, now: TimestampMs) -> Transaction:
    return Transaction(
        producer_id=producer_id,
        previous_producer_id=producer_id,
        producer_epoch=FIRST_EPOCH,
        timeout_ms=timeout_ms,
        state=TransactionState.EMPTY,
        updated_ms=now,
    )


def check_expected(transaction: Transaction, expected: Producer | None) -> None:
    """PRODUCER_FENCED for one who is neither the present producer, nor one whose epochs were used
    up and who has not heard of his new id."""
    if expected is None or expected.id == transaction.producer_id:
        return
    if expected.id == transaction.previous_producer_id and expected.epoch >= LAST_EPOCH - 1:
        return
    raise KafkaError(ErrorCode.PRODUCER_FENCED)


def _bumped(transaction: Transaction, expected: Producer | None) -> _Epochs:
    bumped = ProducerEpoch(transaction.producer_epoch + 1)
    if expected is None:
        return _Epochs(bumped, NO_PRODUCER_EPOCH)
    if expected.epoch == transaction.producer_epoch:
        return _Epochs(bumped, transaction.producer_epoch)
    if expected.epoch == transaction.last_producer_epoch:
        # A retry: had another producer come since, there would be no last epoch.
        return _Epochs(transaction.producer_epoch, transaction.last_producer_epoch)
    raise KafkaError(ErrorCode.PRODUCER_FENCED)
