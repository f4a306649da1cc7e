# Made by tools/generate_messages.py, digest 5b6b09ab756a3635; do not edit.
"""UpdateMetadata, API key 6: versions 0 to 8, as of Kafka 3.9.2."""

from __future__ import annotations

from kafkalite.protocol.fields import array, boolean, int16, int32, int64, int8, string, uuid
from kafkalite.protocol.schema import Request, Response, Struct
from kafkalite.types import Uuid


class UpdateMetadataPartitionState(Struct):
    topic_name: str = string("0-4", ignorable=True, entity="topicName")
    partition_index: int = int32("0+")
    controller_epoch: int = int32("0+")
    leader: int = int32("0+", entity="brokerId")
    leader_epoch: int = int32("0+")
    isr: list[int] = array(int32, "0+", entity="brokerId")
    zk_version: int = int32("0+")
    replicas: list[int] = array(int32, "0+", entity="brokerId")
    offline_replicas: list[int] = array(int32, "4+", ignorable=True, entity="brokerId")


class UpdateMetadataTopicState(Struct):
    topic_name: str = string("5+", entity="topicName")
    topic_id: Uuid = uuid("7+", ignorable=True)
    partition_states: list[UpdateMetadataPartitionState] = array(UpdateMetadataPartitionState, "5+")


class UpdateMetadataEndpoint(Struct):
    port: int = int32("1+")
    host: str = string("1+")
    listener: str = string("3+", ignorable=True)
    security_protocol: int = int16("1+")


class UpdateMetadataBroker(Struct):
    id: int = int32("0+", entity="brokerId")
    v0_host: str = string("0", ignorable=True)
    v0_port: int = int32("0", ignorable=True)
    endpoints: list[UpdateMetadataEndpoint] = array(UpdateMetadataEndpoint, "1+", ignorable=True)
    rack: str | None = string("2+", nullable="0+", ignorable=True)


class UpdateMetadataRequest(
    Request,
    api_key=6,
    versions="0-8",
    flexible="6+",
    listeners="zkBroker",
):
    controller_id: int = int32("0+", entity="brokerId")
    is_k_raft_controller: bool = boolean("8+")
    type: int = int8("8+", tag=0)
    controller_epoch: int = int32("0+")
    broker_epoch: int = int64("5+", default=-1, ignorable=True)
    ungrouped_partition_states: list[UpdateMetadataPartitionState] = array(
        UpdateMetadataPartitionState,
        "0-4",
    )
    topic_states: list[UpdateMetadataTopicState] = array(UpdateMetadataTopicState, "5+")
    live_brokers: list[UpdateMetadataBroker] = array(UpdateMetadataBroker, "0+")


class UpdateMetadataResponse(Response, api_key=6, versions="0-8", flexible="6+"):
    error_code: int = int16("0+")
