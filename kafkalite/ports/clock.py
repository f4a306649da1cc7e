"""The Clock port: the one time that all of kafkalite lives by, and every wait in it.

A broker reads the time and waits through its clock alone, so whoever holds the clock steers the
broker: the real one here, `testing.clock.SteerableClock` over real sockets, and the clock of the
virtual-time loop (`testing.clock.VirtualClock`). It does not schedule work: tasks belong to task
groups.
"""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from kafkalite.types import TimestampMs

T = TypeVar("T")

_STEP_MS = 1_000
"""A timer that comes earlier than this by the wall clock has not drifted: the wall clock was set
back."""


class Timer(Protocol):
    """A callback that waits for its time."""

    def cancel(self) -> None:
        """Forget the callback. Nothing happens when it has run, or was cancelled before."""
        ...


class Clock(Protocol):
    """Time, in milliseconds since 1970. All but `now_ms` is for the thread of the event loop."""

    @abstractmethod
    def now_ms(self) -> TimestampMs:
        """The time now. From any thread."""
        ...

    @abstractmethod
    def call_at(self, at_ms: int, callback: Callable[[], None]) -> Timer:
        """Call back once the time is `at_ms` or later, never from inside this call; soon, when it
        has passed. Timers run in the order of their times; those of one time in any order."""
        ...

    async def wait(self, awaitable: Awaitable[T], until_ms: int) -> T:
        """The result of `awaitable`. `TimeoutError` when the time comes first; `awaitable` is then
        cancelled. What is done already is returned, however late it is."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(None) as scope:
            timer = self.call_at(until_ms, lambda: scope.reschedule(loop.time()))
            try:
                return await awaitable
            finally:
                timer.cancel()

    async def wait_until(self, at_ms: int) -> None:
        """Return once the time is `at_ms` or later."""
        passed = asyncio.get_running_loop().create_future()
        timer = self.call_at(at_ms, lambda: None if passed.done() else passed.set_result(None))
        try:
            await passed
        finally:
            timer.cancel()


class _LoopTimer:
    """A timer of the running loop, which counts in monotonic time; `at_ms` is wall time, which may
    drift."""

    __slots__ = ("_at_ms", "_callback", "_clock", "_handle")

    def __init__(self, clock: Clock, at_ms: int, callback: Callable[[], None]) -> None:
        self._clock = clock
        self._at_ms = at_ms
        self._callback = callback
        self._handle: asyncio.Handle | None = None
        self._arm(at_ms - clock.now_ms())

    def _arm(self, delay_ms: int) -> None:
        loop = asyncio.get_running_loop()
        if delay_ms > 0:
            self._handle = loop.call_later(delay_ms / 1000, self._fire)
        else:
            self._handle = loop.call_soon(self._fire)

    def _fire(self) -> None:
        early_ms = self._at_ms - self._clock.now_ms()
        if 0 < early_ms < _STEP_MS:
            self._arm(early_ms)
        else:
            self._handle = None
            self._callback()

    def cancel(self) -> None:
        """See `Timer`."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


class RealClock(Clock):
    """The wall clock. A wait lasts as long as it was asked to when it began, even if the wall clock
    is set to another time meanwhile (or the machine sleeps); its callback may then see a time
    before its own."""

    def now_ms(self) -> TimestampMs:
        """See `Clock`."""
        return TimestampMs(time.time_ns() // 1_000_000)

    def call_at(self, at_ms: int, callback: Callable[[], None]) -> Timer:
        """See `Clock`."""
        return _LoopTimer(self, at_ms, callback)
