"""Says how far a start is that opens many partitions, once a second."""

from __future__ import annotations

import logging

from kafkalite.ports.clock import Clock

_log = logging.getLogger(__name__)

INTERVAL_MS = 1_000


class OpeningProgress:
    """From a start until all partitions that were there before are open."""

    def __init__(self, clock: Clock, total: int) -> None:
        self._clock = clock
        self._total = total
        self._began_ms = self._told_ms = clock.now_ms()

    def left(self, count: int) -> None:
        """So many are still to be opened. Nothing is said of a start that takes a moment."""
        now = self._clock.now_ms()
        if not count and self._told_ms > self._began_ms:
            _log.info("all %d partitions are open after %d ms", self._total, now - self._began_ms)
        elif count and now - self._told_ms >= INTERVAL_MS:
            self._told_ms = now
            _log.info("%d of %d partitions are open", self._total - count, self._total)
