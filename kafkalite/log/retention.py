"""Which segments are too old: below the log's start, beyond `retention.bytes` or `retention.ms`.

Whole segments go, the oldest first, and none that is not below the high watermark. The active one
goes too, if all of it is due: the log rolls then. What is only compacted, or has no
`cleanup.policy`, loses what is below its start and nothing else.

Kafka differs: of a segment without a single timestamp it takes the age from its file's last change.
Here it counts from when the broker made or opened it.

Source: Kafka's `UnifiedLog.deleteOldSegments`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import NamedTuple

from kafkalite.log.log_cuts import retire_below
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.retired_files import RetiredFiles, unless_some
from kafkalite.log.segment import Segment
from kafkalite.types import Offset, TimestampMs

_IsDue = Callable[[Segment, Segment | None], bool]
"""Whether a segment may go; the second is the one after it, None: there is none. Asked from the
oldest on, until it says no."""


class Deletion(NamedTuple):
    """Segments that went for one reason."""

    base_offsets: tuple[Offset, ...]
    reason: str
    """For people, as Kafka words it."""
    retired: RetiredFiles


def delete_old_segments(
    log: PartitionLog, *, high_watermark: Offset, now: TimestampMs
) -> list[Deletion]:
    """Take what is due out of `log`, which may begin later then.

    What the disk refuses stays; `OSError` when that is all.
    """
    rules = (_below_start, _beyond_size, _beyond_age)
    deletions: list[Deletion] = []
    with unless_some(deletions):
        for rule in rules if log.config.is_deleted_by_age else rules[:1]:
            is_due, reason = rule(log, now)
            count = _count_due(log, high_watermark, is_due)
            if count:
                deletions.append(_delete(log, count, reason, now))
    return deletions


class _Rule(NamedTuple):
    is_due: _IsDue
    reason: str


def _below_start(log: PartitionLog, now: TimestampMs) -> _Rule:
    start = log.log_start_offset
    return _Rule(
        lambda segment, following: following is not None and following.base_offset <= start,
        f"log start offset {start} breach",
    )


def _beyond_size(log: PartitionLog, now: TimestampMs) -> _Rule:
    """What stays is no smaller than the limit, and larger by less than its oldest segment."""
    limit = log.config.retention_bytes
    size = log.size_bytes
    surplus = size - limit if limit >= 0 else 0

    def is_due(segment: Segment, following: Segment | None) -> bool:
        nonlocal surplus
        if limit < 0 or surplus < segment.size:
            return False
        surplus -= segment.size
        return True

    return _Rule(is_due, f"log retention size {limit} bytes breach, of {size} bytes")


def _beyond_age(log: PartitionLog, now: TimestampMs) -> _Rule:
    limit = log.config.retention_ms
    moment = TimestampMs(now - limit)
    return _Rule(
        lambda segment, following: limit >= 0 and segment.is_older_than(moment),
        f"log retention time {limit}ms breach, by the latest timestamp in it",
    )


def _count_due(log: PartitionLog, high_watermark: Offset, is_due: _IsDue) -> int:
    count = 0
    segments = log.segments
    for segment, following in zip_longest(segments, segments[1:]):
        end = log.end_offset if following is None else following.base_offset
        if high_watermark < end or not is_due(segment, following):
            break
        if following is None and not segment.size:
            break  # A log has one segment at least, and an empty one is as good as a new one.
        count += 1
    return count


def _delete(log: PartitionLog, count: int, reason: str, now: TimestampMs) -> Deletion:
    due = log.segments[:count]
    if count == len(log.segments):
        log.roll(now)
    retired = retire_below(log, log.segments[count].base_offset)
    start = log.first_segment_offset
    gone = tuple(segment.base_offset for segment in due if segment.base_offset < start)
    return Deletion(gone, reason, retired)
