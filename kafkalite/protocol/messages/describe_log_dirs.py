# Made by tools/generate_messages.py, digest 78855746016e754c; do not edit.
"""DescribeLogDirs, API key 35: versions 1 to 5, as of Kafka 4.4.0."""

from __future__ import annotations

from kafkalite.protocol.fields import array, boolean, int16, int32, int64, string
from kafkalite.protocol.schema import Request, Response, Struct


class DescribableLogDirTopic(Struct):
    topic: str = string("0+", entity="topicName", map_key=True)
    partitions: list[int] = array(int32, "0+")


class DescribeLogDirsRequest(
    Request,
    api_key=35,
    versions="1-5",
    flexible="2+",
    listeners="broker",
):
    topics: list[DescribableLogDirTopic] | None = array(DescribableLogDirTopic, "0+", nullable="0+")


class DescribeLogDirsPartition(Struct):
    partition_index: int = int32("0+")
    partition_size: int = int64("0+")
    offset_lag: int = int64("0+")
    is_future_key: bool = boolean("0+")


class DescribeLogDirsTopic(Struct):
    name: str = string("0+", entity="topicName")
    partitions: list[DescribeLogDirsPartition] = array(DescribeLogDirsPartition, "0+")


class DescribeLogDirsResult(Struct):
    error_code: int = int16("0+")
    log_dir: str = string("0+")
    topics: list[DescribeLogDirsTopic] = array(DescribeLogDirsTopic, "0+")
    total_bytes: int = int64("4+", default=-1, ignorable=True)
    usable_bytes: int = int64("4+", default=-1, ignorable=True)
    is_cordoned: bool = boolean("5+", ignorable=True)


class DescribeLogDirsResponse(Response, api_key=35, versions="1-5", flexible="2+"):
    throttle_time_ms: int = int32("0+")
    error_code: int = int16("3+", ignorable=True)
    results: list[DescribeLogDirsResult] = array(DescribeLogDirsResult, "0+")
