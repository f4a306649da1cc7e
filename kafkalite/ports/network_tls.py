"""The network with TLS in it: whatever another one carries, encrypted."""

from __future__ import annotations

import ssl

from kafkalite.ports.clock import Clock
from kafkalite.ports.complaints import Complaints
from kafkalite.ports.network import Address, Connection, Dialing, Listener, Network, NewConnection
from kafkalite.ports.tls_link import TlsLink, TlsSide


class TlsNetwork:
    """See `Network`. Made on the thread of a running loop."""

    def __init__(
        self,
        network: Network,
        clock: Clock,
        *,
        accepts: ssl.SSLContext | None = None,
        dials: ssl.SSLContext | None = None,
        complaints: Complaints | None = None,
    ) -> None:
        """`accepts` and `dials`: of each side; None where nobody does that. `complaints` are told
        of peers that are not accepted."""
        self._network = network
        complaints = complaints or Complaints(clock)
        self._accepts = None if accepts is None else TlsSide(accepts, clock, complaints)
        self._dials = None if dials is None else TlsSide(dials, clock, None)

    def listen(self, host: str, port: int, new_connection: NewConnection) -> Listener:
        """See `Network`."""
        side = self._accepts
        assert side is not None, "nobody is accepted by this network"

        def accept(peer: Address) -> Connection | None:
            connection = new_connection(peer)
            return None if connection is None else TlsLink(side, connection)

        return self._network.listen(host, port, accept)

    def dial(self, host: str, port: int, connection: Connection) -> Dialing:
        """See `Network`."""
        assert self._dials is not None, "nobody is dialed by this network"
        return self._network.dial(host, port, TlsLink(self._dials, connection, host))
