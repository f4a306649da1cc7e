"""Whether the indexes of a segment agree with its `.log`.

An entry of the offset index must name the last offset of the batch at its position; one of the time
index the latest timestamp of the batch that its offset is in. Source: Kafka's `DumpLogSegments`,
whose complaints these are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from kafkalite.errors import CorruptRecordError
from kafkalite.log.files import File
from kafkalite.log.inspection import OffsetEntry, TimeIndexEntry
from kafkalite.log.scan import find_batch
from kafkalite.protocol.records.batch import HEADER_SIZE, BatchHeader, read_header
from kafkalite.types import NO_TIMESTAMP, Offset, TimestampMs

NO_OFFSET = Offset(-1)

_offset_of = attrgetter("offset")


class OffsetMismatch(NamedTuple):
    """The batch at the entry's position ends at another offset."""

    entry: OffsetEntry
    found: Offset
    """-1: no batch stands there."""


class TimestampMismatch(NamedTuple):
    """The batch of the entry's offset has another latest timestamp."""

    entry: TimeIndexEntry
    found: TimestampMs


class TimestampOutOfOrder(NamedTuple):
    """The entry is below the one before it."""

    entry: TimeIndexEntry
    previous: TimestampMs


class OffsetNotFound(NamedTuple):
    """No batch of the log ends at the entry's offset."""

    entry: TimeIndexEntry
    found: Offset
    """Where the first one ends that reaches so far; -1 without one."""


TimeComplaint = TimestampMismatch | TimestampOutOfOrder | OffsetNotFound


def check_offset_entries(log: File, entries: Sequence[OffsetEntry]) -> Iterator[OffsetMismatch]:
    """In the order of the entries."""
    for entry in entries:
        header = _header_at(log, entry.position)
        found = NO_OFFSET if header is None else header.last_offset
        if found != entry.offset:
            yield OffsetMismatch(entry, found)


def check_time_entries(
    log: File, offsets: Sequence[OffsetEntry], entries: Sequence[TimeIndexEntry]
) -> Iterator[TimeComplaint]:
    """In the order of the entries. `offsets`: those of the offset index, to find the batches by."""
    previous = NO_TIMESTAMP
    for entry in entries:
        at = bisect_right(offsets, entry.offset, key=_offset_of)
        header = _batch_of(log, offsets[at - 1].position if at else 0, entry.offset)
        if header is None or header.last_offset != entry.offset:
            yield OffsetNotFound(entry, NO_OFFSET if header is None else header.last_offset)
        elif header.max_timestamp != entry.timestamp:
            yield TimestampMismatch(entry, header.max_timestamp)
        if entry.timestamp < previous:
            yield TimestampOutOfOrder(entry, previous)
        previous = entry.timestamp


def _header_at(log: File, position: int) -> BatchHeader | None:
    if not 0 <= position < log.size:
        return None
    try:
        return read_header(log.read(position, HEADER_SIZE))
    except CorruptRecordError:
        return None


def _batch_of(log: File, position: int, offset: Offset) -> BatchHeader | None:
    """The first batch from `position` on that reaches as far as `offset`."""
    if position < 0:
        return None
    try:
        found = find_batch(log, position, log.size, offset)
    except CorruptRecordError:
        return None
    return None if found is None else _header_at(log, found.position)
