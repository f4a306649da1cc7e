# Made by tools/generate_messages.py, digest 3453836dde9f33a5; do not edit.
"""GetTelemetrySubscriptions, API key 71: version 0, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, boolean, int16, int32, int8, string, uuid
from kafkalite.protocol.schema import Request, Response
from kafkalite.types import Uuid


class GetTelemetrySubscriptionsRequest(
    Request,
    api_key=71,
    versions="0",
    flexible="0+",
    listeners="broker",
):
    client_instance_id: Uuid = uuid("0+")


class GetTelemetrySubscriptionsResponse(Response, api_key=71, versions="0", flexible="0+"):
    throttle_time_ms: int = int32("0+")
    error_code: int = int16("0+")
    client_instance_id: Uuid = uuid("0+")
    subscription_id: int = int32("0+")
    accepted_compression_types: list[int] = array(int8, "0+")
    push_interval_ms: int = int32("0+")
    telemetry_max_bytes: int = int32("0+")
    delta_temporality: bool = boolean("0+")
    requested_metrics: list[str] = array(string, "0+")
