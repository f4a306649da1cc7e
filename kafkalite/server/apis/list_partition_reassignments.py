"""ListPartitionReassignments: partitions whose replicas are moving (KIP-455).

Versions: 0.

A topic or partition that does not exist is passed over, as in Kafka.
"""

from __future__ import annotations

from functools import partial

from kafkalite.controller.replica_events import (
    ListReassignments,
    PartitionsOf,
    ReassignmentsListed,
)
from kafkalite.errors import ErrorCode
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.controller_answers import parked_answer
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    min_version=0,
    max_version=0,
    by_controller=True,
)


def handle(ctx: RequestContext, request: ListPartitionReassignmentsRequest) -> Parked:
    """Ask the controller, and wait for it."""
    asked = request.topics
    parked, on_reply = parked_answer(
        ctx.services, answer=_response, refuse=partial(refuse, request)
    )
    ctx.services.controller.submit(
        ListReassignments(
            token=None,
            topics=None
            if asked is None
            else tuple(PartitionsOf(each.name, tuple(each.partition_indexes)) for each in asked),
        ),
        on_reply,
    )
    return parked


def refuse(
    request: ListPartitionReassignmentsRequest, code: ErrorCode, message: str
) -> ListPartitionReassignmentsResponse:
    """The code, and no topics."""
    return ListPartitionReassignmentsResponse(error_code=code, error_message=message or None)


def _response(listed: ReassignmentsListed) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(
        error_message=None,
        topics=[
            OngoingTopicReassignment(
                name=topic.topic,
                partitions=[
                    OngoingPartitionReassignment(
                        partition_index=each.partition,
                        replicas=list(each.replicas),
                        adding_replicas=list(each.adding),
                        removing_replicas=list(each.removing),
                    )
                    for each in topic.partitions
                ],
            )
            for topic in listed.topics
        ],
    )
