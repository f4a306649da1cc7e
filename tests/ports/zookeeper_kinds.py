"""What the contract of the ZooKeeper port runs over: an ensemble, and hands that steer it."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Protocol, TypeVar

from kafkalite.ports.zookeeper import ZooKeeper
from kafkalite.ports.zookeeper_memory import MemoryZooKeeper

T = TypeVar("T")
WITHIN_S = 15.0


class Turns:
    """A loop of a test's own: what is delivered from anywhere runs in `until`, which waits so long
    for the next thing."""

    def __init__(self, within_s: float = WITHIN_S) -> None:
        self._within_s = within_s
        self._due: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()

    def deliver(self, callback: Callable[[], None]) -> None:
        self._due.put(callback)

    def drain(self) -> None:
        """All that is there now, and what comes of it at once."""
        while not self._due.empty():
            self._due.get_nowait()()

    def some(self, count: int) -> None:
        """So many of what is there, and comes of it."""
        for _ in range(count):
            if not self._due.empty():
                self._due.get_nowait()()

    def until(self, condition: Callable[[], bool]) -> None:
        """Run what comes until the condition holds; `queue.Empty` when nothing comes for long."""
        self.drain()
        while not condition():
            self._due.get(timeout=self._within_s)()


class Bench(Protocol):
    """An ensemble, empty at first."""

    @property
    def turns(self) -> Turns: ...

    @property
    def zookeeper(self) -> ZooKeeper: ...

    def expire(self, id: int) -> None: ...


class MemoryBench:
    """The twin. Whatever is to come has come when nothing is due: waiting is an error."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.zookeeper = MemoryZooKeeper(self.turns.deliver)

    def expire(self, id: int) -> None:
        self.zookeeper.expire(id)
