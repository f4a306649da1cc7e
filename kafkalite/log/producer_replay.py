"""What a log tells of its producers: its last snapshot and the batches behind it when it is opened,
and one batch after the other as they are appended.

Source: Kafka's `ProducerStateManager`, `ProducerAppendInfo` and `UnifiedLog.rebuildProducerState`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kafkalite.errors import CorruptRecordError, ErrorCode, KafkaError
from kafkalite.log.files import Buffer
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.producers import ProducerStates
from kafkalite.log.recalled_batches import recall_batches
from kafkalite.log.scan import StoredBatch, scan_batches
from kafkalite.log.segment import Segment
from kafkalite.log.transaction_index import AbortedTransaction
from kafkalite.protocol.records.batch import BatchHeader
from kafkalite.protocol.records.record import read_records
from kafkalite.types import NO_PRODUCER_ID, Offset, TimestampMs

_CONTROL_BATCH_BYTES = 1 << 16
"""A control batch holds one record of a few bytes, and no Kafka compresses it."""


def load_producers(log: PartitionLog, now: TimestampMs) -> None:
    """Have `log.producers` know what the log has of them."""
    log.producers.become(read_producers(log, log.end_offset, now))


def read_producers(log: PartitionLog, end: Offset, now: TimestampMs) -> ProducerStates:
    """What the log tells of producers below `end`, where a batch ends; snapshots above it go."""
    producers = ProducerStates(log.name, log.producers.expiration_ms)
    segments = log.folder.segments
    lost = (each.base_offset for each in segments.all if each.aborted.is_lost)
    start = log.folder.snapshots.load(
        producers,
        end_offset=end,
        now=now,
        kept=segments.base_offsets,
        limit=next(lost, None),
    )
    if start is None:
        start = log.log_start_offset
    else:
        recall_batches(producers, segments.all, start)
    if start < end:
        replay_producers(producers, segments.all, start, end)
    return producers


def replay_producers(
    producers: ProducerStates, segments: Sequence[Segment], start: Offset, end: Offset
) -> None:
    """Take in the batches from `start` (inclusive) to `end` (exclusive)."""
    for index, segment in enumerate(segments):
        is_last = index + 1 == len(segments)
        if not is_last and segments[index + 1].base_offset <= start:
            continue
        if segment.base_offset >= end:
            return
        found = segment.find(start)
        if found is None:
            continue
        for batch in scan_batches(segment.file, found.position, segment.size):
            if batch.header.base_offset >= end:
                return
            _take_in(producers, segment, batch)
        segment.aborted.is_lost = False
        if not is_last:
            segment.aborted.save()


def _take_in(producers: ProducerStates, segment: Segment, batch: StoredBatch) -> None:
    """Let a batch of the segment tell on its producer, if it has one, and what it aborts."""
    header = batch.header
    if header.producer_id <= NO_PRODUCER_ID:
        return
    if not header.is_control:
        producers.appended(header, header.base_offset, header.max_timestamp)
        return
    for marker in _read_markers(batch):
        first = producers.transaction_ended(header, marker.coordinator_epoch, marker.timestamp)
        if first is not None and not marker.is_commit:
            stable = producers.first_unstable_offset
            segment.add_aborted(
                AbortedTransaction(
                    header.producer_id,
                    first,
                    header.last_offset,
                    header.next_offset if stable is None else stable,
                )
            )


def take_in_appended(
    producers: ProducerStates,
    segment: Segment,
    records: memoryview,
    position: int,
    header: BatchHeader,
    base_offset: Offset,
) -> None:
    """Let the batch at `position` of `records`, which the segment has now with that base offset,
    tell on its producer. It has one."""
    if not header.is_control:
        producers.appended(header, base_offset, header.max_timestamp)
        return
    stored = header._replace(base_offset=base_offset)
    _take_in(producers, segment, StoredBatch(0, stored, records, position))


def check_coordinator_batch(
    producers: ProducerStates,
    records: Buffer,
    header: BatchHeader,
    offset: Offset,
    *,
    bumps_epoch: bool,
) -> None:
    """What a coordinator is about to write at `offset` with a producer id:
    `KafkaError(INVALID_RECORD)` for an end-transaction marker that is malformed, and as
    `ProducerStates` refuses it."""
    if not header.is_control:
        producers.check_coordinator_batch(header, offset)
        return
    try:
        markers = _read_markers(StoredBatch(0, header, records, 0))
    except CorruptRecordError as error:
        raise KafkaError(ErrorCode.INVALID_RECORD, str(error)) from error
    for marker in markers:
        producers.check_marker(header, marker.coordinator_epoch, offset, bumps_epoch=bumps_epoch)


class _Marker(NamedTuple):
    is_commit: bool
    coordinator_epoch: int
    timestamp: TimestampMs


def _read_markers(batch: StoredBatch) -> list[_Marker]:
    """The end-transaction markers of a control batch: one, or none in those of other types."""
    # With it comes the metadata log's codecs, which a broker without transactions need not load.
    from kafkalite.protocol.records.control import read_end_transaction_marker

    markers = []
    for record in read_records(batch.buffer, batch.at, batch.header, _CONTROL_BATCH_BYTES):
        marker = read_end_transaction_marker(record)
        if marker is not None:
            markers.append(_Marker(marker.is_commit, marker.coordinator_epoch, record.timestamp))
    return markers
