"""How a test ends whose time is up: at once, and whatever it is doing.

pytest-timeout lets the test fail by an exception of pytest's, once. Hypothesis takes that for a
failure of the example, and for minutes looks for a smaller one, with no time limit any more; an
event loop that happens to run a callback logs it and goes on. Here it is an exception that neither
takes for theirs, and it comes again if it was swallowed.
"""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

import pytest
import pytest_timeout


class TimeIsUp(BaseException):
    """Of the test that runs."""


@pytest.hookimpl
def pytest_timeout_set_timer(
    item: pytest.Item,
    settings: Any,  # pytest-timeout has no types.
) -> bool | None:
    """For `pytest_timeout`, in whose stead this sets the timer; None where it is to do so."""
    if settings.method != "signal":
        return None

    def alarm(_signal: int, _frame: FrameType | None) -> None:
        try:
            pytest_timeout.timeout_sigalrm(item, settings)
        except pytest.fail.Exception as failure:
            raise TimeIsUp(str(failure)) from None

    def cancel() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    item.cancel_timeout = cancel  # type: ignore[attr-defined]  # Where pytest-timeout looks for it.
    signal.signal(signal.SIGALRM, alarm)
    signal.setitimer(signal.ITIMER_REAL, settings.timeout, settings.timeout)
    return True
