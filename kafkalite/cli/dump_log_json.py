"""`dump-log` for machines: an object for each fact, each on a line of its own."""

from __future__ import annotations

from pathlib import Path
from typing import assert_never

from kafkalite.cli.dump_log_decoders import Decoder
from kafkalite.cli.dump_log_facts import Fact, FileBegins, Sanity
from kafkalite.cli.dump_log_text import codec_name, told_control
from kafkalite.cli.output import Row
from kafkalite.cli.record_json import bytes_to_json
from kafkalite.log.index_checks import (
    OffsetMismatch,
    OffsetNotFound,
    TimestampMismatch,
    TimestampOutOfOrder,
)
from kafkalite.log.inspection import (
    AbortedTransaction,
    BatchFact,
    InvalidEnd,
    OffsetEntry,
    RecordFact,
    TimeIndexEntry,
    UnreadableRecords,
)
from kafkalite.log.producers import ProducerState
from kafkalite.protocol.records.batch import BatchHeader, TimestampType


def row_of(path: Path, fact: Fact, decoder: Decoder | None) -> Row:
    """Its file's name, what kind it is, and what it says. `decoder`: as for the text."""
    return {"file": str(path), **_row(fact, decoder)}


def _row(fact: Fact, decoder: Decoder | None) -> Row:
    match fact:
        case FileBegins(named):
            if named is None:
                return {"fact": "unknown_file"}
            kind, epoch = named.kind.value[1:], named.epoch
            return {"fact": "file", "kind": kind, "offset": named.offset, "epoch": epoch}
        case BatchFact():
            return _batch(fact)
        case RecordFact():
            return _record(fact, decoder)
        case UnreadableRecords(reason):
            return {"fact": "unreadable_records", "reason": reason}
        case InvalidEnd():
            return {"fact": "invalid_bytes", **fact._asdict()}
        case OffsetEntry():
            return {"fact": "offset_entry", **fact._asdict()}
        case TimeIndexEntry():
            return {"fact": "time_entry", **fact._asdict()}
        case AbortedTransaction():
            return {"fact": "aborted_transaction", **fact._asdict()}
        case ProducerState():
            return _producer(fact)
        case Sanity(refusal):
            return {"fact": "sanity", "passed": refusal is None, "reason": refusal}
        case OffsetMismatch(offset_entry, found):
            return {"fact": "offset_mismatch", **offset_entry._asdict(), "found_offset": found}
        case TimestampMismatch(entry, found_timestamp):
            return {
                "fact": "timestamp_mismatch",
                **entry._asdict(),
                "found_timestamp": found_timestamp,
            }
        case TimestampOutOfOrder(entry, previous):
            return {"fact": "timestamp_out_of_order", **entry._asdict(), "previous": previous}
        case OffsetNotFound(entry, found):
            return {"fact": "offset_not_found", **entry._asdict(), "found_offset": found}
        case _:
            assert_never(fact)


def _batch(fact: BatchFact) -> Row:
    header = fact.header
    return {
        "fact": "batch",
        "position": fact.position,
        "size_bytes": header.size_bytes,
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "records": header.records_count,
        "leader_epoch": header.partition_leader_epoch,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "last_sequence": header.last_sequence,
        "transactional": header.is_transactional,
        "control": header.is_control,
        "delete_horizon": header.delete_horizon_ms,
        "timestamp": header.max_timestamp,
        "timestamp_type": _timestamp_type(header),
        "magic": header.magic,
        "compression": codec_name(header),
        "crc": header.crc,
        "valid": fact.is_valid,
    }


def _record(fact: RecordFact, decoder: Decoder | None) -> Row:
    header, record = fact.header, fact.record
    row: dict[str, object] = {
        "fact": "record",
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestamp_type": _timestamp_type(header),
        "sequence": fact.sequence,
        "key_size": None if record.key is None else len(record.key),
        "value_size": None if record.value is None else len(record.value),
        "header_keys": [each.key for each in record.headers],
    }
    if header.is_control:
        told_of = told_control(fact)
        row["control"] = None if isinstance(told_of, str) else told_of.document
    elif decoder is not None:
        told = decoder(record)
        for name, value in (("key", told.key), ("value", told.payload)):
            row[name] = bytes_to_json(value) if isinstance(value, bytes) else value
    return row


def _producer(state: ProducerState) -> Row:
    last = state.batches[-1] if state.batches else None
    return {
        "fact": "producer",
        "producer_id": state.producer_id,
        "producer_epoch": state.epoch,
        "coordinator_epoch": state.coordinator_epoch,
        "transaction_first_offset": state.transaction_first_offset,
        "last_timestamp": state.last_timestamp,
        "first_sequence": None if last is None else last.first_sequence,
        "last_sequence": None if last is None else last.last_sequence,
        "last_offset": None if last is None else last.last_offset,
    }


def _timestamp_type(header: BatchHeader) -> str:
    is_append = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    return "log_append" if is_append else "create"
