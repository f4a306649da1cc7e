"""What a start does not wait for: the coordinators, the APIs that nobody has asked for yet, and the
rules of what the controller is asked, and of consumer groups."""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib import import_module

from kafkalite.errors import InvariantError
from kafkalite.ports.clock import Clock
from kafkalite.server.apis.table import APIS
from kafkalite.server.coordinators import Coordinators

_log = logging.getLogger(__name__)

LOAD_AFTER_MS = 20
"""From when on a broker listens: by then whoever started it knows."""
LOAD_AGAIN_MS = 1_000
CONTROLLER_RULES = "kafkalite.controller.requests"
CONSUMER_RULES = "kafkalite.coordinator.groups.consumer.coordination"
"""The cores load them with the first request, and with the first consumer group: a client would
wait for it."""


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
            else:
                import_module(CONTROLLER_RULES)
                import_module(CONSUMER_RULES)
        except OSError as error:
            _log.warning("part of the code cannot be loaded: %s", error)
            clock.call_at(clock.now_ms() + LOAD_AGAIN_MS, load)

    clock.call_at(clock.now_ms() + LOAD_AFTER_MS, load)
