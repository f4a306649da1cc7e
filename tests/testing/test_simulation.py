"""The virtual-time loop: time that costs nothing, ends that are told, traces that repeat."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from kafkalite.testing.clock import START_MS
from kafkalite.testing.simulation import (
    DeadlockError,
    OvertimeError,
    Simulation,
    VirtualLoop,
    run,
)

TOY = Path(__file__).with_name("toy_simulation.py")


def test_a_day_takes_no_time() -> None:
    async def main(simulation: Simulation) -> None:
        simulation.trace.add("began")
        await simulation.sleep(23 * 3_600_000 + 1)
        simulation.trace.add("ended")

    assert run(main, seed=1).lines == ["0.000 began", "82800.001 ended"]


def test_time_begins_where_it_is_told_to() -> None:
    seen: list[int] = []

    async def main(simulation: Simulation) -> None:
        seen.append(simulation.clock.now_ms())

    run(main, seed=1)
    run(main, seed=1, start_ms=5)
    assert seen == [START_MS, 5]


def test_each_of_a_million_milliseconds_is_met_exactly() -> None:
    async def main(simulation: Simulation) -> None:
        for step_ms in (1, 7, 333_333, 999, 100_003, 1) * 20:
            before_ms = simulation.clock.now_ms()
            await simulation.sleep(step_ms)
            assert simulation.clock.now_ms() == before_ms + step_ms

    run(main, seed=1)


def test_a_deadlock_is_told_with_seed_and_trace() -> None:
    async def main(simulation: Simulation) -> None:
        simulation.trace.add("waiting for ever")
        await asyncio.get_running_loop().create_future()

    with pytest.raises(DeadlockError) as caught:
        run(main, seed=42)
    (note,) = caught.value.__notes__
    assert "seed 42" in note
    assert "waiting for ever" in note


def test_a_run_without_end_is_told() -> None:
    async def main(simulation: Simulation) -> None:
        while True:
            await simulation.sleep(100)

    with pytest.raises(OvertimeError, match="10 s of virtual time"):
        run(main, seed=1, limit_ms=10_000)


def test_what_main_raises_is_raised() -> None:
    async def main(simulation: Simulation) -> None:
        raise KeyError("lost")

    with pytest.raises(KeyError) as caught:
        run(main, seed=9)
    assert "seed 9" in caught.value.__notes__[0]


def test_tasks_left_behind_are_cancelled_in_the_order_of_their_making() -> None:
    ended: list[int] = []
    kept: list[asyncio.Task[None]] = []

    async def wait(number: int) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append(number)

    async def main(simulation: Simulation) -> None:
        kept.extend(asyncio.get_running_loop().create_task(wait(number)) for number in range(20))
        await simulation.sleep(1)

    run(main, seed=1)
    assert ended == list(range(20))
    assert all(task.cancelled() for task in kept)


def test_a_task_group_cancels_in_the_order_of_making() -> None:
    ended: list[int] = []

    async def wait(number: int) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append(number)

    async def fail() -> None:
        raise KeyError

    async def main(simulation: Simulation) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(50):
                group.create_task(wait(number))
            group.create_task(fail())

    with pytest.raises(ExceptionGroup):
        run(main, seed=1)
    assert ended == list(range(50))


def test_what_nobody_asked_for_is_told_in_one_line_after_the_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kept: list[asyncio.Future[None]] = []

    async def main(simulation: Simulation) -> None:
        kept.append(asyncio.get_running_loop().create_future())
        kept[0].set_exception(ValueError("lost"))

    run(main, seed=1)
    kept.clear()
    (record,) = caplog.records
    assert record.getMessage().endswith("exception was never retrieved: ValueError('lost')")
    assert record.exc_info is None


def test_threads_are_refused() -> None:
    async def main(simulation: Simulation) -> None:
        asyncio.get_running_loop().call_soon_threadsafe(lambda: None)

    with pytest.raises(RuntimeError, match="one thread"):
        run(main, seed=1)


def test_workers_run_inline() -> None:
    async def main(simulation: Simulation) -> None:
        assert await simulation.workers.run(pow, 2, 10) == 1024

    run(main, seed=1)


def test_the_loop_has_no_sockets() -> None:
    loop = VirtualLoop()
    with pytest.raises(NotImplementedError):
        loop.add_reader(0, lambda: None)
    loop.close()


def _trace_in_a_process(hash_seed: str, seed: int) -> str:
    done = subprocess.run(
        [sys.executable, str(TOY), str(seed)],
        env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(TOY.parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


def test_the_same_seed_gives_the_same_trace_in_any_process() -> None:
    one, same, other = (
        _trace_in_a_process("1", 7),
        _trace_in_a_process("12345", 7),
        _trace_in_a_process("1", 8),
    )
    assert one == same
    assert one != other
    assert len(one.splitlines()) > 100
    for kind in ("opened", "bytes", "reset", "refused", "partition", "healed", "crash"):
        assert kind in one, f"the toy exercises no {kind}"
