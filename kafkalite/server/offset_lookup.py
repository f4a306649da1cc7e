"""The offset of a time, or of a special place, in one partition."""

from __future__ import annotations

from enum import Enum, auto

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log.segment_times import TimestampOffset
from kafkalite.protocol.records.times import LOOKUP_BYTES, LOOKUP_RECORDS, LookupBudget
from kafkalite.server.partition import Partition
from kafkalite.types import NO_TIMESTAMP, TimestampMs

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6

FIRST_VERSIONS = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
"""Of ListOffsets, which know them."""

_COST = 50
"""Of a partition, as `Turns` counts; each record that is looked at costs 1 more."""
_BYTES_A_COST = 1024


class UpTo(Enum):
    """How far a client sees (exclusive)."""

    LOG_END = auto()
    HIGH_WATERMARK = auto()
    STABLE = auto()
    """The last stable offset."""


def find_offset(
    partition: Partition, timestamp: int, budget: LookupBudget, *, up_to: UpTo
) -> TimestampOffset | None:
    """Of a partition that is led here. None: no record that the client sees is at or after that
    time. OFFSET_NOT_AVAILABLE for what a consumer might see before long, after an election."""
    log, leader = partition.log, partition.leading
    if up_to is UpTo.LOG_END:
        end_offset = log.end_offset
    elif up_to is UpTo.STABLE:
        end_offset = partition.last_stable_offset
    else:
        end_offset = leader.high_watermark
    lags = up_to is not UpTo.LOG_END and leader.high_watermark_lags
    if timestamp == LATEST:
        if lags:
            raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE)
        return TimestampOffset(NO_TIMESTAMP, end_offset, leader.leader_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        start = log.log_start_offset
        return TimestampOffset(NO_TIMESTAMP, start, log.epochs.epoch_at(start))
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return None
    if timestamp == MAX_TIMESTAMP:
        found = log.offset_of_max_timestamp(budget)
    else:
        found = log.offset_for_timestamp(TimestampMs(timestamp), budget)
    if found is not None and found.offset < end_offset:
        return found
    if lags:
        raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE)
    return None


def cost_of(budget: LookupBudget) -> int:
    """Of the lookup that had this budget, in microseconds or so."""
    decompressed_bytes = LOOKUP_BYTES - budget.bytes_left
    return _COST + LOOKUP_RECORDS - budget.records_left + decompressed_bytes // _BYTES_A_COST
