"""The Workers port: where blocking work goes (fsync, compaction, recovery, ZooKeeper), off the
event loop.

What is handed over must not be touched by the loop until `run` returns: closed, immutable segments.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Protocol, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

DEFAULT_THREADS = 16
"""Most of what they do is to wait for the disk, which writes in one go what several wait for."""


class Workers(Protocol):
    """A place to block."""

    async def run(self, function: Callable[[*Ts], T], *args: *Ts) -> T:
        """What `function(*args)` returns or raises. Cancelling the wait leaves the function
        running."""
        ...

    def side_by_side(self, chains: Sequence[Iterable[None]]) -> Iterator[None]:
        """Take all steps of all `chains`, those of each in order, and yield after each step: for a
        start, which has to wait for all of it, event loop included. What a chain raises ends it,
        and comes when the others have ended."""
        ...

    def close(self) -> None:
        """Return when all that was begun has ended. May be called twice."""
        ...


class ThreadWorkers(Workers):
    """Threads, made when first needed: a broker that never blocks has none."""

    def __init__(self, threads: int = DEFAULT_THREADS) -> None:
        self._threads = threads
        self._pool: Executor | None = None
        self._closed = False

    async def run(self, function: Callable[[*Ts], T], *args: *Ts) -> T:
        """See `Workers`."""
        if self._closed:
            raise RuntimeError("the workers are closed")
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="kafkalite-worker")
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *args)

    def side_by_side(self, chains: Sequence[Iterable[None]]) -> Iterator[None]:
        """See `Workers`."""
        if len(chains) < 2:
            for chain in chains:
                yield from chain
            return
        steps: SimpleQueue[bool] = SimpleQueue()

        def take(chain: Iterable[None]) -> None:
            try:
                for _ in chain:
                    steps.put(True)
            finally:
                steps.put(False)

        with ThreadPoolExecutor(min(len(chains), self._threads)) as pool:
            taken = [pool.submit(take, chain) for chain in chains]
            left = len(chains)
            while left:
                if steps.get():
                    yield
                else:
                    left -= 1
        for each in taken:
            each.result()

    def close(self) -> None:
        """See `Workers`."""
        self._closed = True
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


class InlineWorkers(Workers):
    """The twin: runs the work where it is asked for, so that a simulation stays one sequence of
    steps."""

    def __init__(self) -> None:
        self._closed = False

    async def run(self, function: Callable[[*Ts], T], *args: *Ts) -> T:
        """See `Workers`."""
        if self._closed:
            raise RuntimeError("the workers are closed")
        return function(*args)

    def side_by_side(self, chains: Sequence[Iterable[None]]) -> Iterator[None]:
        """See `Workers`."""
        for chain in chains:
            yield from chain

    def close(self) -> None:
        """See `Workers`."""
        self._closed = True
