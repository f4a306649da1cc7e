"""The nouns that every layer shares: ids, offsets, epochs, times. No behaviour.

An id is an `int`, `str` or `bytes` at run time; the `NewType` keeps one from being passed
for another. `Uuid` is the protocol's 16 raw bytes: hashed and compared on the fetch path, so it
stays what the wire carries, and `format_uuid` gives the text that Kafka's tools print.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple, NewType

Offset = NewType("Offset", int)
"""The position of a record in a partition, from 0."""
LeaderEpoch = NewType("LeaderEpoch", int)
ProducerId = NewType("ProducerId", int)
ProducerEpoch = NewType("ProducerEpoch", int)
BrokerId = NewType("BrokerId", int)
BrokerEpoch = NewType("BrokerEpoch", int)
ControllerEpoch = NewType("ControllerEpoch", int)
TimestampMs = NewType("TimestampMs", int)
"""Milliseconds since 1970 (UTC)."""
Uuid = NewType("Uuid", bytes)
"""16 bytes, big-endian, as on the wire."""

ZERO_UUID = Uuid(bytes(16))
METADATA_TOPIC_ID = Uuid(bytes(15) + b"\x01")
"""The reserved id of `__cluster_metadata` (Kafka's `Uuid.METADATA_TOPIC_ID`)."""

NO_PRODUCER_ID = ProducerId(-1)
"""Of a batch that has no producer. Any id below it says the same."""
NO_PRODUCER_EPOCH = ProducerEpoch(-1)
NO_LEADER_EPOCH = LeaderEpoch(-1)
NO_LEADER = BrokerId(-1)
NO_BROKER_EPOCH = BrokerEpoch(-1)
NO_TIMESTAMP = TimestampMs(-1)

READ_UNCOMMITTED, READ_COMMITTED = ISOLATION_LEVELS = (0, 1)
"""Whether readers see records of transactions that have not ended (KIP-98)."""


def format_uuid(uuid: Uuid) -> str:
    """The 22 characters of URL-safe base64 that Kafka prints and stores."""
    return urlsafe_b64encode(uuid).rstrip(b"=").decode("ascii")


def parse_uuid(text: str) -> Uuid:
    """The inverse of `format_uuid`; `ValueError` unless it gives 16 bytes."""
    raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if len(raw) != 16:
        raise ValueError(f"{text!r} is not the base64 text of 16 bytes")
    return Uuid(raw)


class TopicPartition(NamedTuple):
    """A partition by its topic's name; prints as Kafka's tools do: `topic-0`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class IsrMember(NamedTuple):
    """A replica that is to be in sync, in the run of its broker that was seen to have caught up."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch = NO_BROKER_EPOCH
    """`NO_BROKER_EPOCH`: not told, in AlterPartition before version 3, or by a follower of 3.4."""
