"""A command may set the handlers of signals and leave them, for its process ends with it: that of
the tests goes on."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

_STOPS = (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))


@pytest.fixture(autouse=True)
def handlers_as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in _STOPS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
