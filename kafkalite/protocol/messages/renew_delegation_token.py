# Made by tools/generate_messages.py, digest 4fc394a84d01cae1; do not edit.
"""RenewDelegationToken, API key 39: versions 1 to 2, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import binary, int16, int32, int64
from kafkalite.protocol.schema import Request, Response


class RenewDelegationTokenRequest(
    Request,
    api_key=39,
    versions="1-2",
    flexible="2+",
    listeners="broker controller",
):
    hmac: bytes = binary("0+")
    renew_period_ms: int = int64("0+")


class RenewDelegationTokenResponse(Response, api_key=39, versions="1-2", flexible="2+"):
    error_code: int = int16("0+")
    expiry_timestamp_ms: int = int64("0+")
    throttle_time_ms: int = int32("0+")
