# Made by tools/generate_messages.py, digest 784d7eeeeb3d7d2f; do not edit.
"""DeleteGroups, API key 42: versions 0 to 3, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, int16, int32, string
from kafkalite.protocol.schema import Request, Response, Struct


class DeleteGroupsRequest(Request, api_key=42, versions="0-3", flexible="2+", listeners="broker"):
    groups_names: list[str] = array(string, "0+", entity="groupId")


class DeletableGroupResult(Struct):
    group_id: str = string("0+", entity="groupId", map_key=True)
    error_code: int = int16("0+")
    error_message: str | None = string("3+", nullable="3+", default=None, ignorable=True)


class DeleteGroupsResponse(Response, api_key=42, versions="0-3", flexible="2+"):
    throttle_time_ms: int = int32("0+")
    results: list[DeletableGroupResult] = array(DeletableGroupResult, "0+")
