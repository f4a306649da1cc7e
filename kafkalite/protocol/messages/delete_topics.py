# Made by tools/generate_messages.py, digest f37f16cafcf39d01; do not edit.
"""DeleteTopics, API key 20: versions 1 to 6, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, int16, int32, string, uuid
from kafkalite.protocol.schema import Request, Response, Struct
from kafkalite.types import Uuid


class DeleteTopicState(Struct):
    name: str | None = string("6+", nullable="6+", default=None, entity="topicName")
    topic_id: Uuid = uuid("6+")


class DeleteTopicsRequest(
    Request,
    api_key=20,
    versions="1-6",
    flexible="4+",
    listeners="broker controller",
):
    topics: list[DeleteTopicState] = array(DeleteTopicState, "6+")
    topic_names: list[str] = array(string, "0-5", ignorable=True, entity="topicName")
    timeout_ms: int = int32("0+")


class DeletableTopicResult(Struct):
    name: str | None = string("0+", nullable="6+", entity="topicName", map_key=True)
    topic_id: Uuid = uuid("6+", ignorable=True)
    error_code: int = int16("0+")
    error_message: str | None = string("5+", nullable="5+", default=None, ignorable=True)


class DeleteTopicsResponse(Response, api_key=20, versions="1-6", flexible="4+"):
    throttle_time_ms: int = int32("1+", ignorable=True)
    responses: list[DeletableTopicResult] = array(DeletableTopicResult, "0+")
