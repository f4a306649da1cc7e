# Made by tools/generate_messages.py, digest 6526652f3d257f55; do not edit.
"""ListGroups, API key 16: versions 0 to 5, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, int16, int32, string
from kafkalite.protocol.schema import Request, Response, Struct


class ListGroupsRequest(Request, api_key=16, versions="0-5", flexible="3+", listeners="broker"):
    states_filter: list[str] = array(string, "4+")
    types_filter: list[str] = array(string, "5+")


class ListedGroup(Struct):
    group_id: str = string("0+", entity="groupId")
    protocol_type: str = string("0+")
    group_state: str = string("4+", ignorable=True)
    group_type: str = string("5+", ignorable=True)


class ListGroupsResponse(Response, api_key=16, versions="0-5", flexible="3+"):
    throttle_time_ms: int = int32("1+", ignorable=True)
    error_code: int = int16("0+")
    groups: list[ListedGroup] = array(ListedGroup, "0+")
