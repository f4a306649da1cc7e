"""A job that is done again and again."""

from __future__ import annotations

from collections.abc import Callable

from kafkalite.ports.clock import Clock, Timer


class Periodic:
    """Calls `job`, which does not wait, until `stop`; never twice at a time, and however late it
    was, the whole interval passes before the next."""

    __slots__ = ("_clock", "_interval_ms", "_job", "_timer")

    def __init__(
        self, clock: Clock, job: Callable[[], None], *, first_after_ms: int, interval_ms: int
    ) -> None:
        """`interval_ms` counts as 1 when it is less."""
        self._clock = clock
        self._job = job
        self._interval_ms = max(interval_ms, 1)
        self._timer: Timer | None = clock.call_at(clock.now_ms() + first_after_ms, self._run)

    def stop(self) -> None:
        """Not once more. May be called twice, and by the job itself."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _run(self) -> None:
        self._job()
        if self._timer is not None:
            self._timer = self._clock.call_at(self._clock.now_ms() + self._interval_ms, self._run)
