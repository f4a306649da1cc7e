"""A connection of the memory network: two ends, and what lies between them.

Bytes of one direction arrive in order, after the delay that the policy gives each write; a limited
number is under way at a time, as with a socket's buffers. Whoever is cut from a peer hears nothing
from it, nor that it has gone, until the cut ends.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

from kafkalite.log.files import Part
from kafkalite.ports.clock import Clock
from kafkalite.ports.network import Address, Connection, Link

WINDOW_BYTES = 256 << 10
"""The most that one direction has under way, or arrived and not yet taken."""


class Policy(Protocol):
    """What the network does to whom. Source and target are names of nodes."""

    def dial_delay_ms(self, source: str, target: str) -> int | None:
        """How long a dial takes; None refuses it."""
        ...

    def delay_ms(self, source: str, target: str) -> int | None:
        """How long one write takes to arrive; None resets the connection."""
        ...

    def is_cut(self, source: str, target: str) -> bool:
        """Whether nothing passes between the two now."""
        ...


class Calm:
    """The policy of a network without delays and faults."""

    def dial_delay_ms(self, source: str, target: str) -> int | None:
        """See `Policy`."""
        return 0

    def delay_ms(self, source: str, target: str) -> int | None:
        """See `Policy`."""
        return 0

    def is_cut(self, source: str, target: str) -> bool:
        """See `Policy`."""
        return False


class Distance:
    """What lies between nodes."""

    def __init__(self, clock: Clock, policy: Policy, observe: Callable[[str], None]) -> None:
        """`observe` is told of each thing that arrives."""
        self.clock = clock
        self.policy = policy
        """May be replaced."""
        self.observe = observe
        self.links: dict[MemoryLink, None] = {}
        """Those that are open, in the order of their making."""
        self.held_links: dict[MemoryLink, None] = {}
        """Those whose bytes, or whose end, a cut holds back."""


class _End:
    """The last thing that a direction carries."""

    def __init__(self, error: OSError | None) -> None:
        self.error = error


class MemoryLink(Link):
    """One side of a connection."""

    def __init__(
        self, network: Distance, local: Address, peer: Address, connection: Connection
    ) -> None:
        self._network = network
        self._local = local
        self._peer = peer
        self._connection = connection
        self.other: MemoryLink | None = None
        self._unsent: deque[memoryview] = deque()
        self._under_way = 0
        """Bytes sent that the other's machine has not taken."""
        self._travelling: deque[memoryview | _End] = deque()
        """What is on its way: one timer each, which takes the first, so that nothing overtakes."""
        self._wire: deque[memoryview | _End] = deque()
        """What has crossed the distance to the other side, and waits for the end of a cut."""
        self._last_arrival_ms = 0
        self._inbox: deque[memoryview | _End] = deque()
        self._paused = False
        self._ended: Callable[[], None] | None = None
        self._progress = 0
        self._is_scheduled = False
        self._is_closed = False

    @property
    def local(self) -> Address:
        """See `Link`."""
        return self._local

    @property
    def peer(self) -> Address:
        """See `Link`."""
        return self._peer

    @property
    def peer_certificate(self) -> None:
        """See `Link`."""
        return None

    @property
    def progress(self) -> int:
        """See `Link`."""
        return self._progress

    def open(self) -> None:
        """Hand the link to its machine."""
        self._network.links[self] = None
        self._connection.opened(self)

    # Sending.

    def write(self, parts: list[Part]) -> bool:
        """See `Link`."""
        whole = True
        for part in parts:
            if isinstance(part, (bytes, bytearray, memoryview)):
                data = bytes(part)
            else:
                data = part.read(0, len(part))
                whole = whole and len(data) == len(part)
                part.release()
            if data and not self._is_closed:
                self._unsent.append(memoryview(data))
        if self._is_closed:
            return False
        if not whole:
            self._leave(OSError("bytes of a file slice are gone"))
            return False
        self._pump()
        return not self._unsent

    def _pump(self) -> None:
        """Send what the window allows."""
        while self._unsent and self._under_way < WINDOW_BYTES and not self._is_closed:
            chunk = self._unsent.popleft()
            room = WINDOW_BYTES - self._under_way
            if len(chunk) > room:
                self._unsent.appendleft(chunk[room:])
                chunk = chunk[:room]
            self._under_way += len(chunk)
            self._send(chunk)

    def _send(self, item: memoryview | _End) -> None:
        network = self._network
        delay_ms = network.policy.delay_ms(self._local.host, self._peer.host)
        if delay_ms is None:
            self._reset()
            return
        self._last_arrival_ms = max(self._last_arrival_ms, network.clock.now_ms() + delay_ms)
        self._travelling.append(item)
        network.clock.call_at(self._last_arrival_ms, self._arrived)

    def _arrived(self) -> None:
        self._wire.append(self._travelling.popleft())
        self.hand_over()

    def hand_over(self) -> None:
        """Give the other side what has come to it, unless it is cut off."""
        other, network = self.other, self._network
        if network.policy.is_cut(self._local.host, self._peer.host):
            network.held_links[self] = None
            return
        network.held_links.pop(self, None)
        for item in self._wire:
            what = "end" if isinstance(item, _End) else f"{len(item)} bytes"
            network.observe(f"{self._local} > {self._peer} {what}")
        if other is not None:
            other._inbox.extend(self._wire)
            other._look_for_end()
            other._schedule()
        self._wire.clear()

    def _reset(self) -> None:
        other = self.other
        self._network.observe(f"{self._local} > {self._peer} reset")
        self.end(ConnectionResetError("the connection was reset"))
        if other is not None:
            other.end(ConnectionResetError("the connection was reset"))

    # Receiving, one piece a turn of the loop.

    def pause(self) -> None:
        """See `Link`."""
        self._paused = True

    def resume(self) -> None:
        """See `Link`."""
        self._paused = False
        self._ended = None
        self._schedule()

    def watch_end(self, ended: Callable[[], None]) -> None:
        """See `Link`."""
        self._ended = ended
        self._look_for_end()

    def _look_for_end(self) -> None:
        if self._ended is not None and self._inbox and isinstance(self._inbox[-1], _End):
            asyncio.get_running_loop().call_soon(self._tell_end)

    def _tell_end(self) -> None:
        ended, self._ended = self._ended, None
        if ended is not None and not self._is_closed:
            ended()

    def _schedule(self) -> None:
        if self._inbox and not self._is_scheduled and not self._is_held():
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._receive)

    def _is_held(self) -> bool:
        return self._paused or bool(self._unsent) or self._is_closed

    def _receive(self) -> None:
        self._is_scheduled = False
        if self._is_held() or not self._inbox:
            return
        item = self._inbox.popleft()
        if isinstance(item, _End):
            self.end(item.error)
            return
        space = self._connection.space()
        size = min(len(space), len(item))
        space[:size] = item[:size]
        if size < len(item):
            self._inbox.appendleft(item[size:])
        if self.other is not None:
            self.other._taken(size)
        self._connection.filled(size)
        self._schedule()

    def _taken(self, size: int) -> None:
        self._under_way -= size
        if self._unsent and not self._is_closed:
            self._progress += 1
            self._pump()
            if not self._unsent:
                asyncio.get_running_loop().call_soon(self._drained)

    def _drained(self) -> None:
        if not self._is_closed and not self._unsent:
            self._connection.drained()
            self._schedule()

    # The end.

    def close(self) -> None:
        """See `Link`."""
        self._leave(None)

    def _leave(self, error: OSError | None) -> None:
        """End this side, which the other hears of when the news gets there."""
        if not self._is_closed:
            self._send(_End(None))
            self.end(error)

    def crash(self) -> None:
        """The process of this side is gone."""
        self._send(_End(ConnectionResetError("the peer has crashed")))
        self._is_closed = True
        self._unsent.clear()
        self._network.links.pop(self, None)

    def end(self, error: OSError | None) -> None:
        """Tell this side's machine that it is over."""
        if self._is_closed:
            return
        self._is_closed = True
        self._unsent.clear()
        self._inbox.clear()
        self._network.links.pop(self, None)
        asyncio.get_running_loop().call_soon(self._connection.closed, error)
