"""CreatePartitions: more partitions for topics that exist.

Versions: 0 to 3.
- 2 flexible. 3 may be throttled (KIP-599).

Answered when every live broker serves the new partitions. What takes longer than `timeout_ms` has
timed out for the client, and may still come to be; with a timeout of 0 or less nothing is done.
"""

from __future__ import annotations

from functools import partial

from kafkalite.controller.events import CreatePartitions, PartitionsCreated, PartitionsToAdd
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.controller_answers import parked_answer
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.types import BrokerId

API = Api(
    ApiKey.CREATE_PARTITIONS,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    min_version=0,
    max_version=3,
    by_controller=True,
)


def handle(ctx: RequestContext, request: CreatePartitionsRequest) -> Parked:
    """Ask the controller, and wait for it."""
    if request.timeout_ms <= 0:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    services = ctx.services
    parked, on_reply = parked_answer(
        services, request.timeout_ms, answer=_response, refuse=partial(refuse, request)
    )
    services.controller.submit(
        CreatePartitions(
            token=None,
            topics=tuple(_wanted(topic) for topic in request.topics),
            placement_seed=int.from_bytes(services.entropy.token_bytes(8)),
            validate_only=request.validate_only,
        ),
        on_reply,
    )
    return parked


def refuse(
    request: CreatePartitionsRequest, code: ErrorCode, message: str
) -> CreatePartitionsResponse:
    """The same code for every topic."""
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(
                name=topic.name, error_code=code, error_message=message or None
            )
            for topic in request.topics
        ]
    )


def _wanted(topic: CreatePartitionsTopic) -> PartitionsToAdd:
    assignments = topic.assignments
    if assignments is None:
        return PartitionsToAdd(topic.name, topic.count)
    replicas = tuple(tuple(BrokerId(id) for id in each.broker_ids) for each in assignments)
    return PartitionsToAdd(topic.name, topic.count, replicas)


def _response(created: PartitionsCreated) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(
                name=topic.name, error_code=topic.code, error_message=topic.message
            )
            for topic in created.topics
        ]
    )
