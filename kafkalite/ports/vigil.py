"""Keeps the event loop awake for a moment after bytes came, for more are likely to.

A loop that sleeps has to be woken: by the kernel, and on a virtual machine by its host too. That,
and what the caches lose meanwhile, costs a client that waits for each answer more than the
request itself; the numbers are in docs/decisions/0006-network.md. While the vigil lasts the loop
looks at all its sockets again and again; nobody is served later for it. Between two looks it gives
way to whatever else has to run on its core: often that is the client it waits for, whom the kernel
puts beside the one that woke it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from time import perf_counter_ns

STAY_AWAKE_US = 60
"""Some of a client's turns; the price is at most that much cpu for each request that came alone."""

# Windows has none.
_give_way: Callable[[], None] = getattr(os, "sched_yield", lambda: None)


class Vigil:
    """One for all sockets of a loop, whose `call_soon` it takes. Of no length it does nothing."""

    __slots__ = ("_call_soon", "_give_way", "_is_kept", "_length_ns", "_now_ns", "_until_ns")

    def __init__(
        self,
        call_soon: Callable[[Callable[[], None]], object],
        length_us: int,
        now_ns: Callable[[], int] = perf_counter_ns,
        give_way: Callable[[], None] = _give_way,
    ) -> None:
        self._call_soon = call_soon
        self._length_ns = length_us * 1000
        self._now_ns = now_ns
        self._give_way = give_way
        self._until_ns = 0
        self._is_kept = False

    def prolong(self) -> None:
        """Bytes came: stay awake from now on for the whole length."""
        if not self._length_ns:
            return
        self._until_ns = self._now_ns() + self._length_ns
        if not self._is_kept:
            self._is_kept = True
            self._call_soon(self._keep)

    def _keep(self) -> None:
        # A loop with a callback to run only looks at its sockets, and does not wait for them.
        if self._now_ns() < self._until_ns:
            self._give_way()
            self._call_soon(self._keep)
        else:
            self._is_kept = False
