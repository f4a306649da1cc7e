"""One contract for all workers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest

from kafkalite.ports.workers import InlineWorkers, ThreadWorkers, Workers


@pytest.fixture(params=[ThreadWorkers, InlineWorkers])
def workers(request: pytest.FixtureRequest) -> Iterator[Workers]:
    make: Callable[[], Workers] = request.param
    made = make()
    yield made
    made.close()


def test_run_returns_the_result(workers: Workers) -> None:
    assert asyncio.run(workers.run(divmod, 17, 5)) == (3, 2)


def test_run_raises_what_the_function_raises(workers: Workers) -> None:
    def fail() -> None:
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        asyncio.run(workers.run(fail))


def test_several_runs_at_once_each_get_their_own(workers: Workers) -> None:
    async def main() -> list[int]:
        return await asyncio.gather(*(workers.run(pow, number, 2) for number in range(20)))

    assert asyncio.run(main()) == [number**2 for number in range(20)]


def test_closed_workers_refuse(workers: Workers) -> None:
    asyncio.run(workers.run(abs, -1))
    workers.close()
    workers.close()
    with pytest.raises(RuntimeError, match="closed"):
        asyncio.run(workers.run(abs, -1))


def test_steps_of_chains_are_taken_in_order(workers: Workers) -> None:
    taken: list[str] = []

    def chain(name: str) -> Iterator[None]:
        for number in range(3):
            taken.append(f"{name}{number}")
            yield

    assert list(workers.side_by_side([])) == []
    assert len(list(workers.side_by_side([chain("a")]))) == 3
    assert taken == ["a0", "a1", "a2"]
    assert len(list(workers.side_by_side([chain("b"), chain("c")]))) == 6
    assert [each for each in taken if each[0] == "b"] == ["b0", "b1", "b2"]
    assert [each for each in taken if each[0] == "c"] == ["c0", "c1", "c2"]


def test_a_chain_that_fails_says_so(workers: Workers) -> None:
    def fail() -> Iterator[None]:
        yield
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        list(workers.side_by_side([fail(), iter([None])]))


def test_threads_take_chains_side_by_side() -> None:
    both = threading.Barrier(2)

    def chain() -> Iterator[None]:
        for _ in range(3):
            both.wait(10)  # For the other one's step.
            yield

    assert len(list(ThreadWorkers().side_by_side([chain(), chain()]))) == 6


def test_threads_leave_the_loop_free() -> None:
    async def main() -> None:
        workers = ThreadWorkers()
        go = threading.Event()

        def block() -> str:
            return threading.current_thread().name if go.wait(10) else "never"

        async with asyncio.TaskGroup() as group:
            blocked = group.create_task(workers.run(block))
            asyncio.get_running_loop().call_later(0.001, go.set)
        assert blocked.result().startswith("kafkalite-worker")
        workers.close()

    asyncio.run(main())


def test_inline_workers_have_no_thread() -> None:
    workers = InlineWorkers()
    assert asyncio.run(workers.run(threading.get_ident)) == threading.get_ident()


def test_closing_waits_for_what_is_under_way() -> None:
    """The folder that it works on is let go of next."""

    async def main() -> None:
        workers = ThreadWorkers()
        begun, go, ended = threading.Event(), threading.Event(), threading.Event()

        def work() -> None:
            begun.set()
            go.wait(10)
            ended.set()

        async with asyncio.TaskGroup() as group:
            group.create_task(workers.run(work))
            while not begun.is_set():
                await workers.run(abs, 1)
            timer = threading.Timer(0.01, go.set)
            timer.start()
            workers.close()
            assert ended.is_set()
            timer.join()

    asyncio.run(main())
