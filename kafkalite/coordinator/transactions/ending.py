"""How a transaction ends: by its producer's EndTxn, by its timeout, or because another producer has
come.

First the outcome is prepared: one record that decides it. Then markers are written to all
partitions, and when the last one stands it is complete. What an EndTxn of the present producer
meets; "retry": one under version 2 with the epoch before the present one:

    state              commit                    abort
    EMPTY              INVALID_TXN_STATE         2: prepared, with nothing in it; else as commit
    ONGOING            prepared                  prepared
    PREPARE_COMMIT     CONCURRENT_TRANSACTIONS   INVALID_TXN_STATE
    PREPARE_ABORT      INVALID_TXN_STATE         CONCURRENT_TRANSACTIONS
    COMPLETE_COMMIT    done (2: of a retry)      2: prepared, with nothing in it; of a retry, and
                                                 else: INVALID_TXN_STATE
    COMPLETE_ABORT     INVALID_TXN_STATE         done (2: of a retry, else prepared, with nothing)

Source: Kafka's `TransactionCoordinator.endTransaction` and `endTransactionWithTV1`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kafkalite.coordinator.transactions.events import EndTransaction, Producer
from kafkalite.coordinator.transactions.state import (
    FIRST_EPOCH,
    LAST_EPOCH,
    Transaction,
    TransactionState,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.types import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    ProducerEpoch,
    ProducerId,
    TimestampMs,
)

BUMPS_EPOCHS: Final = 2
"""The first version of the protocol whose transactions each have an epoch of their own."""

_PREPARED = {True: TransactionState.PREPARE_COMMIT, False: TransactionState.PREPARE_ABORT}
_COMPLETE = {True: TransactionState.COMPLETE_COMMIT, False: TransactionState.COMPLETE_ABORT}


def ended_by_producer(
    transaction: Transaction | None, event: EndTransaction, now: TimestampMs
) -> Transaction | None:
    """The transaction with its outcome prepared; None: its producer asks for what is done. The
    caller sees to a fresh id where `needs_fresh_id` says so."""
    if not event.transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if transaction is None:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if event.protocol_version >= BUMPS_EPOCHS:
        return _ended_with_bump(transaction, event, now)
    _check_producer(transaction, event)
    if transaction.state is TransactionState.ONGOING:
        return _prepared(transaction, event, now)
    _check_outcome(transaction, event)
    if transaction.state is TransactionState.EMPTY:
        raise KafkaError(ErrorCode.INVALID_TXN_STATE)
    return None


def needs_fresh_id(transaction: Transaction | None, event: EndTransaction) -> bool:
    """Whether the producer goes on under another id, when its transaction is ended by `event`."""
    return (
        transaction is not None
        and event.protocol_version >= BUMPS_EPOCHS
        and event.producer == Producer(transaction.producer_id, transaction.producer_epoch)
        and transaction.is_epoch_exhausted
        and not transaction.state.is_prepared
    )


def _check_producer(transaction: Transaction, event: EndTransaction) -> None:
    if transaction.producer_id != event.producer.id:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if transaction.producer_epoch != event.producer.epoch:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)


def _check_outcome(transaction: Transaction, event: EndTransaction) -> None:
    """What was decided otherwise stays so; what is under way is to be waited for."""
    state = transaction.state
    if state in (_PREPARED[not event.commits], _COMPLETE[not event.commits]):
        raise KafkaError(ErrorCode.INVALID_TXN_STATE)
    if state is _PREPARED[event.commits]:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)


def _ended_with_bump(
    transaction: Transaction, event: EndTransaction, now: TimestampMs
) -> Transaction | None:
    """Under version 2 the epoch alone tells a retry from the end of the next transaction."""
    epoch = event.producer.epoch
    is_overflow_retry = (
        transaction.previous_producer_id == event.producer.id
        and epoch == LAST_EPOCH - 1
        and transaction.producer_epoch == FIRST_EPOCH
    )
    is_retry = is_overflow_retry or transaction.producer_epoch == epoch + 1
    if transaction.producer_id != event.producer.id and not is_overflow_retry:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    state, is_present = transaction.state, transaction.producer_epoch == epoch
    if state.is_prepared:
        is_valid = transaction.producer_epoch == epoch + 1
    elif state in (TransactionState.EMPTY, TransactionState.ONGOING):
        is_valid = is_present
    else:
        is_valid = is_present or is_retry
    if not is_valid:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    if state is TransactionState.ONGOING:
        return _prepared(transaction, event, now)
    if is_retry:
        _check_outcome(transaction, event)
        return None
    if event.commits:
        raise KafkaError(ErrorCode.INVALID_TXN_STATE)
    return _prepared(replace(transaction, started_ms=now), event, now)


def _prepared(transaction: Transaction, event: EndTransaction, now: TimestampMs) -> Transaction:
    epoch, last_epoch = transaction.producer_epoch, transaction.last_producer_epoch
    next_id = NO_PRODUCER_ID
    if event.protocol_version >= BUMPS_EPOCHS:
        if transaction.is_epoch_exhausted:
            assert event.fresh_id is not None, event
            next_id = event.fresh_id
        epoch, last_epoch = ProducerEpoch(epoch + 1), epoch
    return replace(
        transaction,
        previous_producer_id=transaction.producer_id,
        next_producer_id=next_id,
        producer_epoch=epoch,
        last_producer_epoch=last_epoch,
        state=_PREPARED[event.commits],
        updated_ms=now,
        protocol_version=event.protocol_version,
    )


def fencing_needs_fresh_id(transaction: Transaction, protocol_version: int) -> bool:
    """Whether whoever comes after the fenced producer has another id."""
    return protocol_version >= BUMPS_EPOCHS and transaction.is_epoch_exhausted


def fenced(
    transaction: Transaction,
    protocol_version: int,
    fresh_id: ProducerId | None,
    now: TimestampMs,
) -> Transaction:
    """The open transaction, to be aborted; its producer has an epoch gone by. The caller sees to a
    fresh id where `fencing_needs_fresh_id` says so."""
    assert transaction.state is TransactionState.ONGOING, transaction
    bumps = protocol_version >= BUMPS_EPOCHS
    next_id = NO_PRODUCER_ID
    if fencing_needs_fresh_id(transaction, protocol_version):
        assert fresh_id is not None, transaction
        next_id = fresh_id
    return replace(
        transaction,
        previous_producer_id=transaction.producer_id,
        next_producer_id=next_id,
        producer_epoch=ProducerEpoch(transaction.producer_epoch + 1),
        last_producer_epoch=transaction.producer_epoch if bumps else NO_PRODUCER_EPOCH,
        state=TransactionState.PREPARE_ABORT,
        updated_ms=now,
        protocol_version=protocol_version,
    )


def completed(transaction: Transaction, now: TimestampMs) -> Transaction:
    """A prepared one whose markers are written."""
    assert transaction.state.is_prepared, transaction
    producer = going_on_as(transaction)
    return replace(
        transaction,
        previous_producer_id=transaction.producer_id,
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        next_producer_id=NO_PRODUCER_ID,
        state=_COMPLETE[transaction.state is TransactionState.PREPARE_COMMIT],
        partitions=frozenset(),
        updated_ms=now,
    )


def going_on_as(transaction: Transaction) -> Producer:
    """What the producer is after a prepared transaction."""
    if transaction.next_producer_id != NO_PRODUCER_ID:
        return Producer(ProducerId(transaction.next_producer_id), FIRST_EPOCH)
    return Producer(transaction.producer_id, transaction.producer_epoch)
