# Made by tools/generate_messages.py, digest 7dd31590f1b82901; do not edit.
"""UnregisterBroker, API key 64: version 0, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import int16, int32, string
from kafkalite.protocol.schema import Request, Response


class UnregisterBrokerRequest(
    Request,
    api_key=64,
    versions="0",
    flexible="0+",
    listeners="broker controller",
):
    broker_id: int = int32("0+", entity="brokerId")


class UnregisterBrokerResponse(Response, api_key=64, versions="0", flexible="0+"):
    throttle_time_ms: int = int32("0+")
    error_code: int = int16("0+")
    error_message: str | None = string("0+", nullable="0+")
