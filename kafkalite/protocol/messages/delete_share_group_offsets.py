# Made by tools/generate_messages.py, digest c96ccd1e08af373f; do not edit.
"""DeleteShareGroupOffsets, API key 92: version 0, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, int16, int32, string, uuid
from kafkalite.protocol.schema import Request, Response, Struct
from kafkalite.types import Uuid


class DeleteShareGroupOffsetsRequestTopic(Struct):
    topic_name: str = string("0+", entity="topicName")


class DeleteShareGroupOffsetsRequest(
    Request,
    api_key=92,
    versions="0",
    flexible="0+",
    listeners="broker",
):
    group_id: str = string("0+", entity="groupId")
    topics: list[DeleteShareGroupOffsetsRequestTopic] = array(
        DeleteShareGroupOffsetsRequestTopic,
        "0+",
    )


class DeleteShareGroupOffsetsResponseTopic(Struct):
    topic_name: str = string("0+", entity="topicName")
    topic_id: Uuid = uuid("0+")
    error_code: int = int16("0+")
    error_message: str | None = string("0+", nullable="0+", default=None)


class DeleteShareGroupOffsetsResponse(Response, api_key=92, versions="0", flexible="0+"):
    throttle_time_ms: int = int32("0+")
    error_code: int = int16("0+")
    error_message: str | None = string("0+", nullable="0+", default=None)
    responses: list[DeleteShareGroupOffsetsResponseTopic] = array(
        DeleteShareGroupOffsetsResponseTopic,
        "0+",
    )
