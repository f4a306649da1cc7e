"""Which files have a descriptor: a process may have only so many, and a broker may have more
segments than that.

A file that is not in use gives its descriptor to the next, and opens again at its next use.

Kafka differs: it keeps all segments open, raises the limit as far as it can (the JVM does), and
marks the log folder as failed when it does not reach.
"""

from __future__ import annotations

import errno
import os
import sys

from kafkalite.log.turns import Held, Turns

RESERVED = 32
"""Descriptors that files leave alone: for checkpoints, and for listing and removing folders."""
_LEAST = 16
_OUT_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)


def descriptor_limit() -> int:
    """How many descriptors this process may have now. They are numbered from 0, and the lowest free
    one is taken, so that a number tells how many there are. `sys.maxsize`: unknown, or no limit."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit
    except ImportError:  # Windows.
        return sys.maxsize
    soft = getrlimit(RLIMIT_NOFILE)[0]
    return sys.maxsize if soft == RLIM_INFINITY else soft


class OpenFiles:
    """The files that have a descriptor: about half of `limit`, so that connections have theirs. For
    the thread of the event loop alone."""

    def __init__(self, limit: int) -> None:
        self._most = max(limit // 2, _LEAST)
        self._highest = limit - RESERVED
        self._turns = Turns()

    def open(self, file: Held, path: str, flags: int) -> int:
        """A descriptor for `file`. When none is to be had, one that is not in use is closed."""
        if self._turns.total >= self._most:
            self._turns.let_one_go()
        while True:
            try:
                fd = os.open(path, flags, 0o644)
                break
            except OSError as error:
                if error.errno not in _OUT_OF_DESCRIPTORS or not self._turns.let_one_go():
                    raise
        if fd >= self._highest:
            self._turns.let_one_go()
        self._turns.add(file, 1)
        return fd

    def closed(self, file: Held) -> None:
        """It has no descriptor any more."""
        self._turns.remove(file)
