"""What earlier releases wrote of groups, as records that a log may still have."""

from __future__ import annotations

from kafkalite.coordinator.groups.log_record import RecordBytes
from kafkalite.protocol.messages.classic_group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kafkalite.protocol.record_frames import encode_coordinator_key, encode_coordinator_value
from kafkalite.types import TimestampMs
from tests.coordinator.sample_groups import subscription

TODAY = 4
"""The version of both values that the real Kafka writes, or would, if all brokers had it."""
LONG_MS = 600_000


def old_records(topic: str, now: TimestampMs) -> dict[str, list[RecordBytes]]:
    """By group: a commit in each version, a group with a member in each version."""
    commits = {
        f"old/commit-{version}": [_commit(f"old/commit-{version}", topic, version, now)]
        for version in range(TODAY)
    }
    groups = {
        f"old/group-{version}": [_group(f"old/group-{version}", topic, version, now)]
        for version in range(TODAY)
    }
    return {"old/first": [_first_commit("old/first", topic, now)], **commits, **groups}


def _first_commit(group: str, topic: str, now: TimestampMs) -> RecordBytes:
    key = LegacyOffsetCommitKey(group=group, topic=topic, partition=0)
    value = LegacyOffsetCommitValue(offset=1, metadata="m", commit_timestamp=now)
    return RecordBytes(encode_coordinator_key(key), encode_coordinator_value(value, 0))


def _commit(group: str, topic: str, version: int, now: TimestampMs) -> RecordBytes:
    key = OffsetCommitKey(group=group, topic=topic, partition=0)
    value = OffsetCommitValue(offset=2 + version, metadata="m", commit_timestamp=now)
    if version == 1:
        value.expire_timestamp = now + LONG_MS
    if version == 3:
        value.leader_epoch = 5
    return RecordBytes(encode_coordinator_key(key), encode_coordinator_value(value, version))


def _group(group: str, topic: str, version: int, now: TimestampMs) -> RecordBytes:
    member = MemberMetadata(
        member_id="member",
        group_instance_id="instance",
        client_id="client",
        client_host="/127.0.0.1",
        rebalance_timeout=LONG_MS,
        session_timeout=LONG_MS,
        subscription=subscription(topic),
    )
    value = GroupMetadataValue(
        protocol_type="consumer",
        generation=3,
        protocol="range",
        leader="member",
        current_state_timestamp=now,
        members=[member],
    )
    key = encode_coordinator_key(GroupMetadataKey(group=group))
    return RecordBytes(key, encode_coordinator_value(value, version))
