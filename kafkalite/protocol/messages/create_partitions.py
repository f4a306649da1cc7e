# Made by tools/generate_messages.py, digest f9031d4357ca1f58; do not edit.
"""CreatePartitions, API key 37: versions 0 to 3, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, boolean, int16, int32, string
from kafkalite.protocol.schema import Request, Response, Struct


class CreatePartitionsAssignment(Struct):
    broker_ids: list[int] = array(int32, "0+", entity="brokerId")


class CreatePartitionsTopic(Struct):
    name: str = string("0+", entity="topicName", map_key=True)
    count: int = int32("0+")
    assignments: list[CreatePartitionsAssignment] | None = array(
        CreatePartitionsAssignment,
        "0+",
        nullable="0+",
    )


class CreatePartitionsRequest(
    Request,
    api_key=37,
    versions="0-3",
    flexible="2+",
    listeners="broker controller",
):
    topics: list[CreatePartitionsTopic] = array(CreatePartitionsTopic, "0+")
    timeout_ms: int = int32("0+")
    validate_only: bool = boolean("0+")


class CreatePartitionsTopicResult(Struct):
    name: str = string("0+", entity="topicName")
    error_code: int = int16("0+")
    error_message: str | None = string("0+", nullable="0+", default=None)


class CreatePartitionsResponse(Response, api_key=37, versions="0-3", flexible="2+"):
    throttle_time_ms: int = int32("0+")
    results: list[CreatePartitionsTopicResult] = array(CreatePartitionsTopicResult, "0+")
