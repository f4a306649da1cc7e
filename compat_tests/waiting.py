"""How tests wait for what other processes come to in their own time: they look, now and then, for
longer than any machine takes that does much else."""

from __future__ import annotations

import time
from collections.abc import Callable

WITHIN_S = 90.0
LOOK_EVERY_S = 0.02


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """`AssertionError` when it does not come to pass: `what` was waited for."""
    until = time.monotonic() + WITHIN_S  # noqa: TID251  # Other processes have the real time.
    while not holds():
        assert time.monotonic() < until, f"waited in vain: {what}"  # noqa: TID251  # As above.
        time.sleep(LOOK_EVERY_S)  # noqa: TID251  # As above.
