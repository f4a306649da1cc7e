"""One address that clients connect to, and the connections they have there.

Limits are Kafka's settings of the same names, and hold for all listeners of a broker together.
Kafka differs: at `max.connections` it lets new
clients wait unaccepted; here they are closed at once, so that the client says so and the log does.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

from kafkalite.ports.clock import Clock, Timer
from kafkalite.ports.complaints import Complaints
from kafkalite.ports.network import Address, Listener, Network
from kafkalite.server.addresses import MAPPED_PREFIX
from kafkalite.server.connection import ClientConnection, Handle
from kafkalite.server.receive_buffer import BufferPool

logger = logging.getLogger(__name__)

S = TypeVar("S")

UNLIMITED = 2**31 - 1
_SWEEPS_AN_IDLE_TIME = 10
"""An idle connection is closed at most this part of `max_idle_ms` late."""
_MIN_SWEEP_MS = 100


class ConnectionLimits(NamedTuple):
    """Defaults are Kafka's."""

    max_connections: int = UNLIMITED
    max_connections_per_ip: int = UNLIMITED
    max_connections_per_ip_overrides: Mapping[str, int] = MappingProxyType({})
    """By numeric address."""
    max_idle_ms: int = 600_000
    """`connections.max.idle.ms`; a client whose request is parked is not idle. -1: for ever."""
    max_request_bytes: int = 100 << 20
    """`socket.request.max.bytes`."""


class ConnectionCounts:
    """The connections that stand, of all listeners of a broker."""

    __slots__ = ("by_ip", "total")

    def __init__(self) -> None:
        self.total = 0
        self.by_ip: Counter[str] = Counter()

    def opened(self, host: str) -> None:
        """One more from there."""
        self.total += 1
        self.by_ip[host] += 1

    def closed(self, host: str) -> None:
        """One less from there."""
        self.total -= 1
        self.by_ip[host] -= 1
        if not self.by_ip[host]:
            del self.by_ip[host]


class ServerListener(Generic[S]):
    """Listens from `start` until `stop`. All of it on the thread of the running loop."""

    def __init__(
        self,
        network: Network,
        clock: Clock,
        pool: BufferPool,
        handle: Handle[S],
        *,
        new_session: Callable[[], S],
        limits: ConnectionLimits | None = None,
        counts: ConnectionCounts | None = None,
        complaints: Complaints | None = None,
        checks_views: bool = False,
    ) -> None:
        """`pool`, `counts` and `complaints` are shared by all listeners of a broker; `new_session`
        makes what dispatch keeps about a client; `checks_views`: see `ClientConnection`."""
        self._network = network
        self._clock = clock
        self._pool = pool
        self._handle = handle
        self._new_session = new_session
        self.limits = limits or ConnectionLimits()
        """May be replaced: new connections are held to what it is then."""
        self._checks_views = checks_views
        self._listener: Listener | None = None
        self._connections: dict[ClientConnection[S], _Standing] = {}
        self._counts = counts or ConnectionCounts()
        self._complaints = complaints or Complaints(clock)
        self._refused_since_told = 0
        self._sweep_timer: Timer | None = None
        self._emptied: asyncio.Future[None] | None = None

    @property
    def address(self) -> Address:
        """The first address listened on."""
        assert self._listener is not None, "not started"
        return self._listener.address

    @property
    def addresses(self) -> tuple[Address, ...]:
        """All addresses listened on."""
        assert self._listener is not None, "not started"
        return self._listener.addresses

    @property
    def connections(self) -> Iterable[ClientConnection[S]]:
        """Those that stand, the oldest first."""
        return self._connections.keys()

    def start(self, host: str, port: int) -> None:
        """Listen, as `Network.listen` says. `OSError` when the address cannot be had."""
        self._listener = self._network.listen(host, port, self._accept)
        self._sweep_later()

    async def stop(self, until_ms: int) -> None:
        """Accept and read no more, let answers leave until that time, and return when all is
        closed."""
        if self._listener is not None:
            self._listener.close()
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
        for connection in list(self._connections):
            connection.stop()
        try:
            await self._clock.wait(self._wait_emptied(), until_ms)
        except TimeoutError:
            for connection in list(self._connections):
                connection.close()
            await self._wait_emptied()
        self._complaints.stop()

    async def _wait_emptied(self) -> None:
        if self._connections:
            self._emptied = asyncio.get_running_loop().create_future()
            await self._emptied

    def _accept(self, peer: Address) -> ClientConnection[S] | None:
        limits = self.limits
        host = peer.host.removeprefix(MAPPED_PREFIX)
        per_ip = limits.max_connections_per_ip_overrides.get(host, limits.max_connections_per_ip)
        if self._counts.total >= limits.max_connections:
            self._tell_refusal(peer, f"max.connections={limits.max_connections}")
            return None
        if self._counts.by_ip[host] >= per_ip:
            self._tell_refusal(peer, f"max.connections.per.ip={per_ip}")
            return None
        self._refused_since_told = 0
        connection = ClientConnection(
            self._new_session(),
            self._handle,
            pool=self._pool,
            clock=self._clock,
            call_soon=asyncio.get_running_loop().call_soon,
            max_request_bytes=limits.max_request_bytes,
            on_closed=self._closed,
            complaints=self._complaints,
            checks_views=self._checks_views,
        )
        self._connections[connection] = _Standing(host, self._clock.now_ms())
        self._counts.opened(host)
        return connection

    def _tell_refusal(self, peer: Address, limit: str) -> None:
        """One line for a whole row of refusals."""
        if not self._refused_since_told:
            logger.warning("%s: refusing connections: the limit is %s", peer, limit)
        self._refused_since_told += 1

    def _closed(self, connection: ClientConnection[S]) -> None:
        self._counts.closed(self._connections.pop(connection).host)
        if self._emptied is not None and not self._connections and not self._emptied.done():
            self._emptied.set_result(None)

    def _sweep_later(self) -> None:
        if self.limits.max_idle_ms >= 0:
            every_ms = max(_MIN_SWEEP_MS, self.limits.max_idle_ms // _SWEEPS_AN_IDLE_TIME)
            self._sweep_timer = self._clock.call_at(self._clock.now_ms() + every_ms, self._sweep)

    def _sweep(self) -> None:
        """Close the connections that were idle for too long."""
        now_ms = self._clock.now_ms()
        for connection, standing in list(self._connections.items()):
            if connection.take_activity():
                standing.active_ms = now_ms
            elif now_ms - standing.active_ms >= self.limits.max_idle_ms:
                connection.close()
        self._sweep_later()


class _Standing:
    """What the listener keeps about a connection."""

    __slots__ = ("active_ms", "host")

    def __init__(self, host: str, now_ms: int) -> None:
        self.host = host
        self.active_ms = now_ms
        """When a sweep last saw it active."""
