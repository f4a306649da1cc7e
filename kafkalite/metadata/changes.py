"""The closed set of changes to a cluster's metadata, and the bytes in which the metadata log keeps
them.

A change is one of Kafka's own metadata records, unchanged: the generated class. Log, image,
controller and stores all speak in these. A type that this release of Kafka does not have is kept as
`UnknownChange`: the fold passes it by. A known type in a version that is too new is refused, since
passing by half of its meaning would give another cluster.

The value of a record, after Kafka's `AbstractApiMessageSerde`; all three numbers are unsigned
varints:

    | frame version (1) | type of the record | its version | body |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, get_args

from kafkalite.errors import ProtocolError
from kafkalite.protocol.codec import decode, encode
from kafkalite.protocol.messages.metadata_records import (
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UnregisterControllerRecord,
    UserScramCredentialRecord,
    ZkMigrationStateRecord,
)


@dataclass(frozen=True, slots=True)
class UnknownChange:
    """A record of a type that Kafka 4.4 does not have, as its bytes."""

    type: int
    version: int
    body: bytes


KnownChange = (
    AbortTransactionRecord
    | AccessControlEntryRecord
    | BeginTransactionRecord
    | BrokerRegistrationChangeRecord
    | ClearElrRecord
    | ClientQuotaRecord
    | ConfigRecord
    | DelegationTokenRecord
    | EndTransactionRecord
    | FeatureLevelRecord
    | FenceBrokerRecord
    | NoOpRecord
    | PartitionChangeRecord
    | PartitionRecord
    | ProducerIdsRecord
    | RegisterBrokerRecord
    | RegisterControllerRecord
    | RemoveAccessControlEntryRecord
    | RemoveDelegationTokenRecord
    | RemoveTopicRecord
    | RemoveUserScramCredentialRecord
    | TopicRecord
    | UnfenceBrokerRecord
    | UnregisterBrokerRecord
    | UnregisterControllerRecord
    | UserScramCredentialRecord
    | ZkMigrationStateRecord
)
Change = KnownChange | UnknownChange
"""What the metadata log holds and the image folds. Never altered once made, though the classes
allow it."""

_FRAME_VERSION: Final = 1


class _Type(NamedTuple):
    cls: type[KnownChange]
    newest: int
    """The newest version of the record, which is the one to write as a rule."""


_TYPES: Final = {
    cls.__schema__.api_key: _Type(cls, cls.__schema__.versions.last)
    for cls in get_args(KnownChange)
}


def encode_change(change: Change) -> bytes:
    """The value of the change's record, in the version that Kafka writes at metadata.version 33."""
    if isinstance(change, UnknownChange):
        return _frame(change.type, change.version) + change.body
    version = _version_to_write(change)
    return _frame(type(change).__schema__.api_key, version) + encode(change, version)


def decode_change(value: bytes | bytearray | memoryview) -> Change:
    """The inverse of `encode_change`; `ProtocolError` for bytes that are no such record."""
    frame_version, position = _read_varint(value, 0)
    if frame_version != _FRAME_VERSION:
        raise ProtocolError(
            f"frame version {frame_version} of a metadata record; {_FRAME_VERSION} is known"
        )
    number, position = _read_varint(value, position)
    version, position = _read_varint(value, position)
    known = _TYPES.get(number)
    if known is None:
        return UnknownChange(number, version, bytes(value[position:]))
    if version > known.newest:
        raise ProtocolError(
            f"{known.cls.__name__} version {version}: a newer Kafka wrote this metadata log,"
            f" {known.newest} is the newest version known here"
        )
    return decode(known.cls, version, value, position)


def _version_to_write(change: KnownChange) -> int:
    match change:
        case PartitionRecord() | PartitionChangeRecord():
            with_elr = (
                change.eligible_leader_replicas is not None or change.last_known_elr is not None
            )
            return 2 if with_elr else 1
        case BrokerRegistrationChangeRecord():
            if change.cordoned_log_dirs is not None:
                return 3
            if change.log_dirs:
                return 2
            return 1 if change.in_controlled_shutdown else 0
        case _:
            return _TYPES[type(change).__schema__.api_key].newest


def _frame(number: int, version: int) -> bytes:
    return bytes((_FRAME_VERSION, *_varint_bytes(number), *_varint_bytes(version)))


def _varint_bytes(number: int) -> bytes:
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def _read_varint(value: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
    number = 0
    if position < len(value) and value[position] < 0x80:
        return value[position], position + 1
    for shift in (0, 7, 14, 21, 28):
        if position >= len(value):
            raise ProtocolError("a metadata record ends within its head")
        byte = value[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, position
    raise ProtocolError("a number in the head of a metadata record has more than 5 bytes")
