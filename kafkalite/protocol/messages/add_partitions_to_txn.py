# Made by tools/generate_messages.py, digest d7bd8d0025e3a859; do not edit.
"""AddPartitionsToTxn, API key 24: versions 0 to 5, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, boolean, int16, int32, int64, string
from kafkalite.protocol.schema import Request, Response, Struct


class AddPartitionsToTxnTopic(Struct):
    name: str = string("0+", entity="topicName", map_key=True)
    partitions: list[int] = array(int32, "0+")


class AddPartitionsToTxnTransaction(Struct):
    transactional_id: str = string("4+", entity="transactionalId", map_key=True)
    producer_id: int = int64("4+", entity="producerId")
    producer_epoch: int = int16("4+")
    verify_only: bool = boolean("4+")
    topics: list[AddPartitionsToTxnTopic] = array(AddPartitionsToTxnTopic, "4+")


class AddPartitionsToTxnRequest(
    Request,
    api_key=24,
    versions="0-5",
    flexible="3+",
    listeners="broker",
):
    transactions: list[AddPartitionsToTxnTransaction] = array(AddPartitionsToTxnTransaction, "4+")
    v3_and_below_transactional_id: str = string("0-3", entity="transactionalId")
    v3_and_below_producer_id: int = int64("0-3", entity="producerId")
    v3_and_below_producer_epoch: int = int16("0-3")
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = array(AddPartitionsToTxnTopic, "0-3")


class AddPartitionsToTxnPartitionResult(Struct):
    partition_index: int = int32("0+", map_key=True)
    partition_error_code: int = int16("0+")


class AddPartitionsToTxnTopicResult(Struct):
    name: str = string("0+", entity="topicName", map_key=True)
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = array(
        AddPartitionsToTxnPartitionResult,
        "0+",
    )


class AddPartitionsToTxnResult(Struct):
    transactional_id: str = string("4+", entity="transactionalId", map_key=True)
    topic_results: list[AddPartitionsToTxnTopicResult] = array(AddPartitionsToTxnTopicResult, "4+")


class AddPartitionsToTxnResponse(Response, api_key=24, versions="0-5", flexible="3+"):
    throttle_time_ms: int = int32("0+")
    error_code: int = int16("4+", ignorable=True)
    results_by_transaction: list[AddPartitionsToTxnResult] = array(AddPartitionsToTxnResult, "4+")
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = array(
        AddPartitionsToTxnTopicResult,
        "0-3",
    )
