"""Cleaning a log from beginning to end, and what a reader sees of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import NamedTuple

from kafkalite.config.views import TopicConfig
from kafkalite.log.compaction import LogCleaning
from kafkalite.log.compaction_plan import LogToClean, find_cleanable
from kafkalite.log.compaction_records import OffsetMap
from kafkalite.log.files import Files
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.retired_files import RetiredFiles
from kafkalite.log.scan import scan_batches
from kafkalite.log.validation import AppendOrigin
from kafkalite.protocol.records.batch import BatchHeader
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.control import EndTransactionMarker, build_end_transaction_batch
from kafkalite.protocol.records.record import Record, build_batch, read_records
from kafkalite.types import Offset, ProducerEpoch, ProducerId, TimestampMs
from tests.log.log_fixtures import EPOCH, NOW, append, open_log

CONFIG = TopicConfig(
    cleanup_policy=("compact",),
    segment_bytes=4000,
    delete_retention_ms=1000,
    index_interval_bytes=100,
)
LATER = TimestampMs(NOW + 500)
MUCH_LATER = TimestampMs(NOW + 5000)


class Seen(NamedTuple):
    """One record as a consumer is given it."""

    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int = -1


def plan(log: PartitionLog, now: TimestampMs, checkpoint: Offset | None = None) -> LogToClean:
    return find_cleanable(log, checkpoint=checkpoint, high_watermark=log.end_offset, now=now)


def cleaning(
    files: Files,
    log: PartitionLog,
    now: TimestampMs,
    *,
    checkpoint: Offset | None = None,
    capacity: int = 1000,
    piece_bytes: int = 1 << 20,
    on_retired: Callable[[RetiredFiles], None] = lambda retired: None,
) -> LogCleaning:
    return LogCleaning(
        files,
        plan(log, now, checkpoint),
        offsets=OffsetMap(capacity),
        piece_bytes=piece_bytes,
        now=now,
        on_retired=on_retired,
    )


def run(job: LogCleaning) -> Offset:
    """All its steps; the first dirty offset then."""
    with closing(job.steps()) as steps:
        for step in steps:
            step.run()
    return job.end_offset


def stored_headers(log: PartitionLog) -> list[BatchHeader]:
    return [
        batch.header
        for segment in log.segments
        for batch in scan_batches(segment.file, 0, segment.size)
    ]


def stored_records(log: PartitionLog) -> list[Seen]:
    """All records that are no control records."""
    return [
        Seen(
            record.offset,
            None if record.key is None else bytes(record.key),
            None if record.value is None else bytes(record.value),
            record.timestamp,
        )
        for segment in log.segments
        for batch in scan_batches(segment.file, 0, segment.size)
        if not batch.header.is_control
        for record in read_records(batch.buffer, batch.at, batch.header)
    ]


def pairs(*keys_and_values: tuple[str, str | None]) -> list[Record]:
    return [
        Record(
            key.encode(),
            None if value is None else value.encode(),
            (),
            TimestampMs(NOW + at),
        )
        for at, (key, value) in enumerate(keys_and_values)
    ]


class World:
    """A log to be cleaned."""

    def __init__(self, config: TopicConfig = CONFIG, files: MemoryFiles | None = None) -> None:
        self.files = MemoryFiles() if files is None else files
        self.log = open_log(self.files, config)
        self.log.folder.make()

    def write(
        self, *keys_and_values: tuple[str, str | None], codec: Compression = Compression.NONE
    ) -> None:
        append(self.log, build_batch(pairs(*keys_and_values), compression=codec))

    def roll(self) -> None:
        self.log.roll(NOW)

    def clean(
        self,
        now: TimestampMs = LATER,
        *,
        checkpoint: Offset | None = None,
        capacity: int = 1000,
        piece_bytes: int = 1 << 20,
    ) -> Offset:
        return run(
            cleaning(
                self.files,
                self.log,
                now,
                checkpoint=checkpoint,
                capacity=capacity,
                piece_bytes=piece_bytes,
            )
        )

    def seen(self) -> list[tuple[int, bytes | None, bytes | None]]:
        return [(record.offset, record.key, record.value) for record in stored_records(self.log)]


def with_sequence(producer: int, sequence: int, *records: Record, epoch: int = 0) -> bytearray:
    return build_batch(
        records,
        producer_id=ProducerId(producer),
        producer_epoch=ProducerEpoch(epoch),
        base_sequence=sequence,
    )


class Transactional(World):
    """A log of transactions."""

    def send(self, producer: int, sequence: int, *keys_and_values: tuple[str, str | None]) -> int:
        return append(
            self.log,
            build_batch(
                pairs(*keys_and_values),
                producer_id=ProducerId(producer),
                producer_epoch=ProducerEpoch(0),
                base_sequence=sequence,
                is_transactional=True,
            ),
        ).base_offset

    def end(self, producer: int, *, commit: bool) -> int:
        data = build_end_transaction_batch(
            EndTransactionMarker(commit, 1),
            producer_id=ProducerId(producer),
            producer_epoch=ProducerEpoch(0),
            timestamp=NOW,
        )
        return append_as_leader(
            self.log, memoryview(data), leader_epoch=EPOCH, now=NOW, origin=AppendOrigin.COORDINATOR
        ).base_offset
