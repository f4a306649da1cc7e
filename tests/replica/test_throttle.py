"""How fast throttled replicas are copied."""

from __future__ import annotations

from kafkalite.replica.throttle import ReplicationThrottle
from kafkalite.types import TimestampMs


def throttle(limit: int | None) -> ReplicationThrottle:
    made = ReplicationThrottle()
    made.limit = limit
    return made


def test_without_a_limit_nothing_waits() -> None:
    free = throttle(None)
    free.record(1 << 40, TimestampMs(0))
    assert not free.is_exceeded(TimestampMs(0))


def test_what_nobody_sent_is_not_too_much() -> None:
    assert not throttle(100).is_exceeded(TimestampMs(0))


def test_above_the_rate_it_waits_until_time_has_passed() -> None:
    slow = throttle(100)
    slow.record(100, TimestampMs(5_000))
    assert not slow.is_exceeded(TimestampMs(5_000))
    slow.record(200, TimestampMs(5_500))
    assert [slow.is_exceeded(TimestampMs(at)) for at in (5_500, 7_999, 8_000)] == [
        True,
        True,
        False,
    ]


def test_a_new_limit_counts_at_once() -> None:
    slow = throttle(100)
    slow.record(500, TimestampMs(0))
    slow.limit = 500
    assert not slow.is_exceeded(TimestampMs(0))


def test_what_is_eleven_seconds_ago_is_forgotten() -> None:
    slow = throttle(100)
    for second in range(12):
        slow.record(1_000, TimestampMs(second * 1_000))
    assert slow.is_exceeded(TimestampMs(11_999))
    assert not slow.is_exceeded(TimestampMs(40_000))


def test_who_is_in_sync_never_waits() -> None:
    slow = throttle(100)
    slow.record(1_000, TimestampMs(0))
    assert slow.must_wait(TimestampMs(0), is_in_sync=False)
    assert not slow.must_wait(TimestampMs(0), is_in_sync=True)
    assert not throttle(100).must_wait(TimestampMs(0), is_in_sync=False)


def test_a_clock_that_is_set_back_begins_anew() -> None:
    slow = throttle(100)
    slow.record(10_000, TimestampMs(5_000_000))
    assert slow.is_exceeded(TimestampMs(5_000_000))
    assert not slow.is_exceeded(TimestampMs(1_000_000))
    slow.record(200, TimestampMs(1_000_000))
    assert slow.is_exceeded(TimestampMs(1_000_000))
