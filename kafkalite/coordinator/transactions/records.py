"""What a transaction coordinator writes: Kafka's own records of `__transaction_state`.

Source: Kafka's `TransactionLog`; which version is written depends on `transaction.version`
(`TransactionVersion.transactionLogValueVersion`).
"""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from kafkalite.coordinator.transactions.state import Transaction, TransactionState
from kafkalite.errors import ProtocolError
from kafkalite.protocol.messages.transaction_records import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from kafkalite.protocol.record_frames import (
    decode_coordinator_record,
    encode_coordinator_key,
    encode_coordinator_value,
)
from kafkalite.types import ProducerEpoch, ProducerId, TimestampMs, TopicPartition

TOPIC: Final = "__transaction_state"
_FIRST_VERSION_WITH_NEIGHBOURS: Final = 1

Buffer = bytes | bytearray | memoryview


class Record(NamedTuple):
    """A transactional id, and what it is from now on."""

    transactional_id: str
    transaction: Transaction | None
    """None: forgotten."""


def encode_key(record: Record) -> bytes:
    """The key of the log's record."""
    return encode_coordinator_key(TransactionLogKey(transactional_id=record.transactional_id))


def encode_value(record: Record, version: int) -> bytes | None:
    """The value of the log's record; None: a tombstone."""
    transaction = record.transaction
    if transaction is None:
        return None
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state,
        transaction_partitions=_by_topic(transaction),
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.started_ms,
    )
    if version >= _FIRST_VERSION_WITH_NEIGHBOURS:
        value.previous_producer_id = transaction.previous_producer_id
        value.next_producer_id = transaction.next_producer_id
        value.next_producer_epoch = transaction.next_producer_epoch
        value.client_transaction_version = transaction.protocol_version
    return encode_coordinator_value(value, version)


def _by_topic(transaction: Transaction) -> list[PartitionsSchema] | None:
    """None where there never were any, which is not the same in the log as none any more."""
    if transaction.state is TransactionState.EMPTY:
        return None
    by_topic = groupby(sorted(transaction.partitions), key=attrgetter("topic"))
    return [
        PartitionsSchema(topic=topic, partition_ids=[each.partition for each in partitions])
        for topic, partitions in by_topic
    ]


def decode_record(key: Buffer, value: Buffer | None) -> Record:
    """The inverse, of any version. `ProtocolError` for what is no record of this topic."""
    decoded = decode_coordinator_record(TOPIC, key, value)
    assert isinstance(decoded.key, TransactionLogKey), decoded
    if decoded.value is None:
        return Record(decoded.key.transactional_id, None)
    assert isinstance(decoded.value, TransactionLogValue), decoded
    return Record(decoded.key.transactional_id, _transaction(decoded.value))


def _transaction(value: TransactionLogValue) -> Transaction:
    try:
        state = TransactionState(value.transaction_status)
    except ValueError as error:
        raise ProtocolError(f"a transaction in state {value.transaction_status}") from error
    return Transaction(
        producer_id=ProducerId(value.producer_id),
        producer_epoch=ProducerEpoch(value.producer_epoch),
        timeout_ms=value.transaction_timeout_ms,
        state=state,
        updated_ms=TimestampMs(value.transaction_last_update_timestamp_ms),
        started_ms=TimestampMs(value.transaction_start_timestamp_ms),
        partitions=frozenset(
            TopicPartition(topic.topic, partition)
            for topic in value.transaction_partitions or ()
            for partition in topic.partition_ids
        ),
        previous_producer_id=ProducerId(value.previous_producer_id),
        next_producer_id=ProducerId(value.next_producer_id),
        next_producer_epoch=ProducerEpoch(value.next_producer_epoch),
        protocol_version=value.client_transaction_version,
    )
