"""AlterPartitionReassignments: move replicas to other brokers, or cancel that (KIP-455).

Versions: 0 to 1.
- 1 may refuse a target of more or fewer replicas (KIP-860).

Answered when every live broker knows of the replicas to come; that they are in sync shows in
ListPartitionReassignments. What takes longer than `timeout_ms` has timed out for the client, and
may still come to be; with a timeout of 0 or less nothing is done.
"""

from __future__ import annotations

from functools import partial

from kafkalite.controller.replica_events import (
    AlterReassignments,
    Reassignment,
    ReassignmentsAltered,
    ReassignmentsOf,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.controller_answers import parked_answer
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.types import BrokerId

API = Api(
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    min_version=0,
    max_version=1,
    by_controller=True,
)


def handle(
    ctx: RequestContext, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse | Parked:
    """Ask the controller, and wait for it."""
    if not request.topics:
        return AlterPartitionReassignmentsResponse(error_message="")  # Not null, as Kafka has it.
    if request.timeout_ms <= 0:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    parked, on_reply = parked_answer(
        ctx.services,
        request.timeout_ms,
        answer=partial(_response, request),
        refuse=partial(refuse, request),
    )
    ctx.services.controller.submit(
        AlterReassignments(
            token=None,
            topics=tuple(
                ReassignmentsOf(topic.name, tuple(_wanted(each) for each in topic.partitions))
                for topic in request.topics
            ),
            allow_replication_factor_change=request.allow_replication_factor_change,
        ),
        on_reply,
    )
    return parked


def refuse(
    request: AlterPartitionReassignmentsRequest, code: ErrorCode, message: str
) -> AlterPartitionReassignmentsResponse:
    """The same code for the whole and for every partition."""
    return AlterPartitionReassignmentsResponse(
        error_code=code,
        error_message=message or None,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    ReassignablePartitionResponse(
                        partition_index=each.partition_index,
                        error_code=code,
                        error_message=message or None,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def _wanted(asked: ReassignablePartition) -> Reassignment:
    replicas = asked.replicas
    return Reassignment(
        asked.partition_index,
        None if replicas is None else tuple(BrokerId(id) for id in replicas),
    )


def _response(
    request: AlterPartitionReassignmentsRequest, altered: ReassignmentsAltered
) -> AlterPartitionReassignmentsResponse:
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_message=None,
        responses=[
            ReassignableTopicResponse(
                name=topic.topic,
                partitions=[
                    ReassignablePartitionResponse(
                        partition_index=each.partition,
                        error_code=each.code,
                        error_message=each.message,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in altered.topics
        ],
    )
