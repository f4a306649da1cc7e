# Made by tools/generate_messages.py, digest feb78701a31b21bd; do not edit.
"""DescribeGroups, API key 15: versions 0 to 6, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, binary, boolean, int16, int32, string
from kafkalite.protocol.schema import Request, Response, Struct


class DescribeGroupsRequest(Request, api_key=15, versions="0-6", flexible="5+", listeners="broker"):
    groups: list[str] = array(string, "0+", entity="groupId")
    include_authorized_operations: bool = boolean("3+")


class DescribedGroupMember(Struct):
    member_id: str = string("0+")
    group_instance_id: str | None = string("4+", nullable="4+", default=None, ignorable=True)
    client_id: str = string("0+")
    client_host: str = string("0+")
    member_metadata: bytes = binary("0+")
    member_assignment: bytes = binary("0+")


class DescribedGroup(Struct):
    error_code: int = int16("0+")
    error_message: str | None = string("6+", nullable="6+", default=None)
    group_id: str = string("0+", entity="groupId")
    group_state: str = string("0+")
    protocol_type: str = string("0+")
    protocol_data: str = string("0+")
    members: list[DescribedGroupMember] = array(DescribedGroupMember, "0+")
    authorized_operations: int = int32("3+", default=-2147483648)


class DescribeGroupsResponse(Response, api_key=15, versions="0-6", flexible="5+"):
    throttle_time_ms: int = int32("1+", ignorable=True)
    groups: list[DescribedGroup] = array(DescribedGroup, "0+")
