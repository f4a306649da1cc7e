"""Tells of what may come very often: the first ones in full, and of a flood of them how many. So of
connections that are closed for what their peers say, as of a port scanner or a client that tries
again without a pause."""

from __future__ import annotations

import logging

from kafkalite.ports.clock import Clock, Timer
from kafkalite.ports.network import Address

_logger = logging.getLogger(__name__)

IN_FULL = 20
"""So many lines, until there was nothing to tell for as long as `EVERY_MS`."""
EVERY_MS = 60_000
_LONGEST = 1_000
"""Characters of a reason; a peer's part in it may be half a megabyte."""


class Flood:
    """Lines that may come very often, each of which says much the same. On the loop's thread."""

    __slots__ = ("_clock", "_in_full", "_last", "_log", "_more", "_most", "_sum", "_timer")

    def __init__(self, clock: Clock, log: logging.Logger, summary: str, *, in_full: int) -> None:
        """`summary` takes the number of those that were only counted, and the last one."""
        self._clock = clock
        self._log = log
        self._sum = summary
        self._most = in_full
        self._in_full = 0
        self._more = 0
        self._last = ""
        self._timer: Timer | None = None
        """There is one while something was told less than `EVERY_MS` ago."""

    def tell(self, text: str, brief: str) -> None:
        """As a warning; `brief` in a summary."""
        if self._timer is None:
            self._timer = self._clock.call_at(self._clock.now_ms() + EVERY_MS, self._sum_up)
        if self._in_full < self._most:
            self._in_full += 1
            self._log.warning("%s", text)
        else:
            self._more += 1
            self._last = brief

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
            self._log.warning(self._sum, self._more, self._last)
            self._more = 0


class Complaints:
    """Those of all listeners of a broker."""

    __slots__ = ("_flood", "stop")

    def __init__(self, clock: Clock) -> None:
        self._flood = Flood(
            clock, _logger, "closed %d more connections, the last %s", in_full=IN_FULL
        )
        self.stop = self._flood.stop

    def closing(self, peer: Address, why: object) -> None:
        """A connection is closed, or about to be. `why` may have in it what the peer says, whoever
        that is: it makes no lines of its own, and no long ones."""
        text = str(why)[:_LONGEST]
        if not text.isprintable():
            text = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
        self._flood.tell(f"{peer}: closing the connection: {text}", f"{peer}: {text}")
