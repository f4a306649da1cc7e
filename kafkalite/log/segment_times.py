"""Finding a record of a segment by its timestamp: through the time index to a batch, and then one
record after the other, as only they have the times of all.

Source: Kafka's `LogSegment.findOffsetByTimestamp`.
"""

from __future__ import annotations

from typing import NamedTuple

from kafkalite.log.scan import WrongIndexError, scan_batches
from kafkalite.log.segment import Segment
from kafkalite.log.time_index import TimeEntry
from kafkalite.protocol.records.batch import HEADER_SIZE, read_header
from kafkalite.protocol.records.times import LookupBudget, read_times
from kafkalite.types import NO_TIMESTAMP, LeaderEpoch, Offset, TimestampMs


class TimestampOffset(NamedTuple):
    """A record found by its timestamp."""

    timestamp: TimestampMs
    offset: Offset
    leader_epoch: LeaderEpoch


def find_timestamp(
    segment: Segment, timestamp: TimestampMs, start_offset: Offset, budget: LookupBudget
) -> TimestampOffset | None:
    """The first record at or above `start_offset` that is at or after `timestamp`.

    `CorruptRecordError` for records that cannot be read, or cost more than the budget has.
    """
    entry = segment.indexes.times.lookup(timestamp)
    try:
        _check_time(segment, entry)
    except WrongIndexError as error:
        segment.distrust(error)
        entry = segment.indexes.times.lookup(timestamp)
    first = max(entry.relative_offset, start_offset - segment.base_offset)
    found = segment.find(first + segment.base_offset)
    position = found.position if found else segment.size
    for batch in scan_batches(segment.file, position, segment.size):
        header = batch.header
        if header.max_timestamp < timestamp or header.last_offset < start_offset:
            continue
        for record in read_times(batch.buffer, batch.at, header, budget):
            if record.timestamp >= timestamp and record.offset >= start_offset:
                return TimestampOffset(
                    record.timestamp, record.offset, header.partition_leader_epoch
                )
    return None


def find_max_timestamp(segment: Segment, budget: LookupBudget) -> TimestampOffset | None:
    """The first record that has the segment's latest timestamp; None when none has one."""
    latest = segment.max_timestamp
    if latest == NO_TIMESTAMP:
        return None
    return find_timestamp(segment, latest, segment.base_offset, budget)


def _check_time(segment: Segment, entry: TimeEntry) -> None:
    """`WrongIndexError` unless the batch that the entry is of has its timestamp."""
    if entry.timestamp == NO_TIMESTAMP:
        return
    found = segment.find(segment.base_offset + entry.relative_offset)
    header = None if found is None else read_header(segment.file.read(found.position, HEADER_SIZE))
    if header is None or header.max_timestamp != entry.timestamp:
        raise WrongIndexError(f"no batch has {entry.timestamp} at {entry.relative_offset}")
