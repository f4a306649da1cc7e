# Made by tools/generate_messages.py, digest 0e6f0272a6e5c627; do not edit.
"""AddOffsetsToTxn, API key 25: versions 0 to 4, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import int16, int32, int64, string
from kafkalite.protocol.schema import Request, Response


class AddOffsetsToTxnRequest(
    Request,
    api_key=25,
    versions="0-4",
    flexible="3+",
    listeners="broker",
):
    transactional_id: str = string("0+", entity="transactionalId")
    producer_id: int = int64("0+", entity="producerId")
    producer_epoch: int = int16("0+")
    group_id: str = string("0+", entity="groupId")


class AddOffsetsToTxnResponse(Response, api_key=25, versions="0-4", flexible="3+"):
    throttle_time_ms: int = int32("0+")
    error_code: int = int16("0+")
