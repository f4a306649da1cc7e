"""The Network port: moves bytes between a connection's machine and its peer.

It carries the machine (`Connection`), never a stream or a socket: the network asks the machine for
space, fills it, and takes lists of parts to send. All calls, both ways, come on the thread of the
event loop. The real one is `network_sockets.py`, its twin `network_memory.py`.

The order of calls to a `Connection`:

    opened ── (space filled)* ── closed          drained: whenever a write that was held back has
    left closed(error)                                a dial that failed: never opened
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from kafkalite.log.files import Part


class Address(NamedTuple):
    """Where one end of a connection is. `host` is a numeric address on real sockets, without
    brackets."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Link(Protocol):
    """The network's end of a connection, in the hands of the machine. None of these calls raises,
    none calls the machine back from inside itself, and after `close` all of them do nothing."""

    @property
    def local(self) -> Address:
        """This side."""
        ...

    @property
    def peer(self) -> Address:
        """The other side."""
        ...

    def write(self, parts: list[Part]) -> bool:
        """Send the parts in order, after all that was written before. The link owns the list and
        its file slices from here on: each is released once, sent or not; bytes must not change any
        more. False when some of it waits for the peer: nothing is read until `drained` tells that
        all has left."""
        ...

    @property
    def peer_certificate(self) -> bytes | None:
        """What the peer has shown of itself, and is trusted with, in DER; known when bytes come.
        None: nothing, or it is not encrypted."""
        ...

    @property
    def progress(self) -> int:
        """Grows whenever some of what waits for the peer has left."""
        ...

    def pause(self) -> None:
        """Nothing is received until `resume`. The peer's end may be noticed only after that."""
        ...

    def watch_end(self, ended: Callable[[], None]) -> None:
        """Call back once, in a later turn of the loop, when the peer has ended its side before the
        pause is over, even behind bytes that are not received yet; on some systems only when there
        are none. Nothing is received before `resume` all the same."""
        ...

    def resume(self) -> None:
        """Read on, as soon as nothing waits to be sent."""
        ...

    def close(self) -> None:
        """Close now, and drop what was not sent. `closed(None)` follows in a later turn of the
        loop."""
        ...


class Connection(Protocol):
    """A machine at one end of a connection."""

    def opened(self, link: Link) -> None:
        """The connection stands. It is read from the next turn on."""
        ...

    def space(self) -> memoryview:
        """Where the next bytes are to go; never empty. Asked before each receive."""
        ...

    def filled(self, size: int) -> None:
        """The first `size` bytes of that space were received; 0 when there was nothing, or the end:
        the space is not needed any more."""
        ...

    def drained(self) -> None:
        """All that was written has left, after a `write` that gave False."""
        ...

    def closed(self, error: OSError | None) -> None:
        """It is over, said once and last. None: the peer ended it in good order, or `close` was
        called."""
        ...


NewConnection = Callable[[Address], Connection | None]
"""Gives the machine for a connection from that peer; None refuses it."""


class Listener(Protocol):
    """A host and port that is listened on, by one or more sockets."""

    @property
    def address(self) -> Address:
        """The first address listened on; the port that was given for port 0."""
        ...

    @property
    def addresses(self) -> tuple[Address, ...]:
        """All of them (IPv4 and IPv6), on one port."""
        ...

    def close(self) -> None:
        """Accept no more. Connections that stand are left alone. May be called twice."""
        ...


class Dialing(Protocol):
    """A connection under way."""

    def cancel(self) -> None:
        """Give up: the machine hears `closed(None)` in a later turn. Nothing happens once it is
        open."""
        ...


class Network(Protocol):
    """Listens and dials."""

    def listen(self, host: str, port: int, new_connection: NewConnection) -> Listener:
        """Accept connections. `localhost` is all loopback addresses, the empty host all addresses;
        port 0 is a free port. `OSError` when it cannot be had."""
        ...

    def dial(self, host: str, port: int, connection: Connection) -> Dialing:
        """Connect the machine: `opened` follows, or `closed` with the error. No deadline: cancel
        it."""
        ...
