# Made by tools/generate_messages.py, digest 08abf7cc2d884554; do not edit.
"""ListPartitionReassignments, API key 46: version 0, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, int16, int32, string
from kafkalite.protocol.schema import Request, Response, Struct


class ListPartitionReassignmentsTopics(Struct):
    name: str = string("0+", entity="topicName")
    partition_indexes: list[int] = array(int32, "0+")


class ListPartitionReassignmentsRequest(
    Request,
    api_key=46,
    versions="0",
    flexible="0+",
    listeners="broker controller",
):
    timeout_ms: int = int32("0+", default=60000)
    topics: list[ListPartitionReassignmentsTopics] | None = array(
        ListPartitionReassignmentsTopics,
        "0+",
        nullable="0+",
        default=None,
    )


class OngoingPartitionReassignment(Struct):
    partition_index: int = int32("0+")
    replicas: list[int] = array(int32, "0+", entity="brokerId")
    adding_replicas: list[int] = array(int32, "0+", entity="brokerId")
    removing_replicas: list[int] = array(int32, "0+", entity="brokerId")


class OngoingTopicReassignment(Struct):
    name: str = string("0+", entity="topicName")
    partitions: list[OngoingPartitionReassignment] = array(OngoingPartitionReassignment, "0+")


class ListPartitionReassignmentsResponse(Response, api_key=46, versions="0", flexible="0+"):
    throttle_time_ms: int = int32("0+")
    error_code: int = int16("0+")
    error_message: str | None = string("0+", nullable="0+")
    topics: list[OngoingTopicReassignment] = array(OngoingTopicReassignment, "0+")
