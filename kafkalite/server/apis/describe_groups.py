"""DescribeGroups: members and assignments of classic groups.

Versions: 0 to 6.
- 3 authorized operations. 4 static members. 5 flexible. 6 a group that does not exist is
  GROUP_ID_NOT_FOUND (KIP-1043); before that it is one without members in the state `Dead`.

Groups are told by the partition that keeps them, as Kafka does.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.administration_events import (
    DescribedGroup,
    DescribeGroups,
    GroupsDescribed,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages import describe_groups as wire
from kafkalite.protocol.messages.describe_groups import (
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.group_requests import Question, ask_groups
from kafkalite.server.operations import GROUP_OPERATIONS, NOT_ASKED
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.DESCRIBE_GROUPS,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    min_version=0,
    max_version=6,
)

_FIRST_VERSION_WITH_NOT_FOUND = 6


def handle(ctx: RequestContext, request: DescribeGroupsRequest) -> DescribeGroupsResponse | Parked:
    """Ask the coordinator of each group."""
    group_ids = sorted(request.groups, key=ctx.services.groups.partition_of)
    questions = [
        Question(group_id, DescribeGroups(None, (group_id,)), GroupsDescribed)
        for group_id in group_ids
    ]
    operations = GROUP_OPERATIONS if request.include_authorized_operations else NOT_ASKED

    def answer(replies: list[GroupsDescribed | KafkaError]) -> DescribeGroupsResponse:
        return DescribeGroupsResponse(
            groups=[
                _refused(group_id, reply.code)
                if isinstance(reply, KafkaError)
                else _described(ctx.version, reply.groups[0], operations)
                for group_id, reply in zip(group_ids, replies, strict=True)
            ]
        )

    return ask_groups(ctx, questions, answer)


def refuse(request: DescribeGroupsRequest, code: ErrorCode, message: str) -> DescribeGroupsResponse:
    """The same code for every group."""
    return DescribeGroupsResponse(groups=[_refused(group_id, code) for group_id in request.groups])


def _described(version: int, group: DescribedGroup, operations: int) -> wire.DescribedGroup:
    code, message = group.code, group.message
    if version < _FIRST_VERSION_WITH_NOT_FOUND:
        code, message = ErrorCode.NONE, None
    return wire.DescribedGroup(
        error_code=code,
        error_message=message,
        group_id=group.group_id,
        group_state=group.state,
        protocol_type=group.protocol_type,
        protocol_data=group.protocol,
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata,
                member_assignment=member.assignment,
            )
            for member in group.members
        ],
        authorized_operations=operations if code is ErrorCode.NONE else NOT_ASKED,
    )


def _refused(group_id: str, code: ErrorCode) -> wire.DescribedGroup:
    return wire.DescribedGroup(error_code=code, group_id=group_id)
