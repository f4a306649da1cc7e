"""Tells people when the broker is lost: kafka-python waits for a lost one for ever, and says
nothing of it."""

from __future__ import annotations

import sys
from collections.abc import Callable

_LOOKS_PATIENTLY = 6
"""So many in a row without a connection. That is about 3 s: a broker that is started again within
that time is not worth a line."""


class LostBroker:
    """Whoever waits looks here, every half a second or so."""

    def __init__(
        self,
        bootstrap: str,
        has_connection: Callable[[], bool],
        is_there: Callable[[], bool] = lambda: False,
    ) -> None:
        """`bootstrap` names the broker to people. `has_connection`: to any broker of the cluster.
        `is_there`, which may take long, is asked before a loss is told: the last connection may
        have been closed because nobody used it."""
        self._bootstrap = bootstrap
        self._has_connection = has_connection
        self._is_there = is_there
        self._looks = 0

    def look(self) -> None:
        """One line for each time that it is lost."""
        if self._has_connection():
            self._looks = 0
            return
        self._looks += 1
        if self._looks % _LOOKS_PATIENTLY:
            return
        if self._is_there():
            self._looks = 0
        elif self._looks == _LOOKS_PATIENTLY:
            print(
                f"kafkalite: lost the broker at {self._bootstrap}; waiting for it",
                file=sys.stderr,
                flush=True,
            )
