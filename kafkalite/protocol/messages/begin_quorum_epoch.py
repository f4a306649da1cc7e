# Made by tools/generate_messages.py, digest f4bd52913e37f88c; do not edit.
"""BeginQuorumEpoch, API key 53: versions 0 to 1, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, int16, int32, string, uint16, uuid
from kafkalite.protocol.schema import Request, Response, Struct
from kafkalite.types import Uuid


class BeginQuorumEpochRequestPartitionData(Struct):
    partition_index: int = int32("0+")
    voter_directory_id: Uuid = uuid("1+", ignorable=True)
    leader_id: int = int32("0+", entity="brokerId")
    leader_epoch: int = int32("0+")


class BeginQuorumEpochRequestTopicData(Struct):
    topic_name: str = string("0+", entity="topicName")
    partitions: list[BeginQuorumEpochRequestPartitionData] = array(
        BeginQuorumEpochRequestPartitionData,
        "0+",
    )


class LeaderEndpoint(Struct):
    name: str = string("1+", map_key=True)
    host: str = string("1+")
    port: int = uint16("1+")


class BeginQuorumEpochRequest(
    Request,
    api_key=53,
    versions="0-1",
    flexible="1+",
    listeners="controller",
):
    cluster_id: str | None = string("0+", nullable="0+", default=None)
    voter_id: int = int32("1+", default=-1, ignorable=True, entity="brokerId")
    topics: list[BeginQuorumEpochRequestTopicData] = array(BeginQuorumEpochRequestTopicData, "0+")
    leader_endpoints: list[LeaderEndpoint] = array(LeaderEndpoint, "1+", ignorable=True)


class BeginQuorumEpochResponsePartitionData(Struct):
    partition_index: int = int32("0+")
    error_code: int = int16("0+")
    leader_id: int = int32("0+", entity="brokerId")
    leader_epoch: int = int32("0+")


class BeginQuorumEpochResponseTopicData(Struct):
    topic_name: str = string("0+", entity="topicName")
    partitions: list[BeginQuorumEpochResponsePartitionData] = array(
        BeginQuorumEpochResponsePartitionData,
        "0+",
    )


class NodeEndpoint(Struct):
    node_id: int = int32("1+", entity="brokerId", map_key=True)
    host: str = string("1+")
    port: int = uint16("1+")


class BeginQuorumEpochResponse(Response, api_key=53, versions="0-1", flexible="1+"):
    error_code: int = int16("0+")
    topics: list[BeginQuorumEpochResponseTopicData] = array(BeginQuorumEpochResponseTopicData, "0+")
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, "1+", tag=0)
