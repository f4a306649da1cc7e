"""SyncGroup: the leader hands in what each member is to do, and every member gets its part.

Versions: 0 to 5.
- 3 static members (KIP-345). 4 flexible. 5 the protocol's type and name, which must be those of the
  generation.

Answered when the leader has handed in, or with REBALANCE_IN_PROGRESS when the next rebalance comes
before that.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.classic.events import MemberAssignment, Synced, SyncGroup
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafkalite.server.apis.api import Api
from kafkalite.server.group_requests import Question, ask_group
from kafkalite.server.purgatory import FOREVER_MS, Parked
from kafkalite.server.request import RequestContext

API = Api(ApiKey.SYNC_GROUP, SyncGroupRequest, SyncGroupResponse, min_version=0, max_version=5)

_FIRST_VERSION_WITH_PROTOCOL = 5


def handle(ctx: RequestContext, request: SyncGroupRequest) -> SyncGroupResponse | Parked:
    """Ask the group's coordinator, and wait for the leader."""
    if ctx.version >= _FIRST_VERSION_WITH_PROTOCOL and (
        request.protocol_type is None or request.protocol_name is None
    ):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    event = SyncGroup(
        token=None,
        group_id=request.group_id,
        generation=request.generation_id,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        protocol_type=request.protocol_type,
        protocol=request.protocol_name,
        assignments=tuple(
            MemberAssignment(each.member_id, each.assignment) for each in request.assignments
        ),
    )
    question = Question(request.group_id, event, Synced)
    return ask_group(ctx, question, _response, timeout_ms=FOREVER_MS)


def refuse(request: SyncGroupRequest, code: ErrorCode, message: str) -> SyncGroupResponse:
    """Nothing to do."""
    return SyncGroupResponse(error_code=code)


def _response(synced: Synced) -> SyncGroupResponse:
    return SyncGroupResponse(
        error_code=synced.code,
        protocol_type=synced.protocol_type,
        protocol_name=synced.protocol,
        assignment=synced.assignment,
    )
