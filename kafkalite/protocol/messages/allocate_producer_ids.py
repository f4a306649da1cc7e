# Made by tools/generate_messages.py, digest e1bd4bb5dd1ab5bf; do not edit.
"""AllocateProducerIds, API key 67: version 0, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import int16, int32, int64
from kafkalite.protocol.schema import Request, Response


class AllocateProducerIdsRequest(
    Request,
    api_key=67,
    versions="0",
    flexible="0+",
    listeners="controller",
):
    broker_id: int = int32("0+", entity="brokerId")
    broker_epoch: int = int64("0+", default=-1)


class AllocateProducerIdsResponse(Response, api_key=67, versions="0", flexible="0+"):
    throttle_time_ms: int = int32("0+")
    error_code: int = int16("0+")
    producer_id_start: int = int64("0+", entity="producerId")
    producer_id_len: int = int32("0+")
