"""Records of `__transaction_state`: those that Kafka wrote, and any of our own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kafkalite.coordinator.transactions.coordinator import TransactionCoordinator
from kafkalite.coordinator.transactions.records import (
    Record,
    decode_record,
    encode_key,
    encode_value,
)
from kafkalite.coordinator.transactions.state import Transaction, TransactionState
from kafkalite.errors import ProtocolError
from kafkalite.protocol.messages.transaction_records import TransactionLogValue
from kafkalite.protocol.record_frames import encode_coordinator_value
from kafkalite.protocol.records.batch import iter_headers
from kafkalite.protocol.records.record import Record as LogRecord
from kafkalite.protocol.records.record import read_records
from kafkalite.types import ProducerEpoch, ProducerId, TimestampMs, TopicPartition

GOLDEN = Path(__file__).parents[2] / "data" / "log-dirs"
NAME = "__transaction_state-0"
BY_KAFKAS_NAME = {state.kafka_name: state for state in TransactionState}

FULL = Transaction(
    producer_id=ProducerId(7),
    producer_epoch=ProducerEpoch(3),
    timeout_ms=1_000,
    state=TransactionState.PREPARE_ABORT,
    updated_ms=TimestampMs(20),
    started_ms=TimestampMs(10),
    partitions=frozenset(TopicPartition(topic, index) for topic in "ba" for index in (1, 0)),
    previous_producer_id=ProducerId(7),
    next_producer_id=ProducerId(9),
    protocol_version=2,
)


def kafkas_records() -> list[LogRecord]:
    log = (GOLDEN / NAME / f"{0:020d}.log").read_bytes()
    return [
        record
        for position, header in iter_headers(log)
        for record in read_records(log, position, header)
    ]


def shown_by_kafkas_tool() -> list[tuple[str, dict[str, Any]]]:
    """Transactional id and value of each record. As JSON: any."""
    return [
        (json.loads(key)["data"]["transactionalId"], json.loads(value)["data"])
        for key, value in re.findall(
            r"key: (\{.*\}) payload: (\{.*\})", (GOLDEN / f"{NAME}.txt").read_text()
        )
    ]


def test_kafkas_records_say_what_its_tool_shows_and_are_written_to_the_same_bytes() -> None:
    records, shown = kafkas_records(), shown_by_kafkas_tool()
    assert len(records) == len(shown) > 0
    for record, (transactional_id, value) in zip(records, shown, strict=True):
        decoded = decode_record(record.key or b"", record.value)
        assert decoded.transactional_id == transactional_id
        assert decoded.transaction is not None
        assert decoded.transaction.state.kafka_name == value["transactionStatus"]
        assert decoded.transaction.producer_id == value["producerId"]
        assert decoded.transaction.started_ms == value["transactionStartTimestampMs"]
        assert {each.topic for each in decoded.transaction.partitions} == {
            each["topic"] for each in value["transactionPartitions"] or ()
        }
        assert encode_key(decoded) == bytes(record.key or b"")
        assert encode_value(decoded, 1) == bytes(record.value or b"")


def test_a_coordinator_that_loads_kafkas_log_has_all_that_its_tool_shows_last() -> None:
    core = TransactionCoordinator(protocol_version=2)
    for record in kafkas_records():
        core.apply(decode_record(record.key or b"", record.value))
    # Of each id the last counts. What the tool leaves out has the default of its schema.
    assert core.transactions == {
        id: Transaction(
            producer_id=ProducerId(value["producerId"]),
            producer_epoch=ProducerEpoch(value["producerEpoch"]),
            timeout_ms=value["transactionTimeoutMs"],
            state=BY_KAFKAS_NAME[value["transactionStatus"]],
            updated_ms=TimestampMs(value["transactionLastUpdateTimestampMs"]),
            started_ms=TimestampMs(value["transactionStartTimestampMs"]),
            partitions=frozenset(
                TopicPartition(each["topic"], index)
                for each in value["transactionPartitions"] or ()
                for index in each["partitionIds"]
            ),
            previous_producer_id=ProducerId(value.get("previousProducerId", -1)),
            next_producer_id=ProducerId(value.get("nextProducerId", -1)),
            next_producer_epoch=ProducerEpoch(value.get("nextProducerEpoch", -1)),
            protocol_version=value.get("clientTransactionVersion", 0),
        )
        for id, value in shown_by_kafkas_tool()
    }


def test_version_1_keeps_all_and_version_0_what_it_knows() -> None:
    record = Record("mine", FULL)
    assert decode_record(encode_key(record), encode_value(record, 1)) == record
    decoded = decode_record(encode_key(record), encode_value(record, 0)).transaction
    assert decoded is not None
    assert decoded.partitions == FULL.partitions
    assert (decoded.next_producer_id, decoded.protocol_version) == (-1, 0)


def test_a_tombstone_forgets() -> None:
    record = Record("mine", None)
    assert encode_value(record, 1) is None
    assert decode_record(encode_key(record), None) == record


def test_a_state_that_there_is_not_is_refused() -> None:
    value = encode_coordinator_value(TransactionLogValue(transaction_status=99), 1)
    with pytest.raises(ProtocolError):
        decode_record(encode_key(Record("mine", None)), value)
