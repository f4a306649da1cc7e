"""The other brokers of the cluster, as this one asks them: connections, deadlines, limits.

It does not know what it carries. Each purpose has a connection of its own to each broker, so that
a fetch that waits there for records does not hold up what else is asked. A connection is dialed
when something is asked, at the listener that brokers talk on, as the metadata has it; one that is
lost is dialed anew with what is asked next, after a pause that grows from 50 ms to 1 s. So is one
where the other did not let this broker in, of which the log tells. A broker that leaves the
cluster, or that comes back as another incarnation, is hung up on.

Source: Kafka's `NodeToControllerChannelManager`, `BrokerBlockingSender` and `NetworkClient`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from kafkalite.config.listeners import parse_listeners
from kafkalite.config.views import BrokerConfig
from kafkalite.core import NO_PAUSE, Pause
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import Endpoint, MetadataImage
from kafkalite.ports.clock import Clock
from kafkalite.ports.complaints import Complaints
from kafkalite.ports.network import Address, Network
from kafkalite.protocol.schema import Request
from kafkalite.server.peer_connection import PeerConnection
from kafkalite.server.peer_login import LoginRefusedError, PeerLogin
from kafkalite.server.peer_requests import OnResponse
from kafkalite.server.receive_buffer import BufferPool
from kafkalite.types import BrokerEpoch, BrokerId, TimestampMs

RECONNECT_MS: Final = 50
MAX_RECONNECT_MS: Final = 1_000
"""How long after a connection was lost the next is dialed: the double of the time before."""
PARTIAL_FRAMES_BYTES: Final = 1 << 26
"""All responses that have arrived in part, of all connections together."""


class _Line(NamedTuple):
    """What one connection is for."""

    broker_id: BrokerId
    purpose: str


class _BackOff:
    """What a line has been through since it last worked."""

    __slots__ = ("_wait_ms", "pause")

    def __init__(self) -> None:
        self._wait_ms = 0
        self.pause = NO_PAUSE

    def failed(self, now_ms: TimestampMs) -> None:
        self._wait_ms = min(max(2 * self._wait_ms, RECONNECT_MS), MAX_RECONNECT_MS)
        self.pause = Pause.of(self._wait_ms, now_ms)


class Peers:
    """Those of one broker. Everything on the event loop."""

    def __init__(
        self,
        broker_id: BrokerId,
        network: Network,
        clock: Clock,
        config: BrokerConfig,
        *,
        new_login: Callable[[], PeerLogin] | None = None,
        checks_views: bool = False,
    ) -> None:
        """`new_login`: of a new connection; None: nobody is asked who they are. `checks_views`: see
        `PeerConnection`."""
        self._broker_id = broker_id
        self._network = network
        self._clock = clock
        self._listener = inter_broker_listener(config)
        self._limit_bytes = config.socket_request_max_bytes
        self._new_login = new_login
        self._complaints = Complaints(clock)
        self._checks_views = checks_views
        self._pool = BufferPool(PARTIAL_FRAMES_BYTES, clock)
        self._image = MetadataImage()
        self._connections: dict[_Line, PeerConnection] = {}
        self._back_offs: dict[_Line, _BackOff] = {}
        self._is_stopped = False
        self._own_epoch: BrokerEpoch | None = None
        """As it was registered last."""

    def ask(
        self,
        broker_id: BrokerId,
        request: Request,
        on_reply: OnResponse,
        *,
        timeout_ms: int,
        purpose: str = "",
        version_cap: int | None = None,
    ) -> None:
        """Send `request` to that broker, behind all that was asked of it for that purpose before,
        in the highest version that both know and `version_cap` allows. `on_reply` is called once,
        before this returns or later on the loop, with the response (record bytes in it are views,
        dead when `on_reply` returns) or a `KafkaError`:

        BROKER_NOT_AVAILABLE when the metadata has no such broker, or none that listens for
        brokers, or too much waits; NETWORK_EXCEPTION when the connection cannot be had or is
        lost, with the request carried out or not; REQUEST_TIMED_OUT after `timeout_ms`;
        UNSUPPORTED_VERSION when there is no such version.
        """
        endpoint = self._endpoint_of(self._image, broker_id)
        if endpoint is None or self._is_stopped:
            why = "this broker stops" if self._is_stopped else "it is not in the cluster"
            on_reply(KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {broker_id}: {why}"))
            return
        line = _Line(broker_id, purpose)
        connection = self._connections.get(line) or self._connect(line, endpoint)
        connection.ask(request, on_reply, timeout_ms=timeout_ms, version_cap=version_cap)

    def apply(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Follow the brokers' comings and goings."""
        before, self._image = self._image, image
        if before.brokers is image.brokers:
            return
        for line, connection in list(self._connections.items()):
            if _incarnation(before, line.broker_id) != _incarnation(image, line.broker_id):
                connection.end(f"broker {line.broker_id} has left the cluster, or has come anew")
        self._follow_own_epoch(image)
        for line in list(self._back_offs):
            if line.broker_id not in image.brokers:
                del self._back_offs[line]

    def _follow_own_epoch(self, image: MetadataImage) -> None:
        """A broker whose session was lost and that has registered anew is another one to the
        others: what goes on between them, such as fetch sessions, begins anew."""
        me = image.brokers.get(self._broker_id)
        if me is None:
            return
        known, self._own_epoch = self._own_epoch, me.epoch
        if known is not None and known != me.epoch:
            for connection in list(self._connections.values()):
                connection.end("this broker has registered anew")

    def stop(self) -> None:
        """Hang up on all, refuse everyone who waits, and ask nothing more."""
        self._is_stopped = True
        for connection in list(self._connections.values()):
            connection.end("this broker stops")
        self._complaints.stop()

    def _connect(self, line: _Line, endpoint: Endpoint) -> PeerConnection:
        back_off = self._back_offs.setdefault(line, _BackOff())
        purpose = f"-{line.purpose}" if line.purpose else ""
        connection = PeerConnection(
            self._clock,
            self._pool,
            client_id=f"broker-{self._broker_id}-to-{line.broker_id}{purpose}",
            limit_bytes=self._limit_bytes,
            on_ready=partial(self._ready, line),
            on_over=partial(self._over, line),
            login=None if self._new_login is None else self._new_login(),
            on_refused=partial(self._refused, line, Address(endpoint.host, endpoint.port)),
            checks_views=self._checks_views,
        )
        self._connections[line] = connection
        now = self._clock.now_ms()
        at_ms = now if back_off.pause.is_over(now) else back_off.pause.until_ms
        connection.dial(self._network, endpoint.host, endpoint.port, at_ms)
        return connection

    def _ready(self, line: _Line) -> None:
        self._back_offs.pop(line, None)

    def _refused(self, line: _Line, address: Address, why: LoginRefusedError) -> None:
        self._complaints.closing(
            address, f"broker {line.broker_id} does not let this one log in: {why}"
        )

    def _over(self, line: _Line) -> None:
        del self._connections[line]
        self._back_offs.setdefault(line, _BackOff()).failed(self._clock.now_ms())

    def _endpoint_of(self, image: MetadataImage, broker_id: BrokerId) -> Endpoint | None:
        broker = image.brokers.get(broker_id)
        if broker is None or broker.fenced:
            return None
        for endpoint in broker.endpoints:
            if endpoint.name == self._listener:
                return endpoint
        return None


def inter_broker_listener(config: BrokerConfig) -> str:
    """The name of the listener that brokers talk to each other on, in upper case: what
    `inter.broker.listener.name` says, else that of the protocol that is spoken between them.

    Kafka differs: without `inter.broker.listener.name` it refuses to start unless a listener has
    the protocol's name. Here it is the first one then."""
    said = config.inter_broker_listener_name
    if said is not None:
        return said.strip().upper()
    names = [each.name for each in parse_listeners(config) if each.advertised is not None]
    protocol = config.security_inter_broker_protocol
    return protocol if protocol in names else names[0]


def _incarnation(image: MetadataImage, broker_id: BrokerId) -> tuple[int, bool] | None:
    """Another one after each start of that broker, and while it is fenced."""
    broker = image.brokers.get(broker_id)
    return None if broker is None else (broker.epoch, broker.fenced)
