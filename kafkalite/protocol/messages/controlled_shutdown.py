# Made by tools/generate_messages.py, digest 552843747c2859e3; do not edit.
"""ControlledShutdown, API key 7: versions 0 to 3, as of Kafka 3.9.2."""

from __future__ import annotations

from kafkalite.protocol.fields import array, int16, int32, int64, string
from kafkalite.protocol.schema import Request, Response, Struct


class ControlledShutdownRequest(
    Request,
    api_key=7,
    versions="0-3",
    flexible="3+",
    listeners="zkBroker controller",
):
    broker_id: int = int32("0+", entity="brokerId")
    broker_epoch: int = int64("2+", default=-1, ignorable=True)


class RemainingPartition(Struct):
    topic_name: str = string("0+", entity="topicName", map_key=True)
    partition_index: int = int32("0+", map_key=True)


class ControlledShutdownResponse(Response, api_key=7, versions="0-3", flexible="3+"):
    error_code: int = int16("0+")
    remaining_partitions: list[RemainingPartition] = array(RemainingPartition, "0+")
