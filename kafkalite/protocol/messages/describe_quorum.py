# Made by tools/generate_messages.py, digest 4c99e97f17fb76ba; do not edit.
"""DescribeQuorum, API key 55: versions 0 to 2, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, int16, int32, int64, string, uint16, uuid
from kafkalite.protocol.schema import Request, Response, Struct
from kafkalite.types import Uuid


class DescribeQuorumRequestPartitionData(Struct):
    partition_index: int = int32("0+")


class DescribeQuorumRequestTopicData(Struct):
    topic_name: str = string("0+", entity="topicName")
    partitions: list[DescribeQuorumRequestPartitionData] = array(
        DescribeQuorumRequestPartitionData,
        "0+",
    )


class DescribeQuorumRequest(
    Request,
    api_key=55,
    versions="0-2",
    flexible="0+",
    listeners="broker controller",
):
    topics: list[DescribeQuorumRequestTopicData] = array(DescribeQuorumRequestTopicData, "0+")


class ReplicaState(Struct):
    replica_id: int = int32("0+", entity="brokerId")
    replica_directory_id: Uuid = uuid("2+")
    log_end_offset: int = int64("0+")
    last_fetch_timestamp: int = int64("1+", default=-1, ignorable=True)
    last_caught_up_timestamp: int = int64("1+", default=-1, ignorable=True)


class DescribeQuorumResponsePartitionData(Struct):
    partition_index: int = int32("0+")
    error_code: int = int16("0+")
    error_message: str | None = string("2+", nullable="2+", ignorable=True)
    leader_id: int = int32("0+", entity="brokerId")
    leader_epoch: int = int32("0+")
    high_watermark: int = int64("0+")
    current_voters: list[ReplicaState] = array(ReplicaState, "0+")
    observers: list[ReplicaState] = array(ReplicaState, "0+")


class DescribeQuorumResponseTopicData(Struct):
    topic_name: str = string("0+", entity="topicName")
    partitions: list[DescribeQuorumResponsePartitionData] = array(
        DescribeQuorumResponsePartitionData,
        "0+",
    )


class Listener(Struct):
    name: str = string("2+", map_key=True)
    host: str = string("2+")
    port: int = uint16("2+")


class Node(Struct):
    node_id: int = int32("2+", entity="brokerId", map_key=True)
    listeners: list[Listener] = array(Listener, "2+")


class DescribeQuorumResponse(Response, api_key=55, versions="0-2", flexible="0+"):
    error_code: int = int16("0+")
    error_message: str | None = string("2+", nullable="2+", ignorable=True)
    topics: list[DescribeQuorumResponseTopicData] = array(DescribeQuorumResponseTopicData, "0+")
    nodes: list[Node] = array(Node, "2+")
