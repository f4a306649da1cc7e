"""Clocks in the hands of a test.

`SteerableClock` runs over a real event loop and real sockets: its time stands still, or flows on
from where it was put, and `advance` moves it. `VirtualClock` is the clock of `testing.simulation`,
where time passes by itself as soon as nothing else is left to do.
"""

from __future__ import annotations

import asyncio
import heapq
import threading
from collections.abc import Callable

from kafkalite.ports.clock import Clock, RealClock, Timer
from kafkalite.types import TimestampMs

START_MS = 1_700_000_000_000
"""14 November 2023: where a test's time begins unless it says otherwise."""
_HANDOVER_S = 10.0
"""The longest that another thread waits, in real time, for the loop to take an `advance`."""


class _HeapTimer:
    __slots__ = ("at_ms", "callback", "order")

    def __init__(self, at_ms: int, order: int, callback: Callable[[], None]) -> None:
        self.at_ms = at_ms
        self.order = order
        self.callback: Callable[[], None] | None = callback

    def __lt__(self, other: _HeapTimer) -> bool:
        return (self.at_ms, self.order) < (other.at_ms, other.order)

    def cancel(self) -> None:
        """See `Timer`."""
        self.callback = None


class SteerableClock(Clock):
    """Time over real sockets that a test moves. `now_ms`, `advance`, `freeze` and `flow` may be
    called from any thread; the clock belongs to the loop that first sets a timer."""

    def __init__(self, start_ms: int = START_MS, *, flowing: bool = False) -> None:
        """Frozen at `start_ms`, or flowing on from there at the pace of real time."""
        self._now_ms = start_ms
        """The time when frozen; when flowing, the time at `_flowing_since`."""
        self._pace = RealClock()
        self._flowing_since: int | None = self._pace.now_ms() if flowing else None
        self._timers: list[_HeapTimer] = []
        self._order = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._wake_up: asyncio.Handle | None = None

    def now_ms(self) -> TimestampMs:
        """See `Clock`."""
        since = self._flowing_since
        passed = 0 if since is None else self._pace.now_ms() - since
        return TimestampMs(self._now_ms + passed)

    def call_at(self, at_ms: int, callback: Callable[[], None]) -> Timer:
        """See `Clock`."""
        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.get_running_loop()
            self._thread = threading.get_ident()
            self._wake_up = None
        self._order += 1
        timer = _HeapTimer(at_ms, self._order, callback)
        heapq.heappush(self._timers, timer)
        if self._timers[0] is timer:
            self._arm()
        return timer

    def advance(self, ms: int) -> None:
        """Move the time on by `ms`, at least 0. All timers that come due run before this returns,
        each at its own time; so do those that they set within the span. What waiting tasks do then,
        they do as soon as the loop gets to them. From inside a timer's callback it is not
        allowed."""
        if ms < 0:
            raise ValueError("time does not go back")
        self._on_loop(lambda: self._move(ms))

    def freeze(self) -> None:
        """Let the time stand still."""
        self._on_loop(self._freeze)

    def flow(self) -> None:
        """Let the time pass at the pace of real time."""
        self._on_loop(self._flow)

    def _on_loop(self, function: Callable[[], None]) -> None:
        """Run on the loop's thread, and return when it has run."""
        loop = self._loop
        if loop is None or not loop.is_running() or threading.get_ident() == self._thread:
            function()
            return
        ran = threading.Event()

        def run() -> None:
            try:
                function()
            finally:
                ran.set()

        loop.call_soon_threadsafe(run)
        if not ran.wait(_HANDOVER_S):
            raise TimeoutError("the event loop did not take the time; is it blocked?")

    def _move(self, ms: int) -> None:
        flowing = self._flowing_since is not None
        self._now_ms = self.now_ms()
        self._flowing_since = None
        target = self._now_ms + ms
        while (timer := self._next()) is not None and timer.at_ms <= target:
            self._now_ms = max(self._now_ms, timer.at_ms)
            self._run(timer)
        self._now_ms = target
        if flowing:
            self._flowing_since = self._pace.now_ms()
        self._arm()

    def _freeze(self) -> None:
        self._now_ms = self.now_ms()
        self._flowing_since = None
        self._arm()

    def _flow(self) -> None:
        if self._flowing_since is None:
            self._flowing_since = self._pace.now_ms()
        self._arm()

    def _next(self) -> _HeapTimer | None:
        while self._timers and self._timers[0].callback is None:
            heapq.heappop(self._timers)
        return self._timers[0] if self._timers else None

    def _run(self, timer: _HeapTimer) -> None:
        heapq.heappop(self._timers)
        callback, timer.callback = timer.callback, None
        if callback is not None:
            callback()

    def _run_due(self) -> None:
        now = self.now_ms()
        last = self._order  # What these set anew waits for the next turn of the loop.
        while (timer := self._next()) is not None and timer.at_ms <= now and timer.order <= last:
            self._run(timer)
        self._arm()

    def _arm(self) -> None:
        """Have the loop look at the timers when the first of them is due, if that comes by
        itself."""
        if self._wake_up is not None:
            self._wake_up.cancel()
            self._wake_up = None
        timer = self._next()
        if timer is None or self._loop is None or self._loop.is_closed():
            return
        left_ms = timer.at_ms - self.now_ms()
        if left_ms <= 0:
            self._wake_up = self._loop.call_soon(self._run_due)
        elif self._flowing_since is not None:
            self._wake_up = self._loop.call_later(left_ms / 1000, self._run_due)


class VirtualClock(Clock):
    """The time of the running loop, counted from `start_ms`: exact to the millisecond on a virtual
    loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, start_ms: int = START_MS) -> None:
        self._loop = loop
        self._start_ms = start_ms

    def now_ms(self) -> TimestampMs:
        """See `Clock`."""
        return TimestampMs(self._start_ms + round(self._loop.time() * 1000))

    def call_at(self, at_ms: int, callback: Callable[[], None]) -> Timer:
        """See `Clock`."""
        if at_ms <= self.now_ms():
            return self._loop.call_soon(callback)
        return self._loop.call_at((at_ms - self._start_ms) / 1000, callback)
