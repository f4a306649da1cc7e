"""What a start does not wait for: the coordinators, and the APIs that nobody has asked for yet."""

from __future__ import annotations

import logging
from collections.abc import Callable

from kafkalite.errors import InvariantError
from kafkalite.ports.clock import Clock
from kafkalite.server.apis.table import APIS
from kafkalite.server.coordinators import Coordinators

_log = logging.getLogger(__name__)

LOAD_AFTER_MS = 20
"""From when on a broker listens: by then whoever started it knows."""
LOAD_AGAIN_MS = 1_000


def load_the_rest(
    coordinators: Coordinators, clock: Clock, *, fail: Callable[[InvariantError], None]
) -> None:
    """A bit at a time, from `LOAD_AFTER_MS` on: nobody waits for all of it. Again later when no
    file can be opened; a request that needs it tries by itself."""

    def load() -> None:
        try:
            coordinators.make(fail)
            if APIS.load_one_more():
                clock.call_at(clock.now_ms(), load)
        except OSError as error:
            _log.warning("part of the code cannot be loaded: %s", error)
            clock.call_at(clock.now_ms() + LOAD_AGAIN_MS, load)

    clock.call_at(clock.now_ms() + LOAD_AFTER_MS, load)
