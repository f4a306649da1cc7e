# Made by tools/generate_messages.py, digest e44b60db91c28103; do not edit.
"""TxnOffsetCommit, API key 28: versions 0 to 6, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, int16, int32, int64, string, uuid
from kafkalite.protocol.schema import Request, Response, Struct
from kafkalite.types import Uuid


class TxnOffsetCommitRequestPartition(Struct):
    partition_index: int = int32("0+")
    committed_offset: int = int64("0+")
    committed_leader_epoch: int = int32("2+", default=-1, ignorable=True)
    committed_metadata: str | None = string("0+", nullable="0+")


class TxnOffsetCommitRequestTopic(Struct):
    name: str = string("0-5", ignorable=True, entity="topicName")
    topic_id: Uuid = uuid("6+", ignorable=True)
    partitions: list[TxnOffsetCommitRequestPartition] = array(TxnOffsetCommitRequestPartition, "0+")


class TxnOffsetCommitRequest(
    Request,
    api_key=28,
    versions="0-6",
    flexible="3+",
    listeners="broker",
):
    transactional_id: str = string("0+", entity="transactionalId")
    group_id: str = string("0+", entity="groupId")
    producer_id: int = int64("0+", entity="producerId")
    producer_epoch: int = int16("0+")
    generation_id_or_member_epoch: int = int32("3+", default=-1)
    member_id: str = string("3+")
    group_instance_id: str | None = string("3+", nullable="3+", default=None)
    topics: list[TxnOffsetCommitRequestTopic] = array(TxnOffsetCommitRequestTopic, "0+")


class TxnOffsetCommitResponsePartition(Struct):
    partition_index: int = int32("0+")
    error_code: int = int16("0+")


class TxnOffsetCommitResponseTopic(Struct):
    name: str = string("0-5", ignorable=True, entity="topicName")
    topic_id: Uuid = uuid("6+", ignorable=True)
    partitions: list[TxnOffsetCommitResponsePartition] = array(
        TxnOffsetCommitResponsePartition,
        "0+",
    )


class TxnOffsetCommitResponse(Response, api_key=28, versions="0-6", flexible="3+"):
    throttle_time_ms: int = int32("0+")
    topics: list[TxnOffsetCommitResponseTopic] = array(TxnOffsetCommitResponseTopic, "0+")
