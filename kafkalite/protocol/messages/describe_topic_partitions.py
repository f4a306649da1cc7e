# Made by tools/generate_messages.py, digest 945a4c973629c4ce; do not edit.
"""DescribeTopicPartitions, API key 75: version 0, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, boolean, int16, int32, string, struct, uuid
from kafkalite.protocol.schema import Request, Response, Struct
from kafkalite.types import Uuid


class TopicRequest(Struct):
    name: str = string("0+", entity="topicName")


class Cursor(Struct):
    topic_name: str = string("0+", entity="topicName")
    partition_index: int = int32("0+")


class DescribeTopicPartitionsRequest(
    Request,
    api_key=75,
    versions="0",
    flexible="0+",
    listeners="broker",
):
    topics: list[TopicRequest] = array(TopicRequest, "0+")
    response_partition_limit: int = int32("0+", default=2000)
    cursor: Cursor | None = struct(Cursor, "0+", nullable="0+", default=None)


class DescribeTopicPartitionsResponsePartition(Struct):
    error_code: int = int16("0+")
    partition_index: int = int32("0+")
    leader_id: int = int32("0+", entity="brokerId")
    leader_epoch: int = int32("0+", default=-1, ignorable=True)
    replica_nodes: list[int] = array(int32, "0+", entity="brokerId")
    isr_nodes: list[int] = array(int32, "0+", entity="brokerId")
    eligible_leader_replicas: list[int] | None = array(
        int32,
        "0+",
        nullable="0+",
        default=None,
        entity="brokerId",
    )
    last_known_elr: list[int] | None = array(
        int32,
        "0+",
        nullable="0+",
        default=None,
        entity="brokerId",
    )
    offline_replicas: list[int] = array(int32, "0+", ignorable=True, entity="brokerId")


class DescribeTopicPartitionsResponseTopic(Struct):
    error_code: int = int16("0+")
    name: str | None = string("0+", nullable="0+", entity="topicName", map_key=True)
    topic_id: Uuid = uuid("0+", ignorable=True)
    is_internal: bool = boolean("0+", ignorable=True)
    partitions: list[DescribeTopicPartitionsResponsePartition] = array(
        DescribeTopicPartitionsResponsePartition,
        "0+",
    )
    topic_authorized_operations: int = int32("0+", default=-2147483648)


class DescribeTopicPartitionsResponse(Response, api_key=75, versions="0", flexible="0+"):
    throttle_time_ms: int = int32("0+", ignorable=True)
    topics: list[DescribeTopicPartitionsResponseTopic] = array(
        DescribeTopicPartitionsResponseTopic,
        "0+",
    )
    next_cursor: Cursor | None = struct(Cursor, "0+", nullable="0+", default=None)
