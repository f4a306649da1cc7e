# Made by tools/generate_messages.py, digest a7a4e62db92a03dd; do not edit.
"""ListTransactions, API key 66: versions 0 to 2, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, int16, int32, int64, string
from kafkalite.protocol.schema import Request, Response, Struct


class ListTransactionsRequest(
    Request,
    api_key=66,
    versions="0-2",
    flexible="0+",
    listeners="broker",
):
    state_filters: list[str] = array(string, "0+")
    producer_id_filters: list[int] = array(int64, "0+", entity="producerId")
    duration_filter: int = int64("1+", default=-1)
    transactional_id_pattern: str | None = string("2+", nullable="2+", default=None)


class TransactionState(Struct):
    transactional_id: str = string("0+", entity="transactionalId")
    producer_id: int = int64("0+", entity="producerId")
    transaction_state: str = string("0+")


class ListTransactionsResponse(Response, api_key=66, versions="0-2", flexible="0+"):
    throttle_time_ms: int = int32("0+")
    error_code: int = int16("0+")
    unknown_state_filters: list[str] = array(string, "0+")
    transaction_states: list[TransactionState] = array(TransactionState, "0+")
