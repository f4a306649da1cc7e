"""What a process that has brokers in it does when it forks: their loops rest meanwhile.

A fork has all of the memory, and of the threads only the one that forked. What another was amid is
never ended there: a module that a broker was importing, of which it loads many when it is first
asked for them, stays half of one, and every broker of the fork fails on it. Between two callbacks
of a loop nothing is half done.
"""

from __future__ import annotations

import asyncio
import concurrent.futures.thread  # noqa: F401  # Every fork takes its lock: see the end.
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
_about_to_fork: Final[set[AbstractEventLoop]] = set()
"""Loops whose callbacks fork once it is their turn: meanwhile they rest, too."""


class _Fork:
    """One that is about to be, or is under way."""

    def __init__(self) -> None:
        self.is_done = threading.Event()
        """Upon it the loops go on."""
        self.has_turn = False


class _Forks(threading.local):
    """Of one thread. A signal's handler may fork while another fork of its thread is about to."""

    def __init__(self) -> None:
        self.under_way: list[_Fork] = []


_forks: Final = _Forks()
_turn = threading.RLock()
"""Of the one that forks. Two at once, of which each has a loop at rest that the other waits for,
would wait as long as they have patience."""


def rest_while_forking(loop: AbstractEventLoop, ended: Future[None]) -> None:
    """Let a loop, which runs on a thread of its own, be between two callbacks whenever the process
    forks, until `ended` tells. Its own callbacks may fork, too."""
    _running[loop] = ended
    ended.add_done_callback(lambda _: _running.pop(loop, None))


def _rest() -> None:
    fork = _Fork()
    _forks.under_way.append(fork)  # A Ctrl-C amid what follows keeps nobody from forking.
    here = _loop_here()
    fork.has_turn = _take_turn(here)
    resting = [(loop, _ask(loop, fork.is_done)) for loop in tuple(_running) if loop is not here]
    for loop, rests in resting:
        tries = int(_PATIENCE_S / _LOOK_AGAIN_S)
        while tries and _is_awake(loop) and not rests.wait(_LOOK_AGAIN_S):
            tries -= 1


def _is_awake(loop: AbstractEventLoop) -> bool:
    return loop in _running and loop not in _about_to_fork


def _take_turn(here: AbstractEventLoop | None) -> bool:
    """False: it does not come, as when who has it waits for what this thread holds."""
    if here is None:
        return _turn.acquire(timeout=_PATIENCE_S)
    _about_to_fork.add(here)
    try:
        return _turn.acquire(timeout=_PATIENCE_S)
    finally:
        _about_to_fork.discard(here)


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
    fork = _forks.under_way.pop()
    fork.is_done.set()
    if fork.has_turn:
        _turn.release()


def _forget() -> None:
    """In a fork, which has no loop but perhaps the one that forked."""
    global _turn
    _running.clear()
    _about_to_fork.clear()
    _forks.under_way.clear()
    _turn = threading.RLock()


# The last that is registered is the first that runs: a fork that waits here has not yet the lock of
# `concurrent.futures.thread`, which asyncio imports late. Who wants that meanwhile would be stuck.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_rest, after_in_parent=_go_on, after_in_child=_forget)
