"""Messages as the keys and values of records: the metadata log's, and the coordinators' topics'.

    metadata value     frame version (varint, 1) | record type (varint) | version (varint) | message
    coordinator key    record type (int16) | message, always of version 0
    coordinator value  version (int16) | message

The varints are unsigned (`MetadataRecordSerde.java`, `CoordinatorRecordSerde.java`). A value of
None is a tombstone and has no bytes to decode.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from struct import Struct, error
from typing import Final, NamedTuple, TypeVar

from kafkalite.errors import ProtocolError
from kafkalite.protocol.codec import decode, encode
from kafkalite.protocol.primitives import decode_varint, encode_varint
from kafkalite.protocol.schema import (
    CoordinatorKey,
    CoordinatorValue,
    Message,
    MetadataRecord,
    schema_of,
)

M = TypeVar("M", bound=Message)
V = TypeVar("V", bound=CoordinatorValue)
Buffer = bytes | bytearray | memoryview

FRAME_VERSION: Final = 1
_INT16: Final = Struct(">h")

COORDINATOR_MODULES: Final = {
    "__consumer_offsets": (
        "classic_group_records",
        "consumer_group_records",
        "share_group_records",
        "streams_group_records",
    ),
    "__transaction_state": ("transaction_records",),
    "__share_group_state": ("share_state_records",),
}
"""Topic -> modules in `messages/` that declare its records. Types are numbered by topic."""


class CoordinatorRecord(NamedTuple):
    """A decoded record of a coordinator's topic."""

    key: CoordinatorKey
    value: CoordinatorValue | None
    """None for a tombstone."""
    version: int
    """Of the value; -1 for a tombstone."""


class MetadataFrame(NamedTuple):
    """The head of a metadata record's value."""

    type: int
    version: int
    position: int
    """Where the message begins."""


def encode_metadata_record(record: MetadataRecord, version: int) -> bytes:
    """The value of a record in `__cluster_metadata`. Errors as `codec.encode`."""
    key = schema_of(type(record)).api_key
    start = encode_varint(FRAME_VERSION) + encode_varint(key) + encode_varint(version)
    return start + encode(record, version)


def metadata_frame(buffer: Buffer) -> MetadataFrame:
    """What stands before a metadata record. `ProtocolError` when it is cut off or of another
    kind."""
    frame_version, position = decode_varint(buffer, 0)
    if frame_version != FRAME_VERSION:
        raise ProtocolError(f"metadata record with frame version {frame_version}")
    record_type, position = decode_varint(buffer, position)
    version, position = decode_varint(buffer, position)
    return MetadataFrame(record_type, version, position)


def decode_metadata_record(buffer: Buffer) -> tuple[MetadataRecord, int]:
    """The record and its version. `ProtocolError` for anything else, such as an unknown type."""
    frame = metadata_frame(buffer)
    cls = _metadata_classes().get(frame.type)
    if cls is None:
        raise ProtocolError(f"there is no metadata record of type {frame.type}")
    return decode(cls, frame.version, buffer, frame.position), frame.version


def encode_coordinator_key(key: CoordinatorKey) -> bytes:
    """The key of a record in a coordinator's topic."""
    return _INT16.pack(schema_of(type(key)).api_key) + encode(key, 0)


def encode_coordinator_value(value: CoordinatorValue, version: int) -> bytes:
    """The value of a record in a coordinator's topic. Errors as `codec.encode`."""
    return _INT16.pack(version) + encode(value, version)


def decode_coordinator_record(topic: str, key: Buffer, value: Buffer | None) -> CoordinatorRecord:
    """A record of `topic`, one of `COORDINATOR_MODULES`. `ProtocolError` for an unknown type."""
    record_type = _int16(key)
    key_class = _classes(topic, CoordinatorKey).get(record_type)
    value_class = _classes(topic, CoordinatorValue).get(record_type)
    if key_class is None or value_class is None:
        raise ProtocolError(f"{topic} has no record of type {record_type}")
    decoded_key = decode(key_class, 0, key, 2)
    if value is None:
        return CoordinatorRecord(decoded_key, None, -1)
    version = _int16(value)
    return CoordinatorRecord(decoded_key, decode(value_class, version, value, 2), version)


def decode_coordinator_value(cls: type[V], value: Buffer) -> V:
    """The value of a record whose key is known already. `ProtocolError`."""
    return decode(cls, _int16(value), value, 2)


def _int16(buffer: Buffer) -> int:
    try:
        number: int = _INT16.unpack_from(buffer)[0]
    except error:
        raise ProtocolError("the bytes end before the record's type or version does") from None
    return number


def _metadata_classes() -> dict[int, type[MetadataRecord]]:
    return _classes("__cluster_metadata", MetadataRecord)


@cache
def _classes(topic: str, base: type[M]) -> dict[int, type[M]]:
    """Record type -> class, among the modules of the topic."""
    found: dict[int, type[M]] = {}
    for name in COORDINATOR_MODULES.get(topic, ("metadata_records",)):
        module = import_module(f"kafkalite.protocol.messages.{name}")
        for cls in vars(module).values():
            if isinstance(cls, type) and issubclass(cls, base) and cls is not base:
                found[schema_of(cls).api_key] = cls
    return found
