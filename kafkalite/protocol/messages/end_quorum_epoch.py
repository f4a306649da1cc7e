# Made by tools/generate_messages.py, digest fb0ce86b53fc557f; do not edit.
"""EndQuorumEpoch, API key 54: versions 0 to 1, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, int16, int32, string, uint16, uuid
from kafkalite.protocol.schema import Request, Response, Struct
from kafkalite.types import Uuid


class ReplicaInfo(Struct):
    candidate_id: int = int32("1+", entity="brokerId")
    candidate_directory_id: Uuid = uuid("1+")


class EndQuorumEpochRequestPartitionData(Struct):
    partition_index: int = int32("0+")
    leader_id: int = int32("0+", entity="brokerId")
    leader_epoch: int = int32("0+")
    preferred_successors: list[int] = array(int32, "0", ignorable=True)
    preferred_candidates: list[ReplicaInfo] = array(ReplicaInfo, "1+", ignorable=True)


class EndQuorumEpochRequestTopicData(Struct):
    topic_name: str = string("0+", entity="topicName")
    partitions: list[EndQuorumEpochRequestPartitionData] = array(
        EndQuorumEpochRequestPartitionData,
        "0+",
    )


class LeaderEndpoint(Struct):
    name: str = string("1+", map_key=True)
    host: str = string("1+")
    port: int = uint16("1+")


class EndQuorumEpochRequest(
    Request,
    api_key=54,
    versions="0-1",
    flexible="1+",
    listeners="controller",
):
    cluster_id: str | None = string("0+", nullable="0+", default=None)
    topics: list[EndQuorumEpochRequestTopicData] = array(EndQuorumEpochRequestTopicData, "0+")
    leader_endpoints: list[LeaderEndpoint] = array(LeaderEndpoint, "1+", ignorable=True)


class EndQuorumEpochResponsePartitionData(Struct):
    partition_index: int = int32("0+")
    error_code: int = int16("0+")
    leader_id: int = int32("0+", entity="brokerId")
    leader_epoch: int = int32("0+")


class EndQuorumEpochResponseTopicData(Struct):
    topic_name: str = string("0+", entity="topicName")
    partitions: list[EndQuorumEpochResponsePartitionData] = array(
        EndQuorumEpochResponsePartitionData,
        "0+",
    )


class NodeEndpoint(Struct):
    node_id: int = int32("1+", entity="brokerId", map_key=True)
    host: str = string("1+")
    port: int = uint16("1+")


class EndQuorumEpochResponse(Response, api_key=54, versions="0-1", flexible="1+"):
    error_code: int = int16("0+")
    topics: list[EndQuorumEpochResponseTopicData] = array(EndQuorumEpochResponseTopicData, "0+")
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, "1+", tag=0)
