"""ElectLeaders: have preferred replicas lead, or any replica where there is no leader (KIP-460).

Versions: 0 to 2.
- 0 elects preferred leaders. 1 names the type of election, and has an error of the whole.
- 2 flexible.

Answered when every live broker knows of the new leaders. What takes longer than `timeout_ms` has
timed out for the client, and may still come to be; with a timeout of 0 or less nothing is done.
"""

from __future__ import annotations

from functools import partial

from kafkalite.controller.replica_events import ElectLeaders, LeadersElected, PartitionsOf
from kafkalite.errors import ErrorCode
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.controller_answers import parked_answer
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.ELECT_LEADERS,
    ElectLeadersRequest,
    ElectLeadersResponse,
    min_version=0,
    max_version=2,
    by_controller=True,
)


def handle(ctx: RequestContext, request: ElectLeadersRequest) -> ElectLeadersResponse | Parked:
    """Ask the controller, and wait for it."""
    refuse_all = partial(_refusal, request, tells_whole=ctx.version > 0)
    asked = request.topic_partitions
    if asked is not None and not asked:
        return ElectLeadersResponse()  # Whatever the type of election and the time.
    if request.timeout_ms <= 0:
        return refuse_all(ErrorCode.REQUEST_TIMED_OUT, "")
    parked, on_reply = parked_answer(
        ctx.services, request.timeout_ms, answer=_response, refuse=refuse_all
    )
    ctx.services.controller.submit(
        ElectLeaders(
            token=None,
            election_type=request.election_type,
            topics=None
            if asked is None
            else tuple(PartitionsOf(each.topic, tuple(each.partitions)) for each in asked),
        ),
        on_reply,
    )
    return parked


def refuse(request: ElectLeadersRequest, code: ErrorCode, message: str) -> ElectLeadersResponse:
    """The same code for every partition that was named. For the whole, which version 0 cannot
    carry, only where none was."""
    return _refusal(request, code, message, tells_whole=not request.topic_partitions)


def _refusal(
    request: ElectLeadersRequest, code: ErrorCode, message: str, *, tells_whole: bool
) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        error_code=code if tells_whole else ErrorCode.NONE,
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    PartitionResult(
                        partition_id=index, error_code=code, error_message=message or None
                    )
                    for index in topic.partitions
                ],
            )
            for topic in request.topic_partitions or ()
        ],
    )


def _response(elected: LeadersElected) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    PartitionResult(
                        partition_id=each.partition,
                        error_code=each.code,
                        error_message=each.message,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in elected.topics
        ]
    )
