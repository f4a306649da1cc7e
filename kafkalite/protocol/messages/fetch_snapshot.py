# Made by tools/generate_messages.py, digest 6cb9935194f71a38; do not edit.
"""FetchSnapshot, API key 59: versions 0 to 1, as of Kafka 4.4.0."""

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
    uint16,
    uuid,
)
from kafkalite.protocol.schema import Request, Response, Struct
from kafkalite.types import Uuid


class SnapshotId(Struct):
    end_offset: int = int64("0+")
    epoch: int = int32("0+")


class FetchSnapshotRequestPartitionSnapshot(Struct):
    partition: int = int32("0+")
    current_leader_epoch: int = int32("0+")
    snapshot_id: SnapshotId = struct(SnapshotId, "0+")
    position: int = int64("0+")
    replica_directory_id: Uuid = uuid("1+", tag=0, ignorable=True)


class FetchSnapshotRequestTopicSnapshot(Struct):
    name: str = string("0+", entity="topicName")
    partitions: list[FetchSnapshotRequestPartitionSnapshot] = array(
        FetchSnapshotRequestPartitionSnapshot,
        "0+",
    )


class FetchSnapshotRequest(
    Request,
    api_key=59,
    versions="0-1",
    flexible="0+",
    listeners="controller",
):
    cluster_id: str | None = string("0+", nullable="0+", default=None, tag=0)
    replica_id: int = int32("0+", default=-1, entity="brokerId")
    max_bytes: int = int32("0+", default=2147483647)
    topics: list[FetchSnapshotRequestTopicSnapshot] = array(FetchSnapshotRequestTopicSnapshot, "0+")


class LeaderIdAndEpoch(Struct):
    leader_id: int = int32("0+", entity="brokerId")
    leader_epoch: int = int32("0+")


class FetchSnapshotResponsePartitionSnapshot(Struct):
    index: int = int32("0+")
    error_code: int = int16("0+")
    snapshot_id: SnapshotId = struct(SnapshotId, "0+")
    current_leader: LeaderIdAndEpoch = struct(LeaderIdAndEpoch, "0+", tag=0)
    size: int = int64("0+")
    position: int = int64("0+")
    unaligned_records: Records | None = record_batches("0+")


class FetchSnapshotResponseTopicSnapshot(Struct):
    name: str = string("0+", entity="topicName")
    partitions: list[FetchSnapshotResponsePartitionSnapshot] = array(
        FetchSnapshotResponsePartitionSnapshot,
        "0+",
    )


class NodeEndpoint(Struct):
    node_id: int = int32("1+", entity="brokerId", map_key=True)
    host: str = string("1+")
    port: int = uint16("1+")


class FetchSnapshotResponse(Response, api_key=59, versions="0-1", flexible="0+"):
    throttle_time_ms: int = int32("0+", ignorable=True)
    error_code: int = int16("0+")
    topics: list[FetchSnapshotResponseTopicSnapshot] = array(
        FetchSnapshotResponseTopicSnapshot,
        "0+",
    )
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, "1+", tag=0)
