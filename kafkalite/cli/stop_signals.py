"""The signals at which a command that serves comes to its end, in good order."""

from __future__ import annotations

import asyncio
import signal

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
"""Ctrl-C, `kill` and a terminal that closes."""


def event_of_stop_signals() -> asyncio.Event:
    """Set by any of them, from now on."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for name in _NAMES:
        number = getattr(signal, name, None)
        if number is None:  # Windows has no terminals that close.
            continue
        try:
            loop.add_signal_handler(number, stopped.set)
        except NotImplementedError:  # Windows has no such loop.
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stopped.set))
    return stopped
