"""What the answers of a leader ask of a follower's log."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.replica.follower import (
    REST_MS,
    LogPoint,
    PartitionFollower,
    Step,
    committed_here,
    truncation_offset,
)
from kafkalite.types import BrokerId, LeaderEpoch, Offset, TimestampMs

NOW = TimestampMs(1_000)


def follower() -> PartitionFollower:
    return PartitionFollower(BrokerId(2), LeaderEpoch(5), backoff_ms=300)


def answered(
    of: PartitionFollower,
    code: ErrorCode = ErrorCode.NONE,
    *,
    asked_from: int = 7,
    end: int = 7,
    diverges: bool = False,
) -> Step:
    return of.answered(
        code, asked_from=Offset(asked_from), end_offset=Offset(end), diverges=diverges, now=NOW
    )


def test_records_are_appended() -> None:
    assert answered(follower()) is Step.APPEND


def test_where_logs_part_this_one_is_cut() -> None:
    assert answered(follower(), diverges=True) is Step.TRUNCATE


def test_what_was_asked_before_the_log_moved_is_passed_over() -> None:
    of = follower()
    assert answered(of, asked_from=6) is Step.NOTHING
    assert answered(of, ErrorCode.FENCED_LEADER_EPOCH, end=8) is Step.NOTHING
    assert of.is_ready(NOW)


def test_out_of_range_the_leader_is_asked_for_its_end() -> None:
    of = follower()
    assert answered(of, ErrorCode.OFFSET_OUT_OF_RANGE) is Step.ASK_END
    assert of.is_ready(NOW)


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.KAFKA_STORAGE_ERROR,
    ],
)
def test_after_other_errors_it_waits(code: ErrorCode) -> None:
    of = follower()
    assert answered(of, code) is Step.WAIT
    assert [of.is_ready(TimestampMs(at)) for at in (1_299, 1_300)] == [False, True]


def test_a_throttled_one_rests_for_a_moment() -> None:
    of = follower()
    of.rest(NOW)
    assert [
        of.is_ready(TimestampMs(NOW + REST_MS - 1)),
        of.is_ready(TimestampMs(NOW + REST_MS)),
    ] == [
        False,
        True,
    ]


def test_one_that_is_fenced_waits_for_another_epoch() -> None:
    of = follower()
    assert answered(of, ErrorCode.FENCED_LEADER_EPOCH) is Step.STOP
    assert not of.is_ready(TimestampMs(1 << 40))


def cut(leader: tuple[int, int], here: tuple[int, int] | None, end: int) -> int:
    return truncation_offset(
        LogPoint(LeaderEpoch(leader[0]), Offset(leader[1])),
        None if here is None else LogPoint(LeaderEpoch(here[0]), Offset(here[1])),
        Offset(end),
    )


@pytest.mark.parametrize(
    ("leader", "here", "end", "to"),
    [
        pytest.param((3, 10), (3, 15), 20, 10, id="the epoch ends sooner there"),
        pytest.param((3, 15), (3, 10), 20, 10, id="the epoch ends sooner here"),
        pytest.param((3, 25), (3, 20), 18, 18, id="never beyond the end here"),
        pytest.param((2, 10), (1, 5), 20, 5, id="the leader's epoch is not known here"),
        pytest.param((2, 10), (1, 30), 20, 20, id="what is known here ends at the end"),
        pytest.param((2, 10), None, 20, 10, id="no epoch is known here"),
        pytest.param((2, 30), None, 20, 20, id="no epoch is known here, and the log is short"),
    ],
)
def test_a_log_is_cut_where_it_parts_from_the_leader_s(
    leader: tuple[int, int], here: tuple[int, int] | None, end: int, to: int
) -> None:
    assert cut(leader, here, end) == to


@pytest.mark.parametrize(
    ("before", "told", "end", "after"), [(0, 5, 9, 5), (0, 9, 5, 5), (7, 5, 9, 7), (3, -1, 9, 3)]
)
def test_the_high_watermark_is_the_leader_s_as_far_as_the_log_goes(
    before: int, told: int, end: int, after: int
) -> None:
    assert committed_here(Offset(before), told, Offset(end)) == after
