# Made by tools/generate_messages.py, digest 63681f17c657cf01; do not edit.
"""InitProducerId, API key 22: versions 0 to 6, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import boolean, int16, int32, int64, string
from kafkalite.protocol.schema import Request, Response


class InitProducerIdRequest(
    Request,
    api_key=22,
    versions="0-6",
    flexible="2+",
    listeners="broker",
    unstable=True,
):
    transactional_id: str | None = string("0+", nullable="0+", entity="transactionalId")
    transaction_timeout_ms: int = int32("0+")
    producer_id: int = int64("3+", default=-1, entity="producerId")
    producer_epoch: int = int16("3+", default=-1)
    enable2_pc: bool = boolean("6+")
    keep_prepared_txn: bool = boolean("6+")


class InitProducerIdResponse(Response, api_key=22, versions="0-6", flexible="2+"):
    throttle_time_ms: int = int32("0+", ignorable=True)
    error_code: int = int16("0+")
    producer_id: int = int64("0+", default=-1, entity="producerId")
    producer_epoch: int = int16("0+")
    ongoing_txn_producer_id: int = int64("6+", default=-1, entity="producerId")
    ongoing_txn_producer_epoch: int = int16("6+", default=-1)
