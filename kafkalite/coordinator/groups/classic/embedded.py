"""What classic consumers tell each other through the coordinator: subscriptions in JoinGroup,
assignments in SyncGroup. A coordinator reads and writes them where a group passes from one protocol
to the other.

    version (int16) | the message in that version

A version above the highest one that is known is read as that one; what follows the message is
ignored. Source: Kafka's `ConsumerProtocol`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from struct import Struct, error
from typing import Final, TypeVar

from kafkalite.errors import ProtocolError
from kafkalite.protocol.codec import decode_prefix, encode
from kafkalite.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)

_VERSION = Struct(">h")
_LATEST: Final = 3

M = TypeVar("M", ConsumerProtocolAssignment, ConsumerProtocolSubscription)


def version_of(data: bytes) -> int:
    """The version that it begins with, which may be one that is not known. `ProtocolError`."""
    try:
        (version,) = _VERSION.unpack_from(data)
    except error as short:
        raise ProtocolError("no version") from short
    if version < 0:
        raise ProtocolError(f"version {version}")
    return int(version)


def _read(cls: type[M], data: bytes) -> M:
    version = min(version_of(data), _LATEST)
    message, _ = decode_prefix(cls, version, data, _VERSION.size)
    return message


def read_subscription(data: bytes) -> ConsumerProtocolSubscription:
    """What a member says of itself. `ProtocolError`."""
    return _read(ConsumerProtocolSubscription, data)


def read_assignment(data: bytes) -> ConsumerProtocolAssignment:
    """What a leader gave to a member. `ProtocolError`."""
    return _read(ConsumerProtocolAssignment, data)


def write_assignment(partitions: Mapping[str, Sequence[int]], version: int) -> bytes:
    """For a member whose subscription has that version. By topic names."""
    version = min(version, _LATEST)
    message = ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignmentTopicPartition(topic=topic, partitions=list(indexes))
            for topic, indexes in partitions.items()
        ]
    )
    return _VERSION.pack(version) + encode(message, version)
