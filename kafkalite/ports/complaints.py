"""Tells of connections that are closed for what their peers say: the first ones in full, and of a
flood of them, as of a port scanner or a client that tries again without a pause, how many."""

from __future__ import annotations

import logging

from kafkalite.ports.clock import Clock, Timer
from kafkalite.ports.network import Address

_logger = logging.getLogger(__name__)

IN_FULL = 20
"""So many lines, until there was nothing to tell for as long as `EVERY_MS`."""
EVERY_MS = 60_000


class Complaints:
    """Those of all listeners of a broker. On the thread of the running loop."""

    __slots__ = ("_clock", "_in_full", "_last", "_more", "_timer")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._in_full = 0
        self._more = 0
        self._last = ""
        self._timer: Timer | None = None
        """There is one while something was told less than `EVERY_MS` ago."""

    def closing(self, peer: Address, why: object) -> None:
        """A connection is closed, or about to be."""
        if self._timer is None:
            self._timer = self._clock.call_at(self._clock.now_ms() + EVERY_MS, self._sum_up)
        if self._in_full < IN_FULL:
            self._in_full += 1
            _logger.warning("%s: closing the connection: %s", peer, why)
        else:
            self._more += 1
            self._last = f"{peer}: {why}"

    def stop(self) -> None:
        """Tell what was only counted so far."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._tell_more()

    def _sum_up(self) -> None:
        self._timer = None
        if self._more:
            self._tell_more()
            self._timer = self._clock.call_at(self._clock.now_ms() + EVERY_MS, self._sum_up)
        else:
            self._in_full = 0

    def _tell_more(self) -> None:
        if self._more:
            _logger.warning("closed %d more connections, the last %s", self._more, self._last)
            self._more = 0
