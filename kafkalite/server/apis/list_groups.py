"""ListGroups: the groups that this broker coordinates.

Versions: 0 to 5.
- 3 flexible. 4 states, and a filter by them (KIP-518). 5 types, and a filter by them (KIP-848).

A filter that names no state or type of Kafka's matches nothing.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.administration_events import GroupsListed, ListGroups
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.group_requests import ask_all_groups
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext

API = Api(ApiKey.LIST_GROUPS, ListGroupsRequest, ListGroupsResponse, min_version=0, max_version=5)


def handle(ctx: RequestContext, request: ListGroupsRequest) -> ListGroupsResponse | Parked:
    """Ask every coordinator here. One that still loads refuses the whole."""
    event = ListGroups(None, tuple(request.states_filter), tuple(request.types_filter))
    return ask_all_groups(ctx, event, GroupsListed, _response)


def refuse(request: ListGroupsRequest, code: ErrorCode, message: str) -> ListGroupsResponse:
    """No groups."""
    return ListGroupsResponse(error_code=code)


def _response(replies: list[GroupsListed | KafkaError]) -> ListGroupsResponse:
    groups: list[ListedGroup] = []
    for reply in replies:
        if isinstance(reply, KafkaError):
            raise reply
        groups += [
            ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type,
                group_state=group.state,
                group_type=group.type,
            )
            for group in reply.groups
        ]
    return ListGroupsResponse(groups=groups)
