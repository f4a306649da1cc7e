"""How the process that a broker runs in asks it something, where the listener asks everybody who
they are: past the listener, over a network in memory that nobody else is on."""

from __future__ import annotations

from typing import Final

from kafkalite.ports.clock import Clock
from kafkalite.ports.network import Connection, Dialing, Listener, Network, NewConnection
from kafkalite.ports.network_memory import MemoryNetwork

_HERE: Final = "this process"
_PORT: Final = 1


class DoorWithin(Network):
    """For one who listens, and those who dial, whatever the address."""

    def __init__(self, clock: Clock) -> None:
        self._node = MemoryNetwork(clock).node(_HERE)

    def listen(self, host: str, port: int, new_connection: NewConnection) -> Listener:
        """See `Network`."""
        return self._node.listen(_HERE, _PORT, new_connection)

    def dial(self, host: str, port: int, connection: Connection) -> Dialing:
        """See `Network`."""
        return self._node.dial(_HERE, _PORT, connection)
