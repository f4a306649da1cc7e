# Made by tools/generate_messages.py, digest 05e56ce710224be9; do not edit.
"""PushTelemetry, API key 72: version 0, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import binary, boolean, int16, int32, int8, uuid
from kafkalite.protocol.schema import Request, Response
from kafkalite.types import Uuid


class PushTelemetryRequest(Request, api_key=72, versions="0", flexible="0+", listeners="broker"):
    client_instance_id: Uuid = uuid("0+")
    subscription_id: int = int32("0+")
    terminating: bool = boolean("0+")
    compression_type: int = int8("0+")
    metrics: bytes = binary("0+")


class PushTelemetryResponse(Response, api_key=72, versions="0", flexible="0+"):
    throttle_time_ms: int = int32("0+")
    error_code: int = int16("0+")
