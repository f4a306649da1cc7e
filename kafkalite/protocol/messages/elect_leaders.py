# Made by tools/generate_messages.py, digest ebe50b8fcf77fdc9; do not edit.
"""ElectLeaders, API key 43: versions 0 to 2, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, int16, int32, int8, string
from kafkalite.protocol.schema import Request, Response, Struct


class TopicPartitions(Struct):
    topic: str = string("0+", entity="topicName", map_key=True)
    partitions: list[int] = array(int32, "0+")


class ElectLeadersRequest(
    Request,
    api_key=43,
    versions="0-2",
    flexible="2+",
    listeners="broker controller",
):
    election_type: int = int8("1+")
    topic_partitions: list[TopicPartitions] | None = array(TopicPartitions, "0+", nullable="0+")
    timeout_ms: int = int32("0+", default=60000)


class PartitionResult(Struct):
    partition_id: int = int32("0+")
    error_code: int = int16("0+")
    error_message: str | None = string("0+", nullable="0+")


class ReplicaElectionResult(Struct):
    topic: str = string("0+", entity="topicName")
    partition_result: list[PartitionResult] = array(PartitionResult, "0+")


class ElectLeadersResponse(Response, api_key=43, versions="0-2", flexible="2+"):
    throttle_time_ms: int = int32("0+")
    error_code: int = int16("1+")
    replica_election_results: list[ReplicaElectionResult] = array(ReplicaElectionResult, "0+")
