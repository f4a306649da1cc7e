"""Ctrl-C while a command is still imported: the process ends at once, quietly.

A `KeyboardInterrupt` amid an import is a traceback, or nothing at all: what imports calls back
(`importlib._bootstrap._get_module_lock`) ignores it, and the command would go on. Nothing is open
yet that would have to be closed. This module itself imports as little as can be.
"""

from __future__ import annotations

import os
import signal

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C has stopped."""


def end_at_once_upon_interrupts() -> None:
    """From now on, until somebody else takes the signal, or it raises again. Where it is ignored,
    as under `nohup`, it stays so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def raise_upon_interrupts() -> bool:
    """`KeyboardInterrupt`, as without the above. Whether that had been called."""
    if signal.getsignal(signal.SIGINT) is not _end:
        return False
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return True


def _end(number: int, frame: object) -> None:
    os._exit(INTERRUPTED)
