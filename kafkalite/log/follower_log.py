"""What a follower does to its log: it appends batches as its leader has them, byte for byte.

Offsets and epochs stand in the batches and stay; segments roll before the same batch as the
leader's did, so that the files of both are the same. One fetch is one write, unless a segment ends
within it.

Kafka differs: it rolls for a whole fetch at once, so that its followers' segments begin elsewhere
than their leader's.

Source: Kafka's `UnifiedLog.appendAsFollower`.
"""

from __future__ import annotations

from kafkalite.errors import CorruptRecordError
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.producer_replay import take_in_appended
from kafkalite.protocol.records.batch import BatchHeader, crc_is_valid, iter_headers
from kafkalite.types import NO_PRODUCER_ID, LeaderEpoch, Offset, TimestampMs


class BeginsBelowError(Exception):
    """The first batch begins below the end of the log here, and ends above it: the leader's log
    starts amid it. The log is to end at `offset`, before the batch can be appended."""

    def __init__(self, offset: Offset) -> None:
        super().__init__(offset)
        self.offset = offset


def append_as_follower(
    log: PartitionLog, records: memoryview, *, leader_epoch: LeaderEpoch, now: TimestampMs
) -> int:
    """Append the whole batches in `records`, of which the last may be cut short: how many bytes.

    A batch of a later epoch than `leader_epoch` is left out, with all behind it: the leader was
    another one when it was read. `CorruptRecordError` for a batch whose CRC is wrong or that is
    not in order, `BeginsBelowError` as it says, `OSError` when the disk refuses: of the batches
    before that, some may be appended.
    """
    run: list[BatchHeader] = []
    start = end = 0
    next_offset = log.end_offset
    for position, header in iter_headers(records):
        if header.partition_leader_epoch > leader_epoch:
            break
        _check(log, records, position, header, next_offset)
        if _begins_segment(log, header, end - start, now):
            _write(log, records[start:end], run)
            run, start = [], position
            log.roll(now)
        run.append(header)
        end = position + header.size_bytes
        next_offset = header.next_offset
        if not log.folder.segments.active.size:
            # Its first batch tells when the segment ends.
            _write(log, records[start:end], run)
            run, start = [], end
    _write(log, records[start:end], run)
    return end


def _check(
    log: PartitionLog, records: memoryview, position: int, header: BatchHeader, due: Offset
) -> None:
    if header.last_offset_delta < 0 or not crc_is_valid(records, position, header):
        raise CorruptRecordError(
            f"{log.name}: the leader sent a damaged batch at offset {header.base_offset}"
        )
    if header.base_offset < due:
        if due == log.end_offset and header.last_offset >= due:
            raise BeginsBelowError(header.base_offset)
        raise CorruptRecordError(
            f"{log.name}: the leader sent offset {header.base_offset} where {due} or more was due"
        )


def _begins_segment(
    log: PartitionLog, header: BatchHeader, pending_bytes: int, now: TimestampMs
) -> bool:
    return log.folder.segments.active.should_roll(
        pending_bytes + header.size_bytes, header.last_offset, header.max_timestamp, now
    )


def _write(log: PartitionLog, records: memoryview, headers: list[BatchHeader]) -> None:
    if not headers:
        return
    log.folder.make()
    for header in headers:
        if header.partition_leader_epoch != log.epochs.latest:
            log.epochs.assign(header.partition_leader_epoch, header.base_offset)
    segment = log.folder.segments.active
    segment.append(records)  # The last thing that can fail.
    position = 0
    for header in headers:
        base_offset = header.base_offset
        segment.added(base_offset, header.last_offset, header.max_timestamp, header.size_bytes)
        if header.producer_id > NO_PRODUCER_ID:
            take_in_appended(log.producers, segment, records, position, header, base_offset)
        position += header.size_bytes
    log.end_offset = headers[-1].next_offset
