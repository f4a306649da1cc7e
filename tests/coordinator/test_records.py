"""Classic groups and their records."""

from __future__ import annotations

import pytest

from kafkalite.coordinator.groups.classic.events import GroupProtocol
from kafkalite.coordinator.groups.classic.records import group_of, record_of
from kafkalite.coordinator.groups.classic.state import ClassicGroup, GroupState, Member
from kafkalite.coordinator.groups.log_record import decode_record
from kafkalite.protocol.messages.classic_group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
)
from kafkalite.protocol.record_frames import encode_coordinator_key, encode_coordinator_value
from kafkalite.types import NO_TIMESTAMP, TimestampMs
from tests.coordinator.sample_groups import subscription


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


@pytest.mark.parametrize("version", range(5))
def test_records_of_every_version(version: int) -> None:
    """Those before 1 know one timeout of a member, those before 2 not since when the group is as it
    is, those before 3 no static members. The real Kafka reads them so."""
    value = sample_value()
    value.members[1].rebalance_timeout = 30
    key = encode_coordinator_key(GroupMetadataKey(group="g"))
    record = decode_record(key, encode_coordinator_value(value, version))
    assert isinstance(record.value, GroupMetadataValue)
    group = group_of("g", record.value)
    assert (group.state, group.generation, group.leader) == (GroupState.STABLE, 3, "b")
    assert group.members["b"].rebalance_timeout_ms == (30 if version >= 1 else 20)
    assert group.members["b"].session_timeout_ms == 20
    assert group.state_timestamp == (1000 if version >= 2 else NO_TIMESTAMP)
    assert group.static_members == ({"i": "a"} if version >= 3 else {})
    assert group.members["a"].assignment == b"for a"
