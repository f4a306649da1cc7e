# Made by tools/generate_messages.py, digest d63895666e892fe9; do not edit.
"""ShareGroupHeartbeat, API key 76: version 1, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, int16, int32, string, struct, uuid
from kafkalite.protocol.schema import Request, Response, Struct
from kafkalite.types import Uuid


class ShareGroupHeartbeatRequest(
    Request,
    api_key=76,
    versions="1",
    flexible="0+",
    listeners="broker",
):
    group_id: str = string("0+", entity="groupId")
    member_id: str = string("0+")
    member_epoch: int = int32("0+")
    rack_id: str | None = string("0+", nullable="0+", default=None)
    subscribed_topic_names: list[str] | None = array(
        string,
        "0+",
        nullable="0+",
        default=None,
        entity="topicName",
    )


class TopicPartitions(Struct):
    topic_id: Uuid = uuid("0+")
    partitions: list[int] = array(int32, "0+")


class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = array(TopicPartitions, "0+")


class ShareGroupHeartbeatResponse(Response, api_key=76, versions="1", flexible="0+"):
    throttle_time_ms: int = int32("0+")
    error_code: int = int16("0+")
    error_message: str | None = string("0+", nullable="0+", default=None)
    member_id: str | None = string("0+", nullable="0+", default=None)
    member_epoch: int = int32("0+")
    heartbeat_interval_ms: int = int32("0+")
    assignment: Assignment | None = struct(Assignment, "0+", nullable="0+", default=None)
