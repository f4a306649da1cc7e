# Made by tools/generate_messages.py, digest 3b739258cbd00a97; do not edit.
"""EndTxn, API key 26: versions 0 to 5, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import boolean, int16, int32, int64, string
from kafkalite.protocol.schema import Request, Response


class EndTxnRequest(Request, api_key=26, versions="0-5", flexible="3+", listeners="broker"):
    transactional_id: str = string("0+", entity="transactionalId")
    producer_id: int = int64("0+", entity="producerId")
    producer_epoch: int = int16("0+")
    committed: bool = boolean("0+")


class EndTxnResponse(Response, api_key=26, versions="0-5", flexible="3+"):
    throttle_time_ms: int = int32("0+")
    error_code: int = int16("0+")
    producer_id: int = int64("5+", default=-1, ignorable=True, entity="producerId")
    producer_epoch: int = int16("5+", default=-1, ignorable=True)
