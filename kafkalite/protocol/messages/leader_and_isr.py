# Made by tools/generate_messages.py, digest e38b64090fe31084; do not edit.
"""LeaderAndIsr, API key 4: versions 0 to 7, as of Kafka 3.9.2."""

from __future__ import annotations

from kafkalite.protocol.fields import array, boolean, int16, int32, int64, int8, string, uuid
from kafkalite.protocol.schema import Request, Response, Struct
from kafkalite.types import Uuid


class LeaderAndIsrPartitionState(Struct):
    topic_name: str = string("0-1", ignorable=True, entity="topicName")
    partition_index: int = int32("0+")
    controller_epoch: int = int32("0+")
    leader: int = int32("0+", entity="brokerId")
    leader_epoch: int = int32("0+")
    isr: list[int] = array(int32, "0+", entity="brokerId")
    partition_epoch: int = int32("0+")
    replicas: list[int] = array(int32, "0+", entity="brokerId")
    adding_replicas: list[int] = array(int32, "3+", ignorable=True, entity="brokerId")
    removing_replicas: list[int] = array(int32, "3+", ignorable=True, entity="brokerId")
    is_new: bool = boolean("1+", ignorable=True)
    leader_recovery_state: int = int8("6+")


class LeaderAndIsrTopicState(Struct):
    topic_name: str = string("2+", entity="topicName")
    topic_id: Uuid = uuid("5+", ignorable=True)
    partition_states: list[LeaderAndIsrPartitionState] = array(LeaderAndIsrPartitionState, "2+")


class LeaderAndIsrLiveLeader(Struct):
    broker_id: int = int32("0+", entity="brokerId")
    host_name: str = string("0+")
    port: int = int32("0+")


class LeaderAndIsrRequest(Request, api_key=4, versions="0-7", flexible="4+", listeners="zkBroker"):
    controller_id: int = int32("0+", entity="brokerId")
    is_k_raft_controller: bool = boolean("7+")
    controller_epoch: int = int32("0+")
    broker_epoch: int = int64("2+", default=-1, ignorable=True)
    type: int = int8("5+")
    ungrouped_partition_states: list[LeaderAndIsrPartitionState] = array(
        LeaderAndIsrPartitionState,
        "0-1",
    )
    topic_states: list[LeaderAndIsrTopicState] = array(LeaderAndIsrTopicState, "2+")
    live_leaders: list[LeaderAndIsrLiveLeader] = array(LeaderAndIsrLiveLeader, "0+")


class LeaderAndIsrPartitionError(Struct):
    topic_name: str = string("0-4", ignorable=True, entity="topicName")
    partition_index: int = int32("0+")
    error_code: int = int16("0+")


class LeaderAndIsrTopicError(Struct):
    topic_id: Uuid = uuid("5+", map_key=True)
    partition_errors: list[LeaderAndIsrPartitionError] = array(LeaderAndIsrPartitionError, "5+")


class LeaderAndIsrResponse(Response, api_key=4, versions="0-7", flexible="4+"):
    error_code: int = int16("0+")
    partition_errors: list[LeaderAndIsrPartitionError] = array(LeaderAndIsrPartitionError, "0-4")
    topics: list[LeaderAndIsrTopicError] = array(LeaderAndIsrTopicError, "5+")
