"""When segments roll by time: `segment.jitter.ms`, and what is compacted."""

from __future__ import annotations

from bisect import bisect_left

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.opening import open_log
from kafkalite.log.partition_log import PartitionLog
from kafkalite.types import TimestampMs
from tests.log.log_fixtures import NOW, TOPIC_ID, append, batch

SEGMENT_MS = 10_000


def log_with(seed: int, folder: str = "t-0", *, jitter_ms: int = 0) -> PartitionLog:
    config = TopicConfig(segment_ms=SEGMENT_MS, segment_jitter_ms=jitter_ms)
    return open_log(
        MemoryFiles(),
        folder,
        config=config,
        topic_id=TOPIC_ID,
        now=NOW,
        clean=True,
        jitter_seed=seed,
    )


def rolls_after(log: PartitionLog) -> int:
    """The time between two records by which the second one begins a segment."""
    start = log.segments[-1]
    append(log, batch(NOW))
    least = bisect_left(
        range(SEGMENT_MS + 2),
        True,
        key=lambda wait: start.should_roll(1, start.end_offset, TimestampMs(NOW + wait), NOW),
    )
    append(log, batch(NOW + least - 1))
    assert log.segments[-1] is start
    append(log, batch(NOW + least))
    assert log.segments[-1] is not start
    return least


def test_without_jitter_all_roll_after_the_same_time() -> None:
    assert {rolls_after(log_with(seed)) for seed in range(5)} == {SEGMENT_MS + 1}


def test_with_jitter_each_segment_rolls_at_another_time() -> None:
    log = log_with(1, jitter_ms=4_000)
    first = rolls_after(log)
    others = [rolls_after(log_with(1, f"t-{index}", jitter_ms=4_000)) for index in range(20)]
    seconds = [rolls_after(log_with(seed, jitter_ms=4_000)) for seed in range(20)]
    assert rolls_after(log_with(1, jitter_ms=4_000)) == first
    for waits in (others, seconds):
        assert len(set(waits)) > 10
        assert all(SEGMENT_MS - 4_000 < wait <= SEGMENT_MS + 1 for wait in waits)
    assert log.segments[0].jitter_ms != log.segments[1].jitter_ms


def test_jitter_is_at_most_the_time_itself() -> None:
    waits = [rolls_after(log_with(seed, jitter_ms=10**9)) for seed in range(20)]
    assert all(0 < wait <= SEGMENT_MS + 1 for wait in waits)


@pytest.mark.parametrize(
    ("policy", "waited"), [(("delete",), SEGMENT_MS + 1), (("compact", "delete"), 3_001)]
)
def test_what_is_compacted_rolls_in_time_to_be(policy: tuple[str, ...], waited: int) -> None:
    log = log_with(1)
    log.configure(log.config._replace(cleanup_policy=policy, max_compaction_lag_ms=3_000))
    assert rolls_after(log) == waited
