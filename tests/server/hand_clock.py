"""A clock without an event loop, for drivers that only set timers."""

from __future__ import annotations

from collections.abc import Callable

from kafkalite.ports.clock import Clock, Timer
from kafkalite.types import TimestampMs


class _HandTimer:
    def __init__(self, at_ms: int, callback: Callable[[], None]) -> None:
        self.at_ms = at_ms
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class HandClock(Clock):
    def __init__(self) -> None:
        self.time_ms = 1_000_000
        self._timers: list[_HandTimer] = []

    def now_ms(self) -> TimestampMs:
        return TimestampMs(self.time_ms)

    def call_at(self, at_ms: int, callback: Callable[[], None]) -> Timer:
        timer = _HandTimer(at_ms, callback)
        self._timers.append(timer)
        return timer

    @property
    def waiting(self) -> int:
        """Timers that were neither cancelled nor run."""
        return sum(timer.callback is not None for timer in self._timers)

    def set_back(self, ms: int) -> None:
        """As a person sets a clock; those who wait are called when they would have been."""
        self.time_ms -= ms
        for timer in self._timers:
            timer.at_ms -= ms

    def advance(self, ms: int) -> None:
        self.time_ms += ms
        for timer in sorted(self._timers, key=lambda timer: timer.at_ms):
            if timer.at_ms <= self.time_ms and timer.callback is not None:
                callback, timer.callback = timer.callback, None
                callback()
