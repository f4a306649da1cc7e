# Made by tools/generate_messages.py, digest f4d40b55d98f35e4; do not edit.
"""DescribeTransactions, API key 65: version 0, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, int16, int32, int64, string
from kafkalite.protocol.schema import Request, Response, Struct


class DescribeTransactionsRequest(
    Request,
    api_key=65,
    versions="0",
    flexible="0+",
    listeners="broker",
):
    transactional_ids: list[str] = array(string, "0+", entity="transactionalId")


class TopicData(Struct):
    topic: str = string("0+", entity="topicName", map_key=True)
    partitions: list[int] = array(int32, "0+")


class TransactionState(Struct):
    error_code: int = int16("0+")
    transactional_id: str = string("0+", entity="transactionalId")
    transaction_state: str = string("0+")
    transaction_timeout_ms: int = int32("0+")
    transaction_start_time_ms: int = int64("0+")
    producer_id: int = int64("0+", entity="producerId")
    producer_epoch: int = int16("0+")
    topics: list[TopicData] = array(TopicData, "0+")


class DescribeTransactionsResponse(Response, api_key=65, versions="0", flexible="0+"):
    throttle_time_ms: int = int32("0+")
    transaction_states: list[TransactionState] = array(TransactionState, "0+")
