"""Connections of a broker to its own listeners: as it makes topics that it is to have from the
start. Where clients say who they are, it needs no login for them: whoever has both ends of a
connection knows that nobody else has the other one."""

from __future__ import annotations

from typing import NamedTuple

from kafkalite.ports.network import (
    Address,
    Connection,
    Dialing,
    Link,
    Listener,
    Network,
    NewConnection,
)
from kafkalite.security.principals import ITSELF
from kafkalite.server.addresses import MAPPED_PREFIX
from kafkalite.server.connection import Answer, ClientConnection, Handle
from kafkalite.server.request import Session


class _Ends(NamedTuple):
    """Of a connection. There is one with such a pair at a time."""

    dialing: Address
    listening: Address


class OwnConnections:
    """Those that stand now."""

    def __init__(self) -> None:
        self._standing: set[_Ends] = set()

    def through(self, network: Network) -> Network:
        """The same network, whose dialed connections are the broker's own."""
        return _OwnNetwork(network, self._standing)

    def let_in(
        self, handle: Handle[Session], gate: Handle[Session], max_request_bytes: int
    ) -> Handle[Session]:
        """What stands before `gate`: `handle` is dispatch, and requests to it may be that large."""

        def first(connection: ClientConnection[Session], frame: memoryview) -> Answer:
            if _Ends(_plain(connection.peer), _plain(connection.local)) not in self._standing:
                return gate(connection, frame)
            connection.session.principal = ITSELF
            connection.limit_requests(max_request_bytes)
            connection.handle = handle
            return handle(connection, frame)

        return first


class _OwnNetwork(Network):
    def __init__(self, network: Network, standing: set[_Ends]) -> None:
        self._network = network
        self._standing = standing

    def listen(self, host: str, port: int, new_connection: NewConnection) -> Listener:
        """See `Network`."""
        return self._network.listen(host, port, new_connection)

    def dial(self, host: str, port: int, connection: Connection) -> Dialing:
        """See `Network`."""
        return self._network.dial(host, port, _Noted(connection, self._standing))


class _Noted(Connection):
    """A machine whose connection is noted while it stands."""

    def __init__(self, connection: Connection, standing: set[_Ends]) -> None:
        self._connection = connection
        self._standing = standing
        self._ends: _Ends | None = None

    def space(self) -> memoryview:
        """See `Connection`."""
        return self._connection.space()

    def filled(self, size: int) -> None:
        """See `Connection`."""
        self._connection.filled(size)

    def drained(self) -> None:
        """See `Connection`."""
        self._connection.drained()

    def opened(self, link: Link) -> None:
        """See `Connection`."""
        self._ends = _Ends(_plain(link.local), _plain(link.peer))
        self._standing.add(self._ends)
        self._connection.opened(link)

    def closed(self, error: OSError | None) -> None:
        """See `Connection`."""
        if self._ends is not None:
            self._standing.discard(self._ends)
        self._connection.closed(error)


def _plain(address: Address) -> Address:
    return Address(address.host.removeprefix(MAPPED_PREFIX), address.port)
