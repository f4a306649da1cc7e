"""One contract for all clocks: the real one, the steerable one over a real loop, the virtual
loop's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import pytest

from kafkalite.ports.clock import Clock, RealClock
from kafkalite.testing.clock import SteerableClock, VirtualClock
from kafkalite.testing.faults import ProcessClock
from kafkalite.testing.simulation import Simulation, VirtualLoop
from kafkalite.testing.simulation import run as run_simulation
from kafkalite.types import TimestampMs

Pass = Callable[[int], Awaitable[None]]
"""Makes that many milliseconds pass."""
Body = Callable[[Clock, Pass], Coroutine[Any, Any, None]]


@dataclass(frozen=True)
class Kind:
    name: str
    run: Callable[[Body], None]


def _run_real(body: Body) -> None:
    async def main() -> None:
        clock = RealClock()
        await body(clock, lambda ms: clock.wait_until(clock.now_ms() + ms))

    asyncio.run(main())


def _run_uvloop(body: Body) -> None:
    import uvloop

    async def main() -> None:
        clock = RealClock()
        await body(clock, lambda ms: clock.wait_until(clock.now_ms() + ms))

    uvloop.run(main())


def _run_steerable(body: Body) -> None:
    async def main() -> None:
        clock = SteerableClock()

        async def let_pass(ms: int) -> None:
            clock.advance(ms)

        await body(clock, let_pass)

    asyncio.run(main())


def _run_flowing(body: Body) -> None:
    async def main() -> None:
        clock = SteerableClock(flowing=True)
        await body(clock, lambda ms: clock.wait_until(clock.now_ms() + ms))

    asyncio.run(main())


def _run_virtual(body: Body) -> None:
    loop = VirtualLoop()
    clock = VirtualClock(loop)
    try:
        loop.run_until_complete(body(clock, lambda ms: clock.wait_until(clock.now_ms() + ms)))
    finally:
        loop.close()


def _run_process(body: Body) -> None:
    async def main(simulation: Simulation) -> None:
        clock = ProcessClock(simulation.clock)
        clock.jump(-10_000)
        await body(clock, lambda ms: clock.wait_until(clock.now_ms() + ms))

    run_simulation(main, seed=1)


KINDS = [
    Kind("real", _run_real),
    Kind("steerable", _run_steerable),
    Kind("flowing", _run_flowing),
    Kind("virtual", _run_virtual),
    Kind("process", _run_process),
]
if find_spec("uvloop"):
    KINDS.append(Kind("uvloop", _run_uvloop))


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def run(request: pytest.FixtureRequest) -> Callable[[Body], None]:
    kind = request.param
    assert isinstance(kind, Kind)
    return kind.run


Run = Callable[[Body], None]


def test_time_passes(run: Run) -> None:
    async def body(clock: Clock, let_pass: Pass) -> None:
        start_ms = clock.now_ms()
        await let_pass(3)
        assert start_ms + 3 <= clock.now_ms() < start_ms + 10_000

    run(body)


def test_timers_run_at_their_time_in_the_order_of_their_times(run: Run) -> None:
    async def body(clock: Clock, let_pass: Pass) -> None:
        start_ms = clock.now_ms()
        ran: list[tuple[str, bool]] = []

        def note(name: str, at_ms: int) -> Callable[[], None]:
            return lambda: ran.append((name, clock.now_ms() >= at_ms))

        for name, after_ms in (("third", 9), ("first", 2), ("second", 5)):
            clock.call_at(start_ms + after_ms, note(name, start_ms + after_ms))
        assert ran == []
        await let_pass(15)
        assert ran == [("first", True), ("second", True), ("third", True)]

    run(body)


def test_a_time_that_has_passed_means_soon_but_not_now(run: Run) -> None:
    async def body(clock: Clock, let_pass: Pass) -> None:
        ran = asyncio.Event()
        clock.call_at(clock.now_ms() - 1000, ran.set)
        assert not ran.is_set()
        await ran.wait()

    run(body)


def test_a_cancelled_timer_does_not_run(run: Run) -> None:
    async def body(clock: Clock, let_pass: Pass) -> None:
        ran: list[str] = []
        future = clock.call_at(clock.now_ms() + 2, lambda: ran.append("future"))
        soon = clock.call_at(clock.now_ms(), lambda: ran.append("soon"))
        kept = clock.call_at(clock.now_ms() + 3, lambda: ran.append("kept"))
        future.cancel()
        future.cancel()
        soon.cancel()
        await let_pass(10)
        assert ran == ["kept"]
        kept.cancel()

    run(body)


def test_a_timer_may_set_the_next(run: Run) -> None:
    async def body(clock: Clock, let_pass: Pass) -> None:
        start_ms = clock.now_ms()
        ran: list[int] = []

        def tick() -> None:
            ran.append(clock.now_ms() - start_ms)
            if len(ran) < 3:
                clock.call_at(start_ms + 2 * (len(ran) + 1), tick)

        clock.call_at(start_ms + 2, tick)
        while len(ran) < 3:  # A busy machine may be late for the first one, and then all the more.
            await let_pass(20)
        assert all(passed >= expected for passed, expected in zip(ran, (2, 4, 6), strict=True))

    run(body)


def test_wait_returns_what_comes_in_time(run: Run) -> None:
    async def body(clock: Clock, let_pass: Pass) -> None:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        clock.call_at(clock.now_ms(), lambda: future.set_result("in time"))
        assert await clock.wait(future, clock.now_ms() + 60_000) == "in time"

    run(body)


def test_wait_returns_what_is_done_however_late(run: Run) -> None:
    async def body(clock: Clock, let_pass: Pass) -> None:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        future.set_result("done")
        assert await clock.wait(future, clock.now_ms() - 1) == "done"

    run(body)


def test_wait_gives_up_when_the_time_comes(run: Run) -> None:
    async def body(clock: Clock, let_pass: Pass) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def impatient() -> str:
            try:
                await clock.wait(future, clock.now_ms() + 5)
            except TimeoutError:
                return "gave up"
            return "waited"

        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(impatient())
            began = asyncio.Event()
            asyncio.get_running_loop().call_soon(began.set)
            await began.wait()
            await let_pass(5)
        assert waiting.result() == "gave up"
        assert future.cancelled()

    run(body)


def test_cancelling_a_wait_is_no_timeout(run: Run) -> None:
    async def body(clock: Clock, let_pass: Pass) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        loop = asyncio.get_running_loop()
        task = loop.create_task(clock.wait(future, clock.now_ms() + 60_000))
        loop.call_soon(task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task

    run(body)


def test_wait_until_in_the_past_returns(run: Run) -> None:
    async def body(clock: Clock, let_pass: Pass) -> None:
        await clock.wait_until(clock.now_ms() - 1)

    run(body)


class SlowClock(RealClock):
    """The wall time that the test says, at each look the next; the last one stays."""

    def __init__(self, *times_ms: int) -> None:
        self.times_ms = list(times_ms)

    def now_ms(self) -> TimestampMs:
        now_ms = self.times_ms.pop(0) if len(self.times_ms) > 1 else self.times_ms[0]
        return TimestampMs(now_ms)


@pytest.mark.parametrize(
    ("times_ms", "left"),
    [
        # Set at 5000 for 5001; at its coming the wall clock shows the second time.
        ((5_000, 5_001, 9_999), [9_999]),
        ((5_000, 4_998, 5_001, 9_999), [9_999]),
        ((5_000, 4_998, 4_999, 5_001, 9_999), [9_999]),
        ((5_000, 4_000, 9_998, 9_999), [9_998, 9_999]),
    ],
)
def test_a_timer_waits_for_a_wall_clock_that_goes_slow_and_not_for_one_that_was_set_back(
    times_ms: tuple[int, ...], left: list[int]
) -> None:
    async def main() -> None:
        clock = SlowClock(*times_ms)
        fired = asyncio.Event()
        clock.call_at(5_001, fired.set)
        await fired.wait()
        assert clock.times_ms == left

    asyncio.run(main())
