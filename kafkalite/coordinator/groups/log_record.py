"""Records of `__consumer_offsets`, of any kind of group, and their bytes.

Written in Kafka's versions of 4.4. Source: Kafka's `GroupCoordinatorRecordSerde`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kafkalite.protocol.messages.classic_group_records import (
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kafkalite.protocol.record_frames import (
    decode_coordinator_record,
    encode_coordinator_key,
    encode_coordinator_value,
)
from kafkalite.protocol.schema import CoordinatorKey, CoordinatorValue
from kafkalite.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, ProducerEpoch, ProducerId

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
    if isinstance(decoded.key, LegacyOffsetCommitKey):
        return _commit_of_old(decoded.key, decoded.value, producer_id)
    return Record(decoded.key, decoded.value, producer_id)


def _commit_of_old(
    key: LegacyOffsetCommitKey, value: CoordinatorValue | None, producer_id: ProducerId
) -> Record:
    """A commit as brokers before 0.9 wrote it: it counts as any other."""
    commit = None
    if value is not None:
        assert isinstance(value, LegacyOffsetCommitValue), value
        commit = OffsetCommitValue(
            offset=value.offset,
            metadata=value.metadata,
            commit_timestamp=value.commit_timestamp,
        )
    commit_key = OffsetCommitKey(group=key.group, topic=key.topic, partition=key.partition)
    return Record(commit_key, commit, producer_id)


def _version(value: CoordinatorValue) -> int:
    """An offset that expires by itself needs version 1, the only one that can say so. Those of the
    newer kinds of groups have no other than version 0."""
    if isinstance(value, OffsetCommitValue):
        return 4 if value.expire_timestamp < 0 else 1
    return 3 if isinstance(value, GroupMetadataValue) else 0
