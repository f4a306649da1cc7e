"""Which part of a log can be cleaned, how much it needs it, and which segments become one.

    log start      cleaned up to here before        segments that may be cleaned       the rest
    |------------- clean --------------|------------------ dirty ------------------|------------|
                                       first dirty offset           first uncleanable offset

Source: Kafka's `LogCleanerManager`, `LogToClean` and `Cleaner.groupSegmentsBySize`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kafkalite.log.index import MAX_RELATIVE_OFFSET
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.segment import Segment
from kafkalite.protocol.records.batch import HEADER_SIZE, read_header
from kafkalite.types import Offset, TimestampMs


class LogToClean(NamedTuple):
    """What there is to clean in one log."""

    log: PartitionLog
    first_dirty_offset: Offset
    """Below it, no two records have the same key."""
    first_uncleanable_offset: Offset
    """Exclusive; where a segment begins."""
    high_watermark: Offset
    checkpoint_is_wrong: bool
    """It is not in the log: the log is dirty from its start on."""
    clean_bytes: int
    cleanable_bytes: int
    delay_ms: int
    """For how long `max.compaction.lag.ms` has wanted it cleaned; 0: it does not."""
    cuts: int
    """How often it had been cut when it was measured."""

    @property
    def was_cut(self) -> bool:
        """Whether records have gone from its end since then. Others may stand there by now, in
        segments that have rolled again: nothing that is known of it can be relied on."""
        return self.log.folder.segments.cuts != self.cuts

    @property
    def dirty_ratio(self) -> float:
        """The part of what can be cleaned that is new since the last time."""
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    @property
    def is_due(self) -> bool:
        """Whether it should be cleaned now."""
        if self.delay_ms > 0 and self.cleanable_bytes > 0:
            return True
        return self.dirty_ratio > self.log.config.min_cleanable_dirty_ratio


def find_cleanable(
    log: PartitionLog,
    *,
    checkpoint: Offset | None,
    high_watermark: Offset,
    now: TimestampMs,
) -> LogToClean:
    """Measure the log. `checkpoint`: how far it was cleaned, None if it never was. `OSError` or
    `CorruptRecordError` when what must be read of it cannot be."""
    segments = log.segments
    start = log.log_start_offset
    first_dirty = start if checkpoint is None else checkpoint
    is_wrong = not start <= first_dirty <= log.end_offset
    if is_wrong:
        first_dirty = start
    stable = log.producers.last_stable_offset(high_watermark)  # Nothing above it is decided.
    limit = min(stable, segments[-1].base_offset)
    dirty = closed_from(segments, first_dirty)
    for segment in dirty:
        if log.config.min_compaction_lag_ms > 0 and _is_young(segment, log, now):
            limit = min(limit, segment.base_offset)
            break
    limit = max(limit, first_dirty)
    beyond = closed_from(segments, limit)
    first_uncleanable = (beyond or segments[-1:])[0].base_offset
    return LogToClean(
        log,
        first_dirty,
        first_uncleanable,
        high_watermark,
        is_wrong,
        sum(segment.size for segment in segments if segment.base_offset < first_dirty),
        sum(
            segment.size
            for segment in between(segments, min(first_dirty, first_uncleanable), first_uncleanable)
        ),
        _delay_ms(log, dirty, now),
        log.folder.segments.cuts,
    )


def _is_young(segment: Segment, log: PartitionLog, now: TimestampMs) -> bool:
    latest = segment.max_timestamp
    if latest < 0:
        latest = segment.created_ms
    return latest > now - log.config.min_compaction_lag_ms


def _delay_ms(log: PartitionLog, dirty: Sequence[Segment], now: TimestampMs) -> int:
    clean_until_ms = now - log.config.max_compaction_lag_ms
    if clean_until_ms <= 0:
        return 0
    times = (_first_timestamp(segment) for segment in dirty if segment.size)
    earliest = min((time for time in times if time > 0), default=clean_until_ms)
    return max(clean_until_ms - earliest, 0)


def _first_timestamp(segment: Segment) -> TimestampMs:
    return read_header(segment.file.read(0, HEADER_SIZE)).max_timestamp


def between(segments: Sequence[Segment], start: int, end: int) -> list[Segment]:
    """Those that begin below `end`, from the one that `start` is in on."""
    if start >= end:
        return []
    first = 0
    for at, segment in enumerate(segments):
        if segment.base_offset > start:
            break
        first = at
    return [segment for segment in segments[first:] if segment.base_offset < end]


def closed_from(segments: Sequence[Segment], start: Offset) -> list[Segment]:
    """All but the active one, from the one that `start` is in on."""
    active = segments[-1].base_offset
    return [] if start > active else between(segments, start, active)


def group_segments(
    segments: Sequence[Segment],
    *,
    segment_bytes: int,
    index_bytes: int,
    first_uncleanable_offset: Offset,
) -> list[list[Segment]]:
    """Neighbours that may become one segment: together within the limits of one."""
    groups: list[list[Segment]] = []
    log_size = offsets_size = times_size = 0
    for at, segment in enumerate(segments):
        indexes = segment.indexes
        log_size += segment.size
        offsets_size += indexes.offsets.size_bytes
        times_size += indexes.times.size_bytes
        end = segments[at + 1].base_offset if at + 1 < len(segments) else first_uncleanable_offset
        if (
            groups
            and log_size <= segment_bytes
            and offsets_size <= index_bytes
            and times_size <= index_bytes
            and (not segment.size or end - 1 - groups[-1][0].base_offset <= MAX_RELATIVE_OFFSET)
        ):
            groups[-1].append(segment)
            continue
        groups.append([segment])
        log_size = segment.size
        offsets_size, times_size = indexes.offsets.size_bytes, indexes.times.size_bytes
    return groups
