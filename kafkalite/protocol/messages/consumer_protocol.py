# Made by tools/generate_messages.py, digest b4fa92896d00e94d; do not edit.
"""What classic consumers put into JoinGroup and SyncGroup, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, binary, int32, string
from kafkalite.protocol.schema import Message, Struct


class ConsumerProtocolAssignmentTopicPartition(Struct):
    topic: str = string("0+", entity="topicName", map_key=True)
    partitions: list[int] = array(int32, "0+")


class ConsumerProtocolAssignment(Message, versions="0-3"):
    assigned_partitions: list[ConsumerProtocolAssignmentTopicPartition] = array(
        ConsumerProtocolAssignmentTopicPartition,
        "0+",
    )
    user_data: bytes | None = binary("0+", nullable="0+", default=None)


class ConsumerProtocolSubscriptionTopicPartition(Struct):
    topic: str = string("1+", entity="topicName", map_key=True)
    partitions: list[int] = array(int32, "1+")


class ConsumerProtocolSubscription(Message, versions="0-3"):
    topics: list[str] = array(string, "0+")
    user_data: bytes | None = binary("0+", nullable="0+", default=None)
    owned_partitions: list[ConsumerProtocolSubscriptionTopicPartition] = array(
        ConsumerProtocolSubscriptionTopicPartition,
        "1+",
        ignorable=True,
    )
    generation_id: int = int32("2+", default=-1, ignorable=True)
    rack_id: str | None = string("3+", nullable="3+", default=None, ignorable=True)
