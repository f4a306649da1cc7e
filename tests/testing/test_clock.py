"""What only the steerable clock has: a test that moves it, from any thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from kafkalite.testing.clock import START_MS, SteerableClock


def test_frozen_time_stands_still() -> None:
    clock = SteerableClock()
    assert clock.now_ms() == START_MS
    clock.advance(1500)
    assert clock.now_ms() == START_MS + 1500
    assert SteerableClock(7).now_ms() == 7


def test_time_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="back"):
        SteerableClock().advance(-1)


def test_timers_have_run_when_advance_returns_each_at_its_own_time() -> None:
    async def main() -> None:
        clock = SteerableClock(0)
        seen: list[tuple[str, int]] = []

        def note(name: str) -> Callable[[], None]:
            return lambda: seen.append((name, clock.now_ms()))

        def chain() -> None:
            note("chain")()
            clock.call_at(clock.now_ms() + 10, note("link"))

        clock.call_at(30, note("late"))
        clock.call_at(20, chain)
        clock.call_at(101, note("not yet"))
        clock.advance(100)
        assert seen == [("chain", 20), ("late", 30), ("link", 30)]
        assert clock.now_ms() == 100

    asyncio.run(main())


def test_another_thread_moves_the_time_of_a_running_loop() -> None:
    clock = SteerableClock(0)
    waiting = threading.Event()
    ran_on: list[int] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        done = asyncio.Event()

        def ten_minutes_later() -> None:
            ran_on.append(threading.get_ident())
            done.set()

        clock.call_at(600_000, ten_minutes_later)
        loop.call_soon(waiting.set)
        await done.wait()

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    assert waiting.wait(10)
    clock.advance(599_999)
    assert ran_on == []
    clock.advance(1)
    assert ran_on == [thread.ident]
    assert clock.now_ms() == 600_000
    thread.join()


def test_the_time_can_be_moved_after_the_loop_has_ended() -> None:
    clock = SteerableClock(0)
    ran: list[str] = []

    async def first() -> None:
        clock.call_at(10**9, lambda: ran.append("never"))

    async def second() -> None:
        await clock.wait_until(clock.now_ms() - 1)

    asyncio.run(first())
    clock.advance(5)
    assert clock.now_ms() == 5
    asyncio.run(second())
    assert ran == []


def test_a_blocked_loop_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkalite.testing.clock._HANDOVER_S", 0.01)
    clock = SteerableClock(0)
    blocked, go = threading.Event(), threading.Event()

    async def main() -> None:
        clock.call_at(1, lambda: None)
        blocked.set()
        go.wait(10)

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    assert blocked.wait(10)
    with pytest.raises(TimeoutError, match="blocked"):
        clock.advance(1)
    go.set()
    thread.join()


def test_time_flows_and_freezes_when_told_to() -> None:
    async def main() -> None:
        clock = SteerableClock(0)
        clock.flow()
        await clock.wait_until(3)
        clock.freeze()
        frozen_ms = clock.now_ms()
        assert frozen_ms >= 3
        ran: list[str] = []
        clock.call_at(frozen_ms + 1, lambda: ran.append("timer"))
        real = asyncio.Event()
        asyncio.get_running_loop().call_later(0.01, real.set)
        await real.wait()
        assert ran == []
        assert clock.now_ms() == frozen_ms
        clock.advance(1)
        assert ran == ["timer"]
        clock.flow()
        clock.advance(5_000)
        assert clock.now_ms() >= frozen_ms + 5_001
        await clock.wait_until(frozen_ms + 5_005)

    asyncio.run(main())
