# Made by tools/generate_messages.py, digest e2ca976d15dad8eb; do not edit.
"""Produce, API key 0: versions 3 to 13, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import (
    Records,
    array,
    int16,
    int32,
    int64,
    record_batches,
    string,
    struct,
    uuid,
)
from kafkalite.protocol.schema import Request, Response, Struct
from kafkalite.types import Uuid


class PartitionProduceData(Struct):
    index: int = int32("0+")
    records: Records | None = record_batches("0+", nullable="0+")


class TopicProduceData(Struct):
    name: str = string("0-12", ignorable=True, entity="topicName", map_key=True)
    topic_id: Uuid = uuid("13+", ignorable=True, map_key=True)
    partition_data: list[PartitionProduceData] = array(PartitionProduceData, "0+")


class ProduceRequest(Request, api_key=0, versions="3-13", flexible="9+", listeners="broker"):
    transactional_id: str | None = string(
        "3+",
        nullable="3+",
        default=None,
        entity="transactionalId",
    )
    acks: int = int16("0+")
    timeout_ms: int = int32("0+")
    topic_data: list[TopicProduceData] = array(TopicProduceData, "0+")


class BatchIndexAndErrorMessage(Struct):
    batch_index: int = int32("8+")
    batch_index_error_message: str | None = string("8+", nullable="8+", default=None)


class LeaderIdAndEpoch(Struct):
    leader_id: int = int32("10+", default=-1, entity="brokerId")
    leader_epoch: int = int32("10+", default=-1)


class PartitionProduceResponse(Struct):
    index: int = int32("0+")
    error_code: int = int16("0+")
    base_offset: int = int64("0+")
    log_append_time_ms: int = int64("2+", default=-1, ignorable=True)
    log_start_offset: int = int64("5+", default=-1, ignorable=True)
    record_errors: list[BatchIndexAndErrorMessage] = array(
        BatchIndexAndErrorMessage,
        "8+",
        ignorable=True,
    )
    error_message: str | None = string("8+", nullable="8+", default=None, ignorable=True)
    current_leader: LeaderIdAndEpoch = struct(LeaderIdAndEpoch, "10+", tag=0)


class TopicProduceResponse(Struct):
    name: str = string("0-12", ignorable=True, entity="topicName", map_key=True)
    topic_id: Uuid = uuid("13+", ignorable=True, map_key=True)
    partition_responses: list[PartitionProduceResponse] = array(PartitionProduceResponse, "0+")


class NodeEndpoint(Struct):
    node_id: int = int32("10+", entity="brokerId", map_key=True)
    host: str = string("10+")
    port: int = int32("10+")
    rack: str | None = string("10+", nullable="10+", default=None)


class ProduceResponse(Response, api_key=0, versions="3-13", flexible="9+"):
    responses: list[TopicProduceResponse] = array(TopicProduceResponse, "0+")
    throttle_time_ms: int = int32("1+", ignorable=True)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, "10+", tag=0)
