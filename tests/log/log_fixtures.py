"""A log in memory, and batches to append to it."""

from __future__ import annotations

from collections.abc import Mapping

from kafkalite.config.views import TopicConfig
from kafkalite.log import opening
from kafkalite.log.directories import LogDirectory
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.log_results import Appended, LogRead
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.validation import RecordValidation
from kafkalite.protocol.records.batch import BatchHeader, iter_headers
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.types import (
    BrokerEpoch,
    BrokerId,
    LeaderEpoch,
    Offset,
    ProducerEpoch,
    ProducerId,
    TimestampMs,
    TopicPartition,
    Uuid,
)

FOLDER = "orders-3"
TOPIC_ID = Uuid(b"0123456789abcdef")
NOW = TimestampMs(1_700_000_000_000)
EPOCH = LeaderEpoch(4)


def open_log(
    files: MemoryFiles | None = None,
    config: TopicConfig = TopicConfig(),  # noqa: B008  # A named tuple does not change.
    *,
    clean: bool = True,
    now: TimestampMs = NOW,
    recovery_point: int = 0,
    log_start_offset: int = 0,
    record_validation: RecordValidation = "header",
) -> PartitionLog:
    return opening.open_log(
        MemoryFiles() if files is None else files,
        FOLDER,
        config=config,
        topic_id=TOPIC_ID,
        now=now,
        clean=clean,
        recovery_point=Offset(recovery_point),
        log_start_offset=Offset(log_start_offset),
        record_validation=record_validation,
    )


def log_directory(files: MemoryFiles | None = None) -> LogDirectory:
    """A log folder in memory, without partitions."""
    return LogDirectory.open(
        MemoryFiles() if files is None else files,
        location="memory",
        node_id=BrokerId(1),
        new_cluster_id="the-cluster",
        new_directory_id=TOPIC_ID,
    )


def close(
    directory: LogDirectory, high_watermarks: Mapping[TopicPartition, Offset] | None = None
) -> None:
    """A clean stop, one thing after the other."""
    for parts in directory.close(
        broker_epoch=BrokerEpoch(13), high_watermarks=high_watermarks or {}
    ):
        for part in parts:
            part()


def records(*timestamps: int, value: bytes = b"v") -> list[Record]:
    return [Record(b"k", value, (), TimestampMs(timestamp)) for timestamp in timestamps]


def batch(*timestamps: int, value: bytes = b"v") -> bytearray:
    return build_batch(records(*(timestamps or (NOW,)), value=value))


def idempotent(sequence: int, count: int = 1, *, producer: int = 9, epoch: int = 0) -> bytearray:
    return build_batch(
        records(*[NOW] * count),
        producer_id=ProducerId(producer),
        producer_epoch=ProducerEpoch(epoch),
        base_sequence=sequence,
    )


def append(
    log: PartitionLog, data: bytearray, *, now: TimestampMs = NOW, epoch: LeaderEpoch = EPOCH
) -> Appended:
    return append_as_leader(log, memoryview(data), leader_epoch=epoch, now=now)


def read(
    log: PartitionLog, offset: int, *, max_bytes: int = 1 << 20, max_offset: int | None = None
) -> bytes:
    end = log.end_offset if max_offset is None else Offset(max_offset)
    return taken(
        log.read(Offset(offset), max_bytes=max_bytes, max_offset=end, first_batch_whole=True)
    )


def taken(found: LogRead) -> bytes:
    """The bytes of a read; its lease is given back."""
    if found.part is None:
        assert found.size_bytes == 0
        return b""
    assert isinstance(found.part, memoryview)
    data = bytes(found.part)
    assert len(data) == found.size_bytes
    found.part.release()
    return data


def headers(data: bytes) -> list[BatchHeader]:
    return [header for _, header in iter_headers(data)]


def stored(log: PartitionLog) -> bytes:
    return b"".join(segment.file.read(0, segment.size) for segment in log.segments if segment.size)
