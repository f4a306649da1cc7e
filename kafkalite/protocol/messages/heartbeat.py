# Made by tools/generate_messages.py, digest 57778cc9a214efb1; do not edit.
"""Heartbeat, API key 12: versions 0 to 4, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import int16, int32, string
from kafkalite.protocol.schema import Request, Response


class HeartbeatRequest(Request, api_key=12, versions="0-4", flexible="4+", listeners="broker"):
    group_id: str = string("0+", entity="groupId")
    generation_id: int = int32("0+")
    member_id: str = string("0+")
    group_instance_id: str | None = string("3+", nullable="3+", default=None)


class HeartbeatResponse(Response, api_key=12, versions="0-4", flexible="4+"):
    throttle_time_ms: int = int32("1+", ignorable=True)
    error_code: int = int16("0+")
