# Made by tools/generate_messages.py, digest ac580d552982d488; do not edit.
"""UnregisterController, API key 94: version 0, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import int16, int32, string
from kafkalite.protocol.schema import Request, Response


class UnregisterControllerRequest(
    Request,
    api_key=94,
    versions="0",
    flexible="0+",
    listeners="broker controller",
):
    controller_id: int = int32("0+")


class UnregisterControllerResponse(Response, api_key=94, versions="0", flexible="0+"):
    throttle_time_ms: int = int32("0+")
    error_code: int = int16("0+")
    error_message: str | None = string("0+", nullable="0+")
