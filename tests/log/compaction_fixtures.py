"""Cleaning a log from beginning to end, and what a reader sees of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kafkalite.log.compaction import LogCleaning
from kafkalite.log.compaction_plan import LogToClean, find_cleanable
from kafkalite.log.compaction_records import OffsetMap
from kafkalite.log.files import Files
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.retired_files import RetiredFiles
from kafkalite.log.scan import scan_batches
from kafkalite.protocol.records.batch import BatchHeader
from kafkalite.protocol.records.record import read_records
from kafkalite.types import Offset, TimestampMs


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
    for step in job.steps():
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
