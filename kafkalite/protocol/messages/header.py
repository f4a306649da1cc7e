# Made by tools/generate_messages.py, digest 15f1016ed5fe7947; do not edit.
"""What stands before each request and response, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import int16, int32, string
from kafkalite.protocol.schema import Message


class RequestHeader(Message, versions="0-2", flexible="2+"):
    request_api_key: int = int16("0+")
    request_api_version: int = int16("0+")
    correlation_id: int = int32("0+")
    client_id: str | None = string("1+", nullable="1+", ignorable=True, flexible="none")


class ResponseHeader(Message, versions="0-1", flexible="1+"):
    correlation_id: int = int32("0+")
