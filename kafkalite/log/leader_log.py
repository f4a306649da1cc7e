"""What a leader does to its log: it gives batches their offsets and its epoch, and appends them.

A batch goes from the buffer it was received in to the file by one write, stamped in place. All that
may refuse it is asked before that; what is told of it afterwards, in memory, cannot fail.

Source: Kafka's `UnifiedLog.appendAsLeader`.
"""

from __future__ import annotations

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log.log_results import Appended
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.producer_replay import check_coordinator_batches, take_in_appended
from kafkalite.log.validation import AppendOrigin
from kafkalite.protocol.records.batch import LOG_OVERHEAD, BatchHeader, stamp
from kafkalite.types import (
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    LeaderEpoch,
    Offset,
    TimestampMs,
)

_CLIENT = AppendOrigin.CLIENT


def append_as_leader(
    log: PartitionLog,
    records: memoryview,
    *,
    leader_epoch: LeaderEpoch,
    now: TimestampMs,
    origin: AppendOrigin = AppendOrigin.CLIENT,
    marker_bumps_epoch: bool = False,
) -> Appended:
    """Give the batches in `records` the next offsets and write them, stamping them in place.

    `KafkaError` refuses them all and leaves the log as it was; `records` may be stamped then.
    `OSError`: the disk refused, and the log is as it was before, too. `marker_bumps_epoch`: see
    `ProducerStates.check_marker`.
    """
    validator = log.validator
    if validator.target is None:
        headers = validator.check(records, now, origin)
    else:
        records, headers = validator.recompress(records, now, origin)
    first = headers[0]
    base_offset = log.end_offset
    if origin is _CLIENT:
        if first.producer_id != NO_PRODUCER_ID:
            duplicate = log.producers.check(first, base_offset)
            if duplicate is not None:
                return Appended.repeated(duplicate)
    else:
        check_coordinator_batches(
            log.producers, records, headers, base_offset, bumps_epoch=marker_bumps_epoch
        )
    offset: int = base_offset
    position, latest = 0, NO_TIMESTAMP
    for header in headers:
        stamp(records, position, base_offset=offset, leader_epoch=leader_epoch)
        position += header.batch_length + LOG_OVERHEAD
        offset += header.last_offset_delta + 1
        if header.max_timestamp > latest:
            latest = header.max_timestamp
    last_offset = Offset(offset - 1)
    _write(log, records, headers, last_offset, latest, leader_epoch, now)
    return Appended(
        base_offset,
        last_offset,
        now if validator.stamps_append_time else NO_TIMESTAMP,
        len(records),
    )


def _write(
    log: PartitionLog,
    records: memoryview,
    headers: list[BatchHeader],
    last_offset: Offset,
    latest: TimestampMs,
    leader_epoch: LeaderEpoch,
    now: TimestampMs,
) -> None:
    size, folder = len(records), log.folder
    active = folder.segments.active
    if active.should_roll(size, last_offset, latest, now):
        if size > log.config.segment_bytes:
            raise KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE)
        log.roll(now)
        active = folder.segments.active
    if not folder.exists:
        folder.make()
    if leader_epoch != log.epochs.latest:
        log.epochs.assign(leader_epoch, log.end_offset)
    active.append(records)  # The last thing that can fail: from here on it is appended.
    base_offset: int = log.end_offset
    position = 0
    for header in headers:
        end = base_offset + header.last_offset_delta
        size = header.batch_length + LOG_OVERHEAD
        active.added(base_offset, end, header.max_timestamp, size)
        if header.producer_id != NO_PRODUCER_ID:
            take_in_appended(log.producers, active, records, position, header, Offset(base_offset))
        position += size
        base_offset = end + 1
    log.end_offset = active.end_offset
