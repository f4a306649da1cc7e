# Made by tools/generate_messages.py, digest 8afbacde339b9607; do not edit.
"""SaslAuthenticate, API key 36: versions 0 to 2, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import binary, int16, int64, string
from kafkalite.protocol.schema import Request, Response


class SaslAuthenticateRequest(
    Request,
    api_key=36,
    versions="0-2",
    flexible="2+",
    listeners="broker controller",
):
    auth_bytes: bytes = binary("0+")


class SaslAuthenticateResponse(Response, api_key=36, versions="0-2", flexible="2+"):
    error_code: int = int16("0+")
    error_message: str | None = string("0+", nullable="0+")
    auth_bytes: bytes = binary("0+")
    session_lifetime_ms: int = int64("1+", ignorable=True)
