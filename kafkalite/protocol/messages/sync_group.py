# Made by tools/generate_messages.py, digest 2762cc11f9158958; do not edit.
"""SyncGroup, API key 14: versions 0 to 5, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, binary, int16, int32, string
from kafkalite.protocol.schema import Request, Response, Struct


class SyncGroupRequestAssignment(Struct):
    member_id: str = string("0+")
    assignment: bytes = binary("0+")


class SyncGroupRequest(Request, api_key=14, versions="0-5", flexible="4+", listeners="broker"):
    group_id: str = string("0+", entity="groupId")
    generation_id: int = int32("0+")
    member_id: str = string("0+")
    group_instance_id: str | None = string("3+", nullable="3+", default=None)
    protocol_type: str | None = string("5+", nullable="5+", default=None, ignorable=True)
    protocol_name: str | None = string("5+", nullable="5+", default=None, ignorable=True)
    assignments: list[SyncGroupRequestAssignment] = array(SyncGroupRequestAssignment, "0+")


class SyncGroupResponse(Response, api_key=14, versions="0-5", flexible="4+"):
    throttle_time_ms: int = int32("1+", ignorable=True)
    error_code: int = int16("0+")
    protocol_type: str | None = string("5+", nullable="5+", default=None, ignorable=True)
    protocol_name: str | None = string("5+", nullable="5+", default=None, ignorable=True)
    assignment: bytes = binary("0+")
