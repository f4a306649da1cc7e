"""DeleteGroups: groups without members go, with all that they have committed.

Versions: 0 to 3.
- 2 flexible. 3 a message beside the code.

A group that is named twice is answered once. Groups are told by the partition that keeps them, as
Kafka does.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.administration_events import DeleteGroups, GroupsDeleted
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.group_requests import Question, ask_groups
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext

API = Api(
    ApiKey.DELETE_GROUPS, DeleteGroupsRequest, DeleteGroupsResponse, min_version=0, max_version=3
)


def handle(ctx: RequestContext, request: DeleteGroupsRequest) -> DeleteGroupsResponse | Parked:
    """Ask the coordinator of each group."""
    group_ids = sorted(dict.fromkeys(request.groups_names), key=ctx.services.groups.partition_of)
    questions = [
        Question(group_id, DeleteGroups(None, (group_id,)), GroupsDeleted) for group_id in group_ids
    ]

    def answer(replies: list[GroupsDeleted | KafkaError]) -> DeleteGroupsResponse:
        results = []
        for group_id, reply in zip(group_ids, replies, strict=True):
            if isinstance(reply, KafkaError):
                results.append(DeletableGroupResult(group_id=group_id, error_code=reply.code))
            else:
                (deleted,) = reply.groups
                results.append(
                    DeletableGroupResult(
                        group_id=group_id, error_code=deleted.code, error_message=deleted.message
                    )
                )
        return DeleteGroupsResponse(results=results)

    return ask_groups(ctx, questions, answer, whoever_waits=True)


def refuse(request: DeleteGroupsRequest, code: ErrorCode, message: str) -> DeleteGroupsResponse:
    """The same code for every group."""
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=group_id, error_code=code)
            for group_id in dict.fromkeys(request.groups_names)
        ]
    )
