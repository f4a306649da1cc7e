"""LeaveGroup: members go of their own accord, or are sent away by an admin tool.

Versions: 0 to 5.
- 3 several members, static ones by their instance id (KIP-345). 4 flexible.
- 5 a reason, for the log (KIP-800).

A code of one member stands at that member; before version 3 it is the answer's.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.classic.events import LeaveGroup, LeavingMember, Left
from kafkalite.errors import ErrorCode
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.group_requests import Question, ask_group
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext

API = Api(ApiKey.LEAVE_GROUP, LeaveGroupRequest, LeaveGroupResponse, min_version=0, max_version=5)

_FIRST_VERSION_WITH_MEMBERS = 3


def handle(ctx: RequestContext, request: LeaveGroupRequest) -> LeaveGroupResponse | Parked:
    """Ask the group's coordinator."""
    takes_many = ctx.version >= _FIRST_VERSION_WITH_MEMBERS
    members = (
        [
            LeavingMember(each.member_id, each.group_instance_id, each.reason or "")
            for each in request.members
        ]
        if takes_many
        else [LeavingMember(request.member_id)]
    )
    event = LeaveGroup(token=None, group_id=request.group_id, members=tuple(members))

    for member in members:
        ctx.services.groups.left(request.group_id, member.member_id)

    def answer(left: Left) -> LeaveGroupResponse:
        if not takes_many:
            code = left.code
            if code is ErrorCode.NONE and left.members:
                code = left.members[0].code
            return LeaveGroupResponse(error_code=code)
        return LeaveGroupResponse(
            error_code=left.code,
            members=[
                MemberResponse(
                    member_id=member.member_id,
                    group_instance_id=member.instance_id,
                    error_code=member.code,
                )
                for member in left.members
            ],
        )

    return ask_group(ctx, Question(request.group_id, event, Left), answer)


def refuse(request: LeaveGroupRequest, code: ErrorCode, message: str) -> LeaveGroupResponse:
    """Nobody has left."""
    return LeaveGroupResponse(error_code=code)
