# Made by tools/generate_messages.py, digest 94ca9c39abe0bcbb; do not edit.
"""Envelope, API key 58: version 0, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import binary, int16
from kafkalite.protocol.schema import Request, Response


class EnvelopeRequest(Request, api_key=58, versions="0", flexible="0+", listeners="controller"):
    request_data: bytes = binary("0+")
    request_principal: bytes | None = binary("0+", nullable="0+")
    client_host_address: bytes = binary("0+")


class EnvelopeResponse(Response, api_key=58, versions="0", flexible="0+"):
    response_data: bytes | None = binary("0+", nullable="0+", default=None)
    error_code: int = int16("0+")
