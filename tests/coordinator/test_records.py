"""Records and their bytes; groups and their records."""

from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.classic.events import GroupProtocol
from kafkalite.coordinator.groups.classic.records import (
    Record,
    decode_record,
    encode_record,
    group_of,
    record_of,
)
from kafkalite.coordinator.groups.classic.state import ClassicGroup, GroupState, Member
from kafkalite.errors import ProtocolError
from kafkalite.protocol.messages.classic_group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kafkalite.types import NO_TIMESTAMP, ProducerId, TimestampMs
from tests.coordinator.golden_log import golden_bytes
from tests.coordinator.sample_groups import subscription

CLASSIC = {0, 1, 2}
"""Types of records: offsets (old and new), groups."""


def test_kafkas_own_records_are_written_again_byte_by_byte() -> None:
    ours = [pair for pair in golden_bytes() if int.from_bytes(pair[0][:2]) in CLASSIC]
    assert len(ours) == 22
    for key, value in ours:
        assert encode_record(decode_record(key, value)) == (key, value)


def test_an_offset_that_expires_by_itself_has_the_version_that_can_say_so() -> None:
    key = OffsetCommitKey(group="g", topic="t", partition=1)
    value = OffsetCommitValue(offset=5, metadata="m", commit_timestamp=7, expire_timestamp=9)
    written = encode_record(Record(key, value))
    assert written.value is not None
    assert written.value[:2] == b"\0\1"
    assert decode_record(*written) == Record(key, value)


def test_a_tombstone_and_a_producer() -> None:
    record = Record(GroupMetadataKey(group="g"), None, ProducerId(4))
    assert encode_record(record).value is None
    assert decode_record(*encode_record(record), ProducerId(4)) == record


def test_what_is_no_record_of_this_topic() -> None:
    with pytest.raises(ProtocolError):
        decode_record(b"\x03\xe7", None)


def sample_value() -> GroupMetadataValue:
    return GroupMetadataValue(
        protocol_type="consumer",
        generation=3,
        protocol="range",
        leader="b",
        current_state_timestamp=1000,
        members=[
            MemberMetadata(
                member_id="a",
                group_instance_id="i",
                client_id="ca",
                client_host="/1.2.3.4",
                rebalance_timeout=-1,
                session_timeout=10,
                subscription=subscription("t"),
                assignment=b"for a",
            ),
            MemberMetadata(
                member_id="b",
                client_id="cb",
                client_host="/1.2.3.5",
                rebalance_timeout=30,
                session_timeout=20,
                subscription=subscription("u"),
                assignment=b"for b",
            ),
        ],
    )


def test_a_recorded_group_is_stable() -> None:
    group = group_of("g", sample_value())
    assert group.state is GroupState.STABLE
    assert group.leader == "b"
    assert group.static_members == {"i": "a"}
    assert group.subscribed_topics == frozenset({"t", "u"})
    assert group.members["a"] == Member(
        "a",
        "i",
        "ca",
        "/1.2.3.4",
        rebalance_timeout_ms=10,
        session_timeout_ms=10,
        protocols=(GroupProtocol("range", subscription("t")),),
        assignment=b"for a",
    )
    assert group.members["b"].rebalance_timeout_ms == 30


def test_there_and_back_again() -> None:
    value = sample_value()
    value.members[0].rebalance_timeout = 10
    assert record_of(group_of("g", value)) == value


def test_an_empty_group() -> None:
    value = GroupMetadataValue(
        protocol_type="consumer",
        generation=4,
        protocol=None,
        leader=None,
        current_state_timestamp=9,
    )
    group = group_of("g", value)
    assert group.state is GroupState.EMPTY
    assert group.subscribed_topics == frozenset()
    assert record_of(group) == value


def test_a_group_that_never_had_members() -> None:
    new = ClassicGroup("g", state_timestamp=TimestampMs(5))
    value = record_of(new)
    assert value == GroupMetadataValue(protocol=None, leader=None, current_state_timestamp=5)
    assert group_of("g", value) == new


def test_a_simple_consumers_group_has_no_record() -> None:
    group = group_of("g", None)
    assert (group.state, group.protocol_type) == (GroupState.EMPTY, None)
    assert group.state_timestamp == NO_TIMESTAMP
