from __future__ import annotations

import re
from typing import get_args

import pytest

from kafkalite.errors import ProtocolError
from kafkalite.metadata.changes import (
    Change,
    KnownChange,
    UnknownChange,
    decode_change,
    encode_change,
)
from kafkalite.protocol.messages import metadata_records
from kafkalite.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    NoOpRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from kafkalite.protocol.schema import MetadataRecord
from kafkalite.types import Uuid, format_uuid
from tests.metadata.sample_changes import (
    dumped_records,
    golden_values,
    partition,
    registration_change,
    uuid,
)


def snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def test_every_record_that_kafka_has_is_a_change() -> None:
    generated = {
        cls
        for cls in vars(metadata_records).values()
        if isinstance(cls, type) and issubclass(cls, MetadataRecord) and cls is not MetadataRecord
    }
    assert set(get_args(KnownChange)) == generated


def test_the_real_log_reads_as_kafkas_tool_reads_it() -> None:
    dumped = dumped_records()
    values = dict(golden_values())
    assert values.keys() == dumped.keys()
    for offset, value in values.items():
        change = decode_change(value)
        assert not isinstance(change, UnknownChange)
        schema = type(change).__schema__
        words = snake(schema.name).upper()
        assert words == dumped[offset]["type"]
        for key, shown in dumped[offset]["data"].items():
            ours = getattr(change, snake(key))
            if isinstance(shown, str) and isinstance(ours, bytes):
                assert format_uuid(Uuid(ours)) == shown
            elif isinstance(shown, str | int | bool | None):
                assert ours == shown, (offset, key)


def test_the_real_log_is_written_back_to_the_same_bytes() -> None:
    for _, value in golden_values():
        assert encode_change(decode_change(value)) == value


@pytest.mark.parametrize(
    ("change", "version"),
    [
        (registration_change(1, fenced=-1), 0),
        (registration_change(1, in_controlled_shutdown=1), 1),
        (registration_change(1, log_dirs=[uuid(5)]), 2),
        (registration_change(1, cordoned_log_dirs=[]), 3),
        (partition(1, 0, [1]), 2),
        (partition(1, 0, [1], eligible_leader_replicas=[1]), 2),
        (partition(1, 0, [1], last_known_elr=[1]), 2),
        (PartitionChangeRecord(partition_id=0, leader=1), 2),
        (PartitionChangeRecord(partition_id=0, eligible_leader_replicas=[]), 2),
        (RegisterBrokerRecord(broker_id=1), 4),
        (TopicRecord(name="t", topic_id=uuid(1)), 0),
    ],
)
def test_the_version_that_kafka_writes(change: Change, version: int) -> None:
    written = encode_change(change)
    assert written[2] == version
    assert decode_change(written) == change


def test_a_view_reads_like_bytes() -> None:
    change = BrokerRegistrationChangeRecord(broker_id=7, broker_epoch=9, fenced=1)
    assert decode_change(memoryview(encode_change(change))) == change


def test_a_type_that_this_kafka_does_not_have_is_kept() -> None:
    written = b"\x01\xac\x02\x02future"
    unknown = decode_change(written)
    assert unknown == UnknownChange(type=300, value=written)
    assert encode_change(unknown) == written


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b"", "end before a varint"),
        (b"\x01\x14", "end before a varint"),
        (b"\x00\x14\x00\x00", "frame version 0"),
        (b"\x01\x14\x01\x00", "a newer Kafka wrote this"),
        (b"\x01\xff\xff\xff\xff\xff\x00", "longer than 32 bits"),
        (b"\x01\x02\x00\x05ab", "TopicRecord|string|bytes|end"),
    ],
)
def test_what_is_no_record_is_refused(value: bytes, words: str) -> None:
    with pytest.raises(ProtocolError, match=words):
        decode_change(value)


def test_the_empty_record() -> None:
    assert decode_change(b"\x01\x14\x00\x00") == NoOpRecord()
