"""What a leader does to its log: it gives a batch its offsets and its epoch, and appends it.

The batch goes from the buffer it was received in to the file by one write, stamped in place. All
that may refuse it is asked before that; what is told of it afterwards, in memory, cannot fail.

Source: Kafka's `UnifiedLog.appendAsLeader`.
"""

from __future__ import annotations

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log.log_results import Appended
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.producer_replay import check_coordinator_batch, take_in_appended
from kafkalite.log.validation import AppendOrigin
from kafkalite.protocol.records.batch import stamp
from kafkalite.types import NO_PRODUCER_ID, NO_TIMESTAMP, LeaderEpoch, TimestampMs

_CLIENT = AppendOrigin.CLIENT
_new = tuple.__new__
"""What `Appended(...)` does, without a call of Python's own: half of its time, for each batch."""


def append_as_leader(
    log: PartitionLog,
    records: memoryview,
    *,
    leader_epoch: LeaderEpoch,
    now: TimestampMs,
    origin: AppendOrigin = AppendOrigin.CLIENT,
    marker_bumps_epoch: bool = False,
) -> Appended:
    """Give the batch in `records` the next offsets and write it, stamping it in place.

    `KafkaError` refuses it and leaves the log as it was, `OSError` of the disk too; `records` may
    be stamped then. `marker_bumps_epoch`: see `ProducerStates.check_marker`.
    """
    validator = log.validator
    if validator.target is None:
        header = validator.check(records, now, origin)
    else:
        records, header = validator.recompress(records, now, origin)
    base_offset = log.end_offset
    has_producer = header.producer_id > NO_PRODUCER_ID
    if has_producer:
        if origin is _CLIENT:
            duplicate = log.producers.check(header, base_offset)
            if duplicate is not None:
                return Appended.repeated(duplicate)
        else:
            check_coordinator_batch(
                log.producers, records, header, base_offset, bumps_epoch=marker_bumps_epoch
            )
    last_offset = base_offset + header.last_offset_delta
    latest, size = header.max_timestamp, len(records)
    folder = log.folder
    segment = folder.segments.active
    if segment.should_roll(size, last_offset, latest, now):
        if size > log.config.segment_bytes and origin is not AppendOrigin.RAFT_LEADER:
            raise KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE)
        log.roll(now)
        segment = folder.segments.active
    if not folder.is_ready:
        folder.make()
    if leader_epoch != log.epochs.latest:
        log.epochs.assign(leader_epoch, base_offset)
    stamp(records, 0, base_offset=base_offset, leader_epoch=leader_epoch)
    segment.append(records)  # The last thing that can fail: from here on it is appended.
    segment.added(base_offset, last_offset, latest, size)
    log.end_offset = segment.end_offset
    if has_producer:
        take_in_appended(log.producers, segment, records, 0, header, base_offset)
    append_time = now if validator.stamps_append_time else NO_TIMESTAMP
    return _new(Appended, (base_offset, last_offset, append_time, size))
