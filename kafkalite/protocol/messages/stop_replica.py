# Made by tools/generate_messages.py, digest b9104443be289ddf; do not edit.
"""StopReplica, API key 5: versions 0 to 4, as of Kafka 3.9.2."""

from __future__ import annotations

from kafkalite.protocol.fields import array, boolean, int16, int32, int64, string
from kafkalite.protocol.schema import Request, Response, Struct


class StopReplicaPartitionV0(Struct):
    topic_name: str = string("0", entity="topicName")
    partition_index: int = int32("0")


class StopReplicaTopicV1(Struct):
    name: str = string("1-2", entity="topicName")
    partition_indexes: list[int] = array(int32, "1-2")


class StopReplicaPartitionState(Struct):
    partition_index: int = int32("3+")
    leader_epoch: int = int32("3+", default=-1)
    delete_partition: bool = boolean("3+")


class StopReplicaTopicState(Struct):
    topic_name: str = string("3+", entity="topicName")
    partition_states: list[StopReplicaPartitionState] = array(StopReplicaPartitionState, "3+")


class StopReplicaRequest(Request, api_key=5, versions="0-4", flexible="2+", listeners="zkBroker"):
    controller_id: int = int32("0+", entity="brokerId")
    is_k_raft_controller: bool = boolean("4+")
    controller_epoch: int = int32("0+")
    broker_epoch: int = int64("1+", default=-1, ignorable=True)
    delete_partitions: bool = boolean("0-2")
    ungrouped_partitions: list[StopReplicaPartitionV0] = array(StopReplicaPartitionV0, "0")
    topics: list[StopReplicaTopicV1] = array(StopReplicaTopicV1, "1-2")
    topic_states: list[StopReplicaTopicState] = array(StopReplicaTopicState, "3+")


class StopReplicaPartitionError(Struct):
    topic_name: str = string("0+", entity="topicName")
    partition_index: int = int32("0+")
    error_code: int = int16("0+")


class StopReplicaResponse(Response, api_key=5, versions="0-4", flexible="2+"):
    error_code: int = int16("0+")
    partition_errors: list[StopReplicaPartitionError] = array(StopReplicaPartitionError, "0+")
