"""Ctrl-C while a library holds its locks."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """What would raise `KeyboardInterrupt` in the body raises it at its end; a second one at once,
    so the body should be short.

    Python raises it between any two steps, such as those in which `threading.Condition` takes its
    lock and begins to guard it. Nobody gives that lock back: kafka-python's thread, which then
    waits for it, never ends, and whoever closes the client waits for the thread.
    """
    raising = [each for each in _SIGNALS if signal.getsignal(each) is signal.default_int_handler]
    came = False

    def note(number: int, frame: object) -> None:
        nonlocal came
        if came:
            raise KeyboardInterrupt
        came = True

    for each in raising:
        signal.signal(each, note)
    try:
        yield
    finally:
        for each in raising:
            signal.signal(each, signal.default_int_handler)
    if came:
        raise KeyboardInterrupt
