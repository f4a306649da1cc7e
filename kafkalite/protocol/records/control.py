"""Control records: what brokers write between the records of clients.

They stand in batches with the control bit, which consumers skip but count. The key says what it is:

    int16   version: 0
    int16   type (`ControlRecordType`)

The value of an end-transaction marker (KIP-98) is an int16 version and the coordinator's int32
epoch; producer id and epoch stand in the batch's header. The other types belong to KRaft's metadata
log and its snapshots (KIP-595, KIP-630, KIP-853): their values are messages whose first field is
their version.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from kafkalite.errors import CorruptRecordError
from kafkalite.protocol.codec import decode, encode
from kafkalite.protocol.messages.control_records import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from kafkalite.protocol.records.batch import Buffer
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.types import (
    NO_LEADER_EPOCH,
    NO_TIMESTAMP,
    LeaderEpoch,
    Offset,
    ProducerEpoch,
    ProducerId,
    TimestampMs,
)

KRaftRecord = (
    LeaderChangeMessage
    | SnapshotHeaderRecord
    | SnapshotFooterRecord
    | KRaftVersionRecord
    | VotersRecord
)
"""The values of the types that only the metadata log has."""

_KEY = Struct(">hh")
_VERSION = Struct(">h")
_END_TRANSACTION = Struct(">hi")
_KEY_VERSION = 0
_END_TRANSACTION_VERSION = 0
_FIRST_OFFSET = Offset(0)


class ControlRecordType(IntEnum):
    """The second int16 of a control record's key."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


_TYPES = {kind.value: kind for kind in ControlRecordType}
_KRAFT_CLASSES: dict[ControlRecordType, type[KRaftRecord]] = {
    ControlRecordType.LEADER_CHANGE: LeaderChangeMessage,
    ControlRecordType.SNAPSHOT_HEADER: SnapshotHeaderRecord,
    ControlRecordType.SNAPSHOT_FOOTER: SnapshotFooterRecord,
    ControlRecordType.KRAFT_VERSION: KRaftVersionRecord,
    ControlRecordType.KRAFT_VOTERS: VotersRecord,
}
_KRAFT_TYPES = {cls: kind for kind, cls in _KRAFT_CLASSES.items()}


class EndTransactionMarker(NamedTuple):
    """How a transaction of the batch's producer ended in this partition."""

    is_commit: bool
    coordinator_epoch: int


def control_record_type(key: Buffer | None) -> ControlRecordType | None:
    """The type that a control record's key names; None for one that a later release added.

    `CorruptRecordError` for a key that is missing, too short, or of a negative version.
    """
    if key is None or len(key) < _KEY.size:
        raise CorruptRecordError("a control record without the 4 bytes of its key")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise CorruptRecordError(f"a control record's key of version {version}")
    return _TYPES.get(number)


def build_end_transaction_batch(
    marker: EndTransactionMarker,
    *,
    producer_id: ProducerId,
    producer_epoch: ProducerEpoch,
    timestamp: TimestampMs,
    base_offset: Offset = _FIRST_OFFSET,
    leader_epoch: LeaderEpoch = NO_LEADER_EPOCH,
) -> bytearray:
    """The batch of one record that ends a transaction, as WriteTxnMarkers appends it."""
    kind = ControlRecordType.COMMIT if marker.is_commit else ControlRecordType.ABORT
    value = _END_TRANSACTION.pack(_END_TRANSACTION_VERSION, marker.coordinator_epoch)
    return build_batch(
        [Record(_KEY.pack(_KEY_VERSION, kind), value, timestamp=timestamp)],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
    )


def read_end_transaction_marker(record: Record) -> EndTransactionMarker | None:
    """The marker that a control record is; None when it is of another type.

    A value of a later version is read as far as this one goes. `CorruptRecordError` as
    `control_record_type` gives it, and for a value that is too short or of a negative version.
    """
    kind = control_record_type(record.key)
    if kind is not ControlRecordType.COMMIT and kind is not ControlRecordType.ABORT:
        return None
    if record.value is None or len(record.value) < _END_TRANSACTION.size:
        raise CorruptRecordError("an end-transaction marker without its 6 bytes")
    version, coordinator_epoch = _END_TRANSACTION.unpack_from(record.value)
    if version < 0:
        raise CorruptRecordError(f"an end-transaction marker of version {version}")
    return EndTransactionMarker(kind is ControlRecordType.COMMIT, coordinator_epoch)


def kraft_control_record(message: KRaftRecord, timestamp: TimestampMs = NO_TIMESTAMP) -> Record:
    """`message` as a control record, in the version that its `version` field has."""
    key = _KEY.pack(_KEY_VERSION, _KRAFT_TYPES[type(message)])
    return Record(key, encode(message, message.version), timestamp=timestamp)


def read_kraft_control_record(record: Record) -> KRaftRecord | None:
    """The message that a control record of the metadata log holds; None for types it has not.

    `ProtocolError` for a value that is no such message.
    """
    kind = control_record_type(record.key)
    cls = None if kind is None else _KRAFT_CLASSES.get(kind)
    if cls is None:
        return None
    if record.value is None or len(record.value) < _VERSION.size:
        raise CorruptRecordError("a control record without the 2 bytes of its version")
    (version,) = _VERSION.unpack_from(record.value)
    return decode(cls, version, record.value)
