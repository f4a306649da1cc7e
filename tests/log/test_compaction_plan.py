"""What can be cleaned of a log, and which of its segments become one."""

from __future__ import annotations

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.log.compaction_plan import LogToClean, find_cleanable, group_segments
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.index import MAX_RELATIVE_OFFSET
from kafkalite.log.log_cuts import delete_records
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.segment import Segment
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.types import Offset, TimestampMs
from tests.log.compaction_fixtures import Transactional
from tests.log.log_fixtures import FOLDER, NOW, append, open_log

CONFIG = TopicConfig(cleanup_policy=("compact",))


def log_of(*timestamps: int, config: TopicConfig = CONFIG) -> PartitionLog:
    """A segment of one record with each timestamp, and an active one without records."""
    log = open_log(MemoryFiles(), config)
    for timestamp in timestamps:
        append(log, build_batch([Record(b"k", b"v", (), TimestampMs(timestamp))]))
        log.roll(NOW)
    return log


def measured(
    log: PartitionLog,
    *,
    checkpoint: int | None = None,
    high_watermark: int | None = None,
    now: int = NOW,
) -> LogToClean:
    return find_cleanable(
        log,
        checkpoint=None if checkpoint is None else Offset(checkpoint),
        high_watermark=log.end_offset if high_watermark is None else Offset(high_watermark),
        now=TimestampMs(now),
    )


def bounds(found: LogToClean) -> tuple[int, int]:
    return found.first_dirty_offset, found.first_uncleanable_offset


def test_all_below_the_active_segment_can_be_cleaned() -> None:
    log = log_of(NOW, NOW, NOW, NOW)
    found = measured(log)
    assert bounds(found) == (0, 4)
    assert (found.clean_bytes, found.cleanable_bytes) == (0, log.size_bytes)
    assert found.dirty_ratio == 1
    assert found.is_due
    found = measured(log, checkpoint=3)
    assert bounds(found) == (3, 4)
    assert found.dirty_ratio == 0.25
    assert not found.is_due
    assert not measured(log, checkpoint=4).is_due


@pytest.mark.parametrize(("checkpoint", "dirty_from", "is_wrong"), [
    (None, 1, False), (0, 1, True), (1, 1, False), (3, 3, False), (4, 4, False), (5, 1, True)
])  # fmt: skip
def test_a_checkpoint_outside_of_the_log_does_not_count(
    checkpoint: int | None, dirty_from: int, is_wrong: bool
) -> None:
    log = log_of(NOW, NOW, NOW, NOW)
    delete_records(log, Offset(1))
    found = measured(log, checkpoint=checkpoint)
    assert (found.first_dirty_offset, found.checkpoint_is_wrong) == (dirty_from, is_wrong)


def test_what_is_not_replicated_is_left_alone() -> None:
    log = log_of(NOW, NOW, NOW, NOW)
    assert bounds(measured(log, high_watermark=2)) == (0, 2)
    assert bounds(measured(log, high_watermark=0)) == (0, 0)
    assert bounds(measured(log, checkpoint=3, high_watermark=2)) == (3, 3)


def test_young_segments_and_those_after_them_are_left_alone() -> None:
    config = CONFIG._replace(min_compaction_lag_ms=1000)
    log = log_of(NOW - 2000, NOW - 999, NOW - 3000, config=config)
    assert bounds(measured(log)) == (0, 1)
    assert bounds(measured(log, now=NOW + 1)) == (0, 3)


def test_without_timestamps_a_segment_is_as_old_as_this_process_knows_it() -> None:
    config = CONFIG._replace(min_compaction_lag_ms=1000)
    log = log_of(-1, -1, config=config)
    assert bounds(measured(log, now=NOW + 999)) == (0, 0)
    assert bounds(measured(log, now=NOW + 1000)) == (0, 2)


def test_a_lag_that_is_over_makes_it_due_whatever_the_ratio() -> None:
    config = CONFIG._replace(max_compaction_lag_ms=1000, min_cleanable_dirty_ratio=1.0)
    log = log_of(NOW - 5000, NOW - 4000, NOW - 999, config=config)
    assert measured(log, checkpoint=1).delay_ms == 3000
    assert measured(log, checkpoint=1).is_due
    assert measured(log, checkpoint=2).delay_ms == 0
    assert not measured(log, checkpoint=2).is_due
    assert not measured(log, checkpoint=1, high_watermark=1).is_due


def segments(*sizes_and_bases: tuple[int, int]) -> list[Segment]:
    files = MemoryFiles()
    files.make_folder(FOLDER)
    made = []
    for size, base in sizes_and_bases:
        segment = Segment.create(files, FOLDER, Offset(base), CONFIG, NOW)
        segment.size = size
        made.append(segment)
    return made


def grouped(
    given: list[Segment], *, segment_bytes: int = 100, index_bytes: int = 100, end: int = 1 << 40
) -> list[list[int]]:
    groups = group_segments(
        given,
        segment_bytes=segment_bytes,
        index_bytes=index_bytes,
        first_uncleanable_offset=Offset(end),
    )
    return [[segment.base_offset for segment in group] for group in groups]


def test_neighbours_become_one_up_to_the_size_of_a_segment() -> None:
    given = segments((60, 0), (40, 10), (1, 20), (99, 30), (500, 40), (0, 50), (3, 60), (97, 70))
    assert grouped(given, end=80) == [[0, 10], [20, 30], [40], [50, 60, 70]]


def test_indexes_limit_what_becomes_one() -> None:
    given = segments((1, 0), (1, 10), (1, 20), (1, 30))
    for segment in given:
        for entry in (1, 2):
            segment.indexes.offsets.append(entry, entry)
    assert grouped(given, index_bytes=32, end=40) == [[0, 10], [20, 30]]
    for segment in given:
        segment.indexes.times.append(NOW, 1)
    assert grouped(given, index_bytes=33, end=40) == [[0, 10], [20, 30]]
    for segment in given:
        segment.indexes.times.append(TimestampMs(NOW + 1), 2)
    assert grouped(given, index_bytes=47, end=40) == [[0], [10], [20], [30]]


def test_offsets_of_one_segment_lie_within_31_bits() -> None:
    far = MAX_RELATIVE_OFFSET
    given = segments((1, 0), (1, 10), (1, far + 1), (0, far + 5), (1, far + 10))
    assert grouped(given, end=far + 20) == [[0, 10], [far + 1, far + 5, far + 10]]
    given = segments((1, 0), (1, 10), (1, far))
    assert grouped(given, end=far + 1) == [[0, 10, far]]
    assert grouped(given, end=far + 2) == [[0, 10], [far]]


def test_nothing_becomes_nothing() -> None:
    assert grouped([]) == []


def test_a_transaction_is_left_alone_until_its_marker_is_replicated() -> None:
    world = Transactional()
    world.write(("a", "1"))
    world.roll()
    world.send(7, 0, ("a", "2"))
    world.roll()
    world.end(7, commit=True)
    world.roll()
    assert bounds(measured(world.log, high_watermark=2)) == (0, 1)
    assert bounds(measured(world.log, high_watermark=3)) == (0, 3)
