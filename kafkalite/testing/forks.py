"""What a process that has brokers in it does when it forks: their loops rest meanwhile.

A fork has all of the memory, and of the threads only the one that forked. What another was amid is
never ended there: a module that a broker was importing, of which it loads many when it is first
asked for them, stays half of one, and every broker of the fork fails on it. Between two callbacks
of a loop nothing is half done.
"""

from __future__ import annotations

import asyncio
import os
import threading
from asyncio import AbstractEventLoop
from concurrent.futures import Future
from typing import Final

_PATIENCE_S = 1.0
"""How long a fork waits for a loop that does not come to rest, as one whose callback waits for what
the forking thread holds. Then it forks."""
_LOOK_AGAIN_S = 0.05
"""How soon a fork sees that a loop has ended instead."""

_running: Final[dict[AbstractEventLoop, Future[None]]] = {}
_forking: Final = threading.local()
"""`done`: an event of the thread that forks, upon which the loops go on."""


def rest_while_forking(loop: AbstractEventLoop, ended: Future[None]) -> None:
    """Let a loop, which runs on a thread of its own, be between two callbacks whenever the process
    forks, until `ended` tells. Its own callbacks may fork, too."""
    _running[loop] = ended
    ended.add_done_callback(lambda _: _running.pop(loop, None))


def _rest() -> None:
    done = _forking.done = threading.Event()
    resting = [(loop, _ask(loop, done)) for loop in tuple(_running) if loop is not _loop_here()]
    for loop, rests in resting:
        tries = int(_PATIENCE_S / _LOOK_AGAIN_S)
        while tries and loop in _running and not rests.wait(_LOOK_AGAIN_S):
            tries -= 1


def _ask(loop: AbstractEventLoop, done: threading.Event) -> threading.Event:
    """Set when the loop rests, which it does until `done`."""
    rests = threading.Event()

    def rest() -> None:
        rests.set()
        done.wait()

    try:
        loop.call_soon_threadsafe(rest)
    except RuntimeError:  # It is closed already.
        rests.set()
    return rests


def _loop_here() -> AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _go_on() -> None:
    _forking.done.set()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_rest, after_in_parent=_go_on, after_in_child=_running.clear)
