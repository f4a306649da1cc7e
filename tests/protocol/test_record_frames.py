"""Records of the internal topics and the metadata log, as the real Kafka wrote them."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafkalite.errors import ErrorCode, KafkaError, ProtocolError
from kafkalite.protocol import codec
from kafkalite.protocol.messages.classic_group_records import OffsetCommitKey, OffsetCommitValue
from kafkalite.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from kafkalite.protocol.messages.metadata_records import NoOpRecord, RemoveTopicRecord, TopicRecord
from kafkalite.protocol.record_frames import (
    COORDINATOR_MODULES,
    decode_coordinator_record,
    decode_metadata_record,
    encode_coordinator_key,
    encode_coordinator_value,
    encode_metadata_record,
)
from kafkalite.protocol.records.batch import iter_headers
from kafkalite.protocol.records.record import read_records
from kafkalite.protocol.schema import MetadataRecord, Struct, schema_of
from kafkalite.types import parse_uuid

LOG_DIRS = Path(__file__).parents[1] / "data/log-dirs"
METADATA = "__cluster_metadata"


class Written(NamedTuple):
    """One record, as bytes and as kafka-dump-log printed it."""

    offset: int
    key: bytes | None
    value: bytes | None
    shown_key: dict[str, Any] | None
    shown_value: dict[str, Any] | None  # Any: JSON.


def written(topic: str) -> Iterator[Written]:
    shown = {}
    for line in (LOG_DIRS / f"{topic}-0.txt").read_text().splitlines():
        if found := re.match(
            r"\| offset: (\d+) .*?headerKeys: \[\] (?:key: (\{.*\}) )?payload: (.*)", line
        ):
            shown[int(found[1])] = found[2], found[3]
    for log in sorted((LOG_DIRS / f"{topic}-0").glob("*.log")):
        data = log.read_bytes()
        for position, header in iter_headers(data):
            if header.is_control:
                continue
            for record in read_records(data, position, header):
                key, value = shown[record.offset]
                yield Written(
                    record.offset,
                    None if record.key is None else bytes(record.key),
                    None if record.value is None else bytes(record.value),
                    json.loads(key) if key else None,
                    json.loads(value) if value.startswith("{") else None,
                )


@pytest.mark.parametrize("topic", COORDINATOR_MODULES)
def test_coordinator_records(topic: str) -> None:
    values = 0
    for entry in written(topic):
        assert entry.key is not None
        record = decode_coordinator_record(topic, entry.key, entry.value)
        assert encode_coordinator_key(record.key) == entry.key
        assert entry.shown_key is not None
        assert schema_of(type(record.key)).api_key == int(entry.shown_key["type"])
        assert_shown(record.key, entry.shown_key["data"])
        if record.value is None:
            assert entry.value is None
            assert record.version == -1
            continue
        assert encode_coordinator_value(record.value, record.version) == entry.value
        assert entry.shown_value is not None
        assert record.version == int(entry.shown_value["version"])
        assert_shown(record.value, entry.shown_value["data"])
        values += 1
    assert values >= 3


def test_metadata_records() -> None:
    types: set[type[MetadataRecord]] = set()
    for entry in written(METADATA):
        assert entry.value is not None
        assert entry.shown_value is not None
        record, version = decode_metadata_record(entry.value)
        assert encode_metadata_record(record, version) == entry.value
        assert version == entry.shown_value["version"]
        shown_type = entry.shown_value["type"].replace("_", "").lower()
        assert type(record).__name__.lower() == shown_type
        assert_shown(record, entry.shown_value["data"])
        types.add(type(record))
    assert len(types) > 10


def test_a_metadata_record_is_framed_by_three_varints() -> None:
    assert encode_metadata_record(NoOpRecord(), 0) == b"\x01\x14\x00\x00"
    assert decode_metadata_record(memoryview(b"\x01\x14\x00\x00")) == (NoOpRecord(), 0)


def test_a_coordinator_record_is_framed_by_its_type_and_version() -> None:
    key = encode_coordinator_key(OffsetCommitKey(group="g", topic="t", partition=3))
    assert key == b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x03"
    value = encode_coordinator_value(OffsetCommitValue(offset=5), 3)
    assert value.startswith(b"\x00\x03" + bytes(7) + b"\x05")
    record = decode_coordinator_record("__consumer_offsets", key, value)
    assert record.key == OffsetCommitKey(group="g", topic="t", partition=3)
    assert (record.value, record.version) == (OffsetCommitValue(offset=5), 3)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\x00\x14\x00\x00",  # frame version 0.
        b"\x02\x14\x00\x00",
        b"\x01\x7f\x00\x00",  # no such type.
        b"\x01\x14\x09\x00",  # no such version.
        b"\x01\x14\x00",
        b"\x01\x14\x00\x00\x00",
        b"\xff\xff\xff\xff\xff",
    ],
)
def test_a_broken_metadata_record_is_refused(value: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_metadata_record(value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"", None),
        (b"\x00", None),
        (b"\x7f\xff", None),
        (b"\xff\xff", None),
        (b"\x00\x02\x00\x01g", b"\x00"),
        (b"\x00\x02\x00\x01g", b"\x00\x63"),
        (b"\x00\x02\x00\x01g\x00", None),
    ],
)
def test_a_broken_coordinator_record_is_refused(key: bytes, value: bytes | None) -> None:
    with pytest.raises(ProtocolError):
        decode_coordinator_record("__consumer_offsets", key, value)


def test_a_record_can_not_be_written_in_a_version_that_it_lacks() -> None:
    with pytest.raises(KafkaError) as refused:
        encode_metadata_record(TopicRecord(name="t"), 1)
    assert refused.value.code == ErrorCode.UNSUPPORTED_VERSION


def test_types_are_numbered_by_topic() -> None:
    record, version = decode_metadata_record(encode_metadata_record(RemoveTopicRecord(), 0))
    assert (record, version) == (RemoveTopicRecord(), 0)
    transaction = decode_coordinator_record("__transaction_state", b"\x00\x00\x00\x01t", None)
    offset = decode_coordinator_record(
        "__consumer_offsets", b"\x00\x00\x00\x01g\x00\x01t\x00\x00\x00\x00", None
    )
    assert type(transaction.key).__name__ == "TransactionLogKey"
    assert type(offset.key).__name__ == "LegacyOffsetCommitKey"


NAMED_STATES = {"transactionStatus"}
"""Shown by name; a number in the record."""


def assert_shown(struct: Struct, shown: dict[str, Any]) -> None:  # Any: JSON.
    """Each field that the dump shows has that value; those it leaves out are at their defaults."""
    names = set()
    for camel, value in shown.items():
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", camel).lower()
        names.add(name)
        field = next(field for field in schema_of(type(struct)).fields if field.name == name)
        if camel not in NAMED_STATES:
            kind = (field.kind.element or field.kind).name
            assert_value(getattr(struct, name), value, kind)
    fresh = type(struct)()
    for field in schema_of(type(struct)).fields:
        if field.name not in names:
            assert getattr(struct, field.name) == getattr(fresh, field.name), (struct, field)


def assert_value(ours: object, shown: Any, kind: str) -> None:  # Any: JSON.
    if isinstance(ours, list):
        assert len(ours) == len(shown)
        for one, other in zip(ours, shown, strict=True):
            assert_value(one, other, kind)
    elif isinstance(ours, Struct):
        assert_shown(ours, shown)
    elif kind == "uuid":
        assert ours == parse_uuid(shown)
    elif kind == "binary" and isinstance(shown, dict):
        assert isinstance(ours, bytes)
        assert_consumer_protocol(ours, shown)
    elif kind == "binary" and shown is not None:
        assert ours == b64decode(shown)
    else:
        assert ours == shown


def assert_consumer_protocol(data: bytes, shown: dict[str, Any]) -> None:  # Any: JSON.
    """What a classic member sent for itself, which the tool decodes too: version, then message."""
    version = int.from_bytes(data[:2], "big")
    subscribes = "topics" in shown
    cls = ConsumerProtocolSubscription if subscribes else ConsumerProtocolAssignment
    message = codec.decode(cls, version, data, 2)
    assert codec.encode(message, version) == data[2:]
    assert_shown(message, shown)
