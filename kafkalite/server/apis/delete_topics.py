"""DeleteTopics: topics by name, or from version 6 on by name or id.

Versions: 1 to 6.
- 4 flexible. 5 error messages; TOPIC_DELETION_DISABLED. 6 topic ids (KIP-516).

Answered when no live broker serves the topics any more. With a `timeout_ms` of 0 or less nothing is
done, and it has timed out.
"""

from __future__ import annotations

from functools import partial

from kafkalite.controller.events import DeleteTopics, TopicsDeleted, TopicToDelete
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.controller_answers import parked_answer
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.DELETE_TOPICS,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    min_version=1,
    max_version=6,
    by_controller=True,
)

_FIRST_VERSION_WITH_DISABLED = 3


def handle(ctx: RequestContext, request: DeleteTopicsRequest) -> Parked:
    """Ask the controller, and wait for it."""
    if not ctx.services.config.delete_topic_enable:
        if ctx.version < _FIRST_VERSION_WITH_DISABLED:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        raise KafkaError(ErrorCode.TOPIC_DELETION_DISABLED)
    if request.timeout_ms <= 0:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    parked, on_deleted = parked_answer(
        ctx.services, request.timeout_ms, answer=_response, refuse=partial(refuse, request)
    )
    ctx.services.controller.submit(
        DeleteTopics(token=None, topics=tuple(_wanted(request))), on_deleted
    )
    return parked


def refuse(request: DeleteTopicsRequest, code: ErrorCode, message: str) -> DeleteTopicsResponse:
    """The same code for every topic."""
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(
                name=topic.name,
                topic_id=topic.id,
                error_code=code,
                error_message=message or None,
            )
            for topic in _wanted(request)
        ]
    )


def _response(deleted: TopicsDeleted) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(
                name=topic.name,
                topic_id=topic.topic_id,
                error_code=topic.code,
                error_message=topic.message,
            )
            for topic in deleted.topics
        ]
    )


def _wanted(request: DeleteTopicsRequest) -> list[TopicToDelete]:
    """Versions up to 5 fill `topic_names`, later ones `topics`."""
    by_name = [TopicToDelete(name) for name in request.topic_names]
    return by_name + [TopicToDelete(topic.name, topic.topic_id) for topic in request.topics]
