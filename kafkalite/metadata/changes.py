"""The closed set of changes to a cluster's metadata, and the bytes in which the metadata log keeps
them.

A change is one of Kafka's own metadata records, unchanged: the generated class. Log, image,
controller and stores all speak in these. A type that this release of Kafka does not have is kept as
`UnknownChange`: the fold passes it by. A known type in a version that is too new is refused, since
passing by half of its meaning would give another cluster.

The bytes of a record are the business of `protocol/record_frames.py`.
"""

from __future__ import annotations

from typing import Final, NamedTuple, get_args

from kafkalite.errors import ProtocolError
from kafkalite.protocol.codec import decode
from kafkalite.protocol.messages import metadata_records as records
from kafkalite.protocol.record_frames import encode_metadata_record, metadata_frame


class UnknownChange(NamedTuple):
    """A record of a type that Kafka 4.4 does not have."""

    type: int
    value: bytes
    """As it stands in the log, so that a snapshot keeps it."""


HeldChange = (
    records.BrokerRegistrationChangeRecord
    | records.ClearElrRecord
    | records.ConfigRecord
    | records.FeatureLevelRecord
    | records.FenceBrokerRecord
    | records.PartitionChangeRecord
    | records.PartitionRecord
    | records.ProducerIdsRecord
    | records.RegisterBrokerRecord
    | records.RegisterControllerRecord
    | records.RemoveTopicRecord
    | records.RemoveUserScramCredentialRecord
    | records.TopicRecord
    | records.UnfenceBrokerRecord
    | records.UnregisterBrokerRecord
    | records.UnregisterControllerRecord
    | records.UserScramCredentialRecord
)
"""What the image keeps."""
UnheldChange = (
    records.AccessControlEntryRecord
    | records.ClientQuotaRecord
    | records.DelegationTokenRecord
    | records.RemoveAccessControlEntryRecord
    | records.RemoveDelegationTokenRecord
    | records.ZkMigrationStateRecord
)
"""What stays in the log, and waits for the code that reads it: a snapshot of the image would lose
it."""
LogChange = (
    records.AbortTransactionRecord
    | records.BeginTransactionRecord
    | records.EndTransactionRecord
    | records.NoOpRecord
)
"""What concerns the log itself, and is done with once it was read."""
KnownChange = HeldChange | UnheldChange | LogChange
Change = KnownChange | UnknownChange
"""What the metadata log holds and the image folds. Never altered once made, though the classes
allow it."""


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
        return change.value
    return encode_metadata_record(change, _version_to_write(change))


def decode_change(value: bytes | bytearray | memoryview) -> Change:
    """The inverse of `encode_change`; `ProtocolError` for bytes that are no such record."""
    frame = metadata_frame(value)
    known = _TYPES.get(frame.type)
    if known is None:
        return UnknownChange(frame.type, bytes(value))
    if frame.version > known.newest:
        raise ProtocolError(
            f"{known.cls.__name__} version {frame.version}: a newer Kafka wrote this metadata log,"
            f" {known.newest} is the newest version known here"
        )
    return decode(known.cls, frame.version, value, frame.position)


def _version_to_write(change: KnownChange) -> int:
    match change:
        case records.BrokerRegistrationChangeRecord():
            if change.cordoned_log_dirs is not None:
                return 3
            if change.log_dirs:
                return 2
            return 1 if change.in_controlled_shutdown else 0
        case _:
            return _TYPES[type(change).__schema__.api_key].newest
