"""What a group coordinator writes: Kafka's own records of `__consumer_offsets`, and their bytes.

Written in Kafka's versions of 4.4. Source: `GroupCoordinatorRecordHelpers`,
`CoordinatorRecordSerde`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kafkalite.coordinator.groups.classic.events import GroupProtocol
from kafkalite.coordinator.groups.classic.state import ClassicGroup, GroupState, Member
from kafkalite.protocol.messages.classic_group_records import (
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitValue,
)
from kafkalite.protocol.record_frames import (
    decode_coordinator_record,
    encode_coordinator_key,
    encode_coordinator_value,
)
from kafkalite.protocol.schema import CoordinatorKey, CoordinatorValue
from kafkalite.types import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    ProducerEpoch,
    ProducerId,
    TimestampMs,
)

TOPIC: Final = "__consumer_offsets"

Buffer = bytes | bytearray | memoryview


class Record(NamedTuple):
    """A key and its new value."""

    key: CoordinatorKey
    value: CoordinatorValue | None
    """None: a tombstone."""
    producer_id: ProducerId = NO_PRODUCER_ID
    """Of the batch: an offset in a transaction counts once that commits."""
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH
    """Of the batch, when it is written."""


class TransactionEnded(NamedTuple):
    """A producer's transaction was marked as ended in this partition. Applied where the
    marker stands in the log."""

    producer_id: ProducerId
    committed: bool
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH
    coordinator_epoch: int = -1
    """Of the transaction's coordinator."""


JournalRecord = Record | TransactionEnded
"""All that stands in the log of a coordinator's partition."""


class RecordBytes(NamedTuple):
    """As a record of the log."""

    key: bytes
    value: bytes | None


def encode_record(record: Record) -> RecordBytes:
    """The bytes of key and value, in the versions that Kafka 4.4 writes."""
    key = encode_coordinator_key(record.key)
    if record.value is None:
        return RecordBytes(key, None)
    return RecordBytes(key, encode_coordinator_value(record.value, _version(record.value)))


def decode_record(
    key: Buffer, value: Buffer | None, producer_id: ProducerId = NO_PRODUCER_ID
) -> Record:
    """The inverse, of any version. `ProtocolError` for what is no record of this topic."""
    decoded = decode_coordinator_record(TOPIC, key, value)
    return Record(decoded.key, decoded.value, producer_id)


def _version(value: CoordinatorValue) -> int:
    """An offset that expires by itself needs version 1, the only one that can say so."""
    if isinstance(value, OffsetCommitValue):
        return 4 if value.expire_timestamp < 0 else 1
    assert isinstance(value, GroupMetadataValue), value
    return 3


def record_of(group: ClassicGroup) -> GroupMetadataValue:
    """What is written of a group that is complete: its generation, or that it is empty."""
    protocol = group.protocol
    return GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=protocol,
        leader=group.leader,
        current_state_timestamp=group.state_timestamp,
        members=[
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata(protocol),
                assignment=member.assignment,
            )
            for member in group.members.values()
            if protocol is not None
        ],
    )


def group_of(group_id: str, value: GroupMetadataValue | None) -> ClassicGroup:
    """The group that was written; None: a simple consumer's, which has offsets and no record."""
    group = ClassicGroup(group_id)
    if value is None:
        return group
    group.generation = value.generation
    group.protocol_type = value.protocol_type or None
    group.protocol = value.protocol
    group.state_timestamp = TimestampMs(value.current_state_timestamp)
    for member in value.members:
        timeout = member.rebalance_timeout
        group.add(
            Member(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                member.session_timeout if timeout == -1 else timeout,
                member.session_timeout,
                (GroupProtocol(value.protocol or "", bytes(member.subscription)),),
                bytes(member.assignment),
            )
        )
        group.state = GroupState.STABLE
    group.leader = value.leader
    group.update_subscribed_topics()
    return group
