"""How `dump-log` reads keys and values: as text, or as the records of one of Kafka's own topics.

Source: the parsers of Kafka's `DumpLogSegments`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

from kafkalite.errors import KafkaError, ProtocolError
from kafkalite.protocol.codec import decode_prefix
from kafkalite.protocol.kafka_json import JsonObject, message_to_json, record_type_name
from kafkalite.protocol.messages.classic_group_records import GroupMetadataValue
from kafkalite.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kafkalite.protocol.messages.transaction_records import TransactionLogValue
from kafkalite.protocol.record_frames import (
    CoordinatorRecord,
    decode_coordinator_record,
    decode_metadata_record,
)
from kafkalite.protocol.records.control import (
    control_record_type,
    read_end_transaction_marker,
    read_kraft_control_record,
)
from kafkalite.protocol.records.record import Record
from kafkalite.protocol.schema import Message, schema_of

DELETED = "<DELETE>"
"""What Kafka prints for a tombstone."""

_TRANSACTION_STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)


class Told(NamedTuple):
    """A key and a value as they are told; bytes are text of somebody's own."""

    key: bytes | str | JsonObject | None
    payload: bytes | str | JsonObject | None


class ToldControl(NamedTuple):
    """A control record."""

    line: str
    """As Kafka's tool has it."""
    document: JsonObject


Decoder = Callable[[Record], Told]


def plain(record: Record) -> Told:
    """As they are."""
    key = None if record.key is None else bytes(record.key)
    return Told(key, None if record.value is None else bytes(record.value))


def cluster_metadata(record: Record) -> Told:
    """The metadata log's."""
    try:
        message, version = decode_metadata_record(record.value or b"")
    except (ProtocolError, KafkaError) as error:
        return Told(None, f"Error at {record.offset}, skipping. {error}")
    document: JsonObject = {
        "type": record_type_name(type(message)),
        "version": version,
        "data": message_to_json(message, version),
    }
    return Told(None, document)


def coordinator(topic: str) -> Decoder:
    """Those of a coordinator's topic."""

    def decode(record: Record) -> Told:
        if record.key is None:
            return Told(f"Error at offset {record.offset}, skipping. It has no key", None)
        try:
            decoded = decode_coordinator_record(topic, record.key, record.value)
        except (ProtocolError, KafkaError) as error:
            return Told(f"Error at offset {record.offset}, skipping. {error}", None)
        key: JsonObject = {
            "type": str(schema_of(type(decoded.key)).api_key),
            "data": message_to_json(decoded.key, 0),
        }
        return Told(key, _told_value(decoded))

    return decode


def _told_value(decoded: CoordinatorRecord) -> JsonObject | str:
    value = decoded.value
    if value is None:
        return DELETED
    data = message_to_json(value, decoded.version)
    if isinstance(value, TransactionLogValue):
        state = value.transaction_status
        known = 0 <= state < len(_TRANSACTION_STATES)
        data["transactionStatus"] = _TRANSACTION_STATES[state] if known else str(state)
    elif isinstance(value, GroupMetadataValue) and value.protocol_type == "consumer":
        members = data["members"]
        assert isinstance(members, list)
        for member, document in zip(value.members, members, strict=True):
            _tell(document, "subscription", ConsumerProtocolSubscription, member.subscription)
            _tell(document, "assignment", ConsumerProtocolAssignment, member.assignment)
    return {"version": str(decoded.version), "data": data}


def _tell(document: JsonObject, name: str, cls: type[Message], data: bytes) -> None:
    """What a consumer has put into its group, in words; else it stays base64."""
    if len(data) < 2:
        return
    newest = schema_of(cls).versions.last
    version = int.from_bytes(data[:2], "big", signed=True)
    try:
        message, _ = decode_prefix(cls, min(version, newest), data, 2)
    except ProtocolError:
        return
    document[name] = message_to_json(message, min(version, newest))


_LABELS = {
    "LEADER_CHANGE": "LeaderChange:",
    "SNAPSHOT_HEADER": "SnapshotHeader",
    "SNAPSHOT_FOOTER": "SnapshotFooter",
    "KRAFT_VERSION": "KRaftVersion",
    "KRAFT_VOTERS": "KRaftVoters",
}


def control(record: Record) -> ToldControl:
    """What a control record says; `CorruptRecordError` or `ProtocolError` for one that says
    nothing."""
    marker = read_end_transaction_marker(record)
    if marker is not None:
        kind = "COMMIT" if marker.is_commit else "ABORT"
        return ToldControl(
            f"endTxnMarker: {kind} coordinatorEpoch: {marker.coordinator_epoch}",
            {"type": kind, "coordinatorEpoch": marker.coordinator_epoch},
        )
    message = read_kraft_control_record(record)
    kind_of_record = control_record_type(record.key)
    if message is None or kind_of_record is None:
        number = int.from_bytes(bytes(record.key or b"")[2:4], "big", signed=True)
        return ToldControl(f"controlType: UNKNOWN({number})", {"type": "UNKNOWN", "number": number})
    document = message_to_json(message, message.version)
    name = kind_of_record.name
    return ToldControl(
        f"{_LABELS[name]} {compact_json(document)}", {"type": name, "data": document}
    )


def compact_json(document: JsonObject) -> str:
    """On one line, without blanks, as Kafka prints it."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)
