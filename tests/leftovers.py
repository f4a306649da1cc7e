"""What a failed test has left behind is its own affair.

Its traceback keeps all that it had open, and pytest keeps its traceback until the next test runs:
then sockets that nobody closed are found, each warns, and a warning fails the test in which it
came, which has nothing to do with it.
"""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Around set-up, call and end of each test."""
    failed = item.session.testsfailed
    done = yield
    if item.session.testsfailed > failed:
        _close_what_it_left()
    return done


def _close_what_it_left() -> None:
    for name in ("last_exc", "last_type", "last_value", "last_traceback"):
        vars(sys).pop(name, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
