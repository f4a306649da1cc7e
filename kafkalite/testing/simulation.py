"""Whole runs in virtual time: the same seed gives the same trace, in any process.

The loop never blocks: when nothing is ready it moves its time on to the next timer, so ten minutes
of waiting take no time. It has no sockets, no threads and no signals; what would need one fails at
once. See docs/decisions/0005-virtual-time.md.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import Context
from typing import Any, TypeVar

from kafkalite.ports.entropy import SeededEntropy
from kafkalite.ports.network_memory import MemoryNetwork
from kafkalite.ports.workers import InlineWorkers
from kafkalite.testing.clock import START_MS, VirtualClock
from kafkalite.testing.faults import Weather
from kafkalite.types import TimestampMs

T = TypeVar("T")

_log = logging.getLogger(__name__)

DEFAULT_LIMIT_MS = 24 * 3_600_000
"""The longest virtual time that a run may take."""


class SimulationError(Exception):
    """The run did not end in good order; the message ends with the trace's last lines."""


class DeadlockError(SimulationError):
    """Nothing is ready and no timer is set, but the run is not over: nobody will ever wake
    anybody."""


class OvertimeError(SimulationError):
    """The run took more virtual time than it may."""


class _NumberedTask(asyncio.Task[T]):
    """A task that hashes by its number. By default it would be its address in memory, so a set of
    tasks (as in a task group that cancels its members) would have another order in each process."""

    # Any: what asyncio's own class takes, and passes on unseen.
    def __init__(self, number: int, coroutine: Coroutine[Any, Any, T], **options: Any) -> None:
        self._number = number
        super().__init__(coroutine, **options)

    def __hash__(self) -> int:
        return self._number


class _NumberedFuture(asyncio.Future[Any]):  # Any: a loop makes futures of all types.
    """See `_NumberedTask`."""

    def __init__(self, number: int, loop: asyncio.AbstractEventLoop) -> None:
        self._number = number
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self._number


class _TimeSelector:
    """What the loop asks to wait for events: it moves the time instead."""

    def __init__(self, limit_s: float) -> None:
        self.now_s = 0.0
        self.limit_s = limit_s

    def select(self, timeout: float | None) -> list[object]:
        if timeout is None:
            raise DeadlockError("nothing is left to do, and no timer is set")
        self.now_s += timeout
        if self.now_s > self.limit_s:
            raise OvertimeError(f"not over after {self.limit_s:.0f} s of virtual time")
        return []


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop whose time begins at 0 and passes only while everything waits."""

    def __init__(self, limit_ms: int = DEFAULT_LIMIT_MS) -> None:
        super().__init__()
        self._numbers = 0
        # BaseEventLoop asks its subclass for this attribute and the three methods below.
        self._selector = self._time = _TimeSelector(limit_ms / 1000)
        # Sums of floats are not exact; timers count in milliseconds, so a microsecond early is due.
        self._clock_resolution = 1e-6
        self.set_task_factory(_make_task)

    def time(self) -> float:
        """Seconds since the loop began."""
        return self._time.now_s

    def lift_limit(self) -> None:
        """Let time go on, for the tasks that wind up after an overtime."""
        self._time.limit_s = math.inf

    def next_number(self) -> int:
        """Counts what the loop makes."""
        self._numbers += 1
        return self._numbers

    def create_future(self) -> asyncio.Future[Any]:  # Any: as asyncio's own.
        """See `asyncio`."""
        return _NumberedFuture(self.next_number(), self)

    def _process_events(self, event_list: list[object]) -> None:
        assert not event_list

    def _write_to_self(self) -> None:
        raise RuntimeError("a simulation has one thread: use the ports' twins")


def _make_task(
    loop: asyncio.AbstractEventLoop,
    # The type that asyncio gives to a task factory's argument.
    coroutine: Coroutine[Any, Any, T] | Generator[Any, None, T],
    context: Context | None = None,
) -> asyncio.Task[T]:
    assert isinstance(loop, VirtualLoop)
    assert isinstance(coroutine, Coroutine)
    number = loop.next_number()
    return _NumberedTask(number, coroutine, loop=loop, name=f"task-{number}", context=context)


class Trace:
    """What happened, one line each: `12.345 n1 > n2 40 bytes`."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._started_ms = clock.now_ms()
        self.lines: list[str] = []

    def add(self, text: str) -> None:
        """Note it, under the time now in seconds since the run began."""
        passed_ms = self._clock.now_ms() - self._started_ms
        self.lines.append(f"{passed_ms / 1000:.3f} {text}")

    @property
    def digest(self) -> str:
        """A short text that is equal for equal traces."""
        return hashlib.sha256("\n".join(self.lines).encode()).hexdigest()[:16]

    def tail(self, count: int = 20) -> str:
        """The last lines."""
        return "\n".join(self.lines[-count:])


class Simulation:
    """The world of one run: all ports, made from one seed."""

    def __init__(self, loop: VirtualLoop, seed: int, start_ms: TimestampMs) -> None:
        self.seed = seed
        self.clock = VirtualClock(loop, start_ms)
        self.trace = Trace(self.clock)
        self.entropy = SeededEntropy(seed)
        self.workers = InlineWorkers()
        # A source of its own: what the weather does must not depend on how many ids a broker draws.
        self.weather = Weather(SeededEntropy(seed ^ 0x5EED))
        self.network = MemoryNetwork(self.clock, self.weather, observe=self.trace.add)
        self.is_over = False
        """What still runs is cancelled, and may fail."""

    async def sleep(self, ms: int) -> None:
        """Let virtual time pass."""
        await self.clock.wait_until(self.clock.now_ms() + ms)


def run(
    main: Callable[[Simulation], Awaitable[None]],
    seed: int,
    *,
    limit_ms: int = DEFAULT_LIMIT_MS,
    start_ms: int = START_MS,
) -> Trace:
    """Run `main` to its end, cancel what it left behind, and return the trace. `SimulationError`
    when it cannot end; what `main` raises is raised, with the seed and the trace's last lines as a
    note."""
    loop = VirtualLoop(limit_ms)
    simulation = Simulation(loop, seed, TimestampMs(start_ms))
    try:
        loop.run_until_complete(_as_coroutine(main(simulation)))
    except BaseException as error:
        error.add_note(f"seed {seed}; the trace ends:\n{simulation.trace.tail()}")
        # What fails because all is cancelled now says nothing beside it.
        loop.set_exception_handler(lambda loop, context: None)
        raise
    else:
        loop.set_exception_handler(lambda loop, context: _tell_late(seed, context))
    finally:
        simulation.is_over = True
        _wind_up(loop)
    return simulation.trace


def _tell_late(seed: int, context: dict[str, Any]) -> None:  # Any: as asyncio has it.
    """What nobody asked for, found as it is collected, at any moment after the run. In one line: a
    traceback's text is made by `ast`, and that fails if it was amid other work (gh-106905)."""
    _log.error(
        "after the run of seed %d: %s: %r", seed, context["message"], context.get("exception")
    )


async def _as_coroutine(awaitable: Awaitable[T]) -> T:
    return await awaitable


def _wind_up(loop: VirtualLoop) -> None:
    """Cancel all tasks, and let each of them end."""
    loop.lift_limit()
    tasks = sorted(asyncio.all_tasks(loop), key=hash)
    for task in tasks:
        task.cancel()
    try:
        if tasks:
            loop.run_until_complete(_ended(tasks))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


async def _ended(tasks: list[asyncio.Task[Any]]) -> None:  # Any: their results are not looked at.
    for task in tasks:
        await asyncio.wait([task])
