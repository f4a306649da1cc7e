"""Records and their bytes."""

from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.log_record import Record, decode_record, encode_record
from kafkalite.errors import ProtocolError
from kafkalite.protocol.messages.classic_group_records import (
    GroupMetadataKey,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kafkalite.types import ProducerId
from tests.coordinator.golden_log import golden_bytes

OF_GROUPS = {*range(9), 16}
"""Types of records: offsets (old and new), classic groups, consumer groups."""


def test_kafkas_own_records_are_written_again_byte_by_byte() -> None:
    ours = [pair for pair in golden_bytes() if int.from_bytes(pair[0][:2]) in OF_GROUPS]
    assert len(ours) > 22
    for key, value in ours:
        assert encode_record(decode_record(key, value)) == (key, value)


def test_an_offset_that_expires_by_itself_has_the_version_that_can_say_so() -> None:
    key = OffsetCommitKey(group="g", topic="t", partition=1)
    value = OffsetCommitValue(offset=5, metadata="m", commit_timestamp=7, expire_timestamp=9)
    written = encode_record(Record(key, value))
    assert written.value is not None
    assert written.value[:2] == b"\0\1"
    assert decode_record(*written) == Record(key, value)


def test_commits_of_old_brokers_count_as_any_other() -> None:
    """The real Kafka 4.4 tells such an offset, too."""
    rest = b"\0\1g\0\1t\0\0\0\3"
    old = decode_record(b"\0\0" + rest, b"\0\0" + bytes(7) + b"\x2a\0\1m" + bytes(7) + b"\7")
    assert old == decode_record(
        *encode_record(
            Record(
                OffsetCommitKey(group="g", topic="t", partition=3),
                OffsetCommitValue(offset=42, metadata="m", commit_timestamp=7),
            )
        )
    )
    assert decode_record(b"\0\0" + rest, None, ProducerId(4)) == Record(
        old.key, None, ProducerId(4)
    )


def test_a_tombstone_and_a_producer() -> None:
    record = Record(GroupMetadataKey(group="g"), None, ProducerId(4))
    assert encode_record(record).value is None
    assert decode_record(*encode_record(record), ProducerId(4)) == record


def test_what_is_no_record_of_this_topic() -> None:
    with pytest.raises(ProtocolError):
        decode_record(b"\x03\xe7", None)
