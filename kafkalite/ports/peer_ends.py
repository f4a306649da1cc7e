"""Tells that the peer of a socket has ended its side, while bytes before that end are not read.

A receive finds the end only behind the bytes, and event loops do not offer what Linux knows:
`EPOLLRDHUP`, and `EPOLLHUP` once a connection is reset. So the sockets in question are in an epoll
of their own, which the loop watches. Other systems tell nothing; there the end is seen when the
bytes are read.
"""

from __future__ import annotations

import asyncio
import select
import sys
from collections.abc import Callable

_EVENTS_A_TURN = 64


class PeerEnds:
    """The sockets of one event loop whose end is waited for. Takes a descriptor while there are
    any."""

    def __init__(self, *, resets_alone: bool = False) -> None:
        """`resets_alone`: not those in good order."""
        self._resets_alone = resets_alone
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._remove_reader: Callable[[], object] = lambda: None
        if sys.platform == "linux":
            self._epoll: select.epoll | None = None

    def watch(self, loop: asyncio.AbstractEventLoop, fd: int, callback: Callable[[], None]) -> None:
        """Call back once, in a later turn of the loop, when the peer has ended; until `forget`."""
        if sys.platform != "linux":
            return
        is_new = fd not in self._callbacks
        try:
            if self._epoll is None:
                self._epoll = select.epoll()
                number = self._epoll.fileno()
                loop.add_reader(number, self._ready, self._epoll)
                self._remove_reader = lambda: loop.remove_reader(number)
            if is_new:
                # What is reset is told in any case.
                self._epoll.register(fd, 0 if self._resets_alone else select.EPOLLRDHUP)
        except OSError:
            return  # No descriptor is left: as on other systems.
        self._callbacks[fd] = callback

    def forget(self, fd: int) -> None:
        """Call it back no more. Before the socket is closed."""
        if sys.platform != "linux" or self._callbacks.pop(fd, None) is None:
            return
        assert self._epoll is not None
        self._epoll.unregister(fd)
        if not self._callbacks:
            self._remove_reader()
            self._epoll.close()
            self._epoll = None

    if sys.platform == "linux":

        def _ready(self, epoll: select.epoll) -> None:
            for fd, _ in epoll.poll(0, _EVENTS_A_TURN):
                callback = self._callbacks.get(fd)
                if callback is not None:
                    self.forget(fd)
                    callback()
