"""Heartbeat: a member of a classic group is alive, and learns of a rebalance.

Versions: 0 to 4.
- 3 static members (KIP-345). 4 flexible.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.classic.events import Heartbeat, HeartbeatSeen
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalite.server.apis.api import Api
from kafkalite.server.group_requests import Question, ask_one
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext

API = Api(ApiKey.HEARTBEAT, HeartbeatRequest, HeartbeatResponse, min_version=0, max_version=4)


def handle(ctx: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse | Parked:
    """Ask the group's coordinator."""
    event = Heartbeat(
        token=None,
        group_id=request.group_id,
        generation=request.generation_id,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
    )

    def answer(reply: HeartbeatSeen | KafkaError) -> HeartbeatResponse:
        code = _code(reply)
        if code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            ctx.services.groups.heard(ctx.connection, request.group_id, request.member_id)
        return HeartbeatResponse(error_code=code)

    return ask_one(ctx, Question(request.group_id, event, HeartbeatSeen), answer)


def refuse(request: HeartbeatRequest, code: ErrorCode, message: str) -> HeartbeatResponse:
    """The code is all that an answer has."""
    return HeartbeatResponse(error_code=code)


def _code(reply: HeartbeatSeen | KafkaError) -> ErrorCode:
    """A coordinator that still loads cannot know, and keeps everybody where they are."""
    loads = reply.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return ErrorCode.NONE if loads else reply.code
