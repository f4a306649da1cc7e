"""All that a broker listens on: its listeners by name, with what they share."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Protocol

from kafkalite.config.listeners import parse_ip_limits, parse_listeners
from kafkalite.config.views import BrokerConfig
from kafkalite.metadata.image import Endpoint
from kafkalite.ports.clock import Clock
from kafkalite.ports.complaints import Complaints
from kafkalite.ports.network import Address, Network
from kafkalite.security.principals import ANONYMOUS, KafkaPrincipal
from kafkalite.server.addresses import registered_endpoint
from kafkalite.server.connection import Handle
from kafkalite.server.listener import ConnectionCounts, ConnectionLimits, ServerListener
from kafkalite.server.receive_buffer import BufferPool
from kafkalite.server.request import Session
from kafkalite.server.secured import accepting, dialing, sasl_mechanisms

if TYPE_CHECKING:
    from kafkalite.security.mechanisms import Mechanisms
    from kafkalite.server.own_connections import OwnConnections

_log = logging.getLogger(__name__)

_PARTIAL_FRAMES_BYTES = 1 << 28
"""All requests that have arrived in part, of all connections together."""


class OpenGate(Protocol):
    """Makes what stands before dispatch on a listener where clients have to say who they are."""

    def __call__(
        self, mechanisms: Mechanisms, complaints: Complaints, max_request_bytes: int
    ) -> Handle[Session]:
        """`max_request_bytes` of those who are in."""
        ...


class Listeners:
    """Those that the settings want, from `start` until `stop`."""

    def __init__(
        self, config: BrokerConfig, network: Network, clock: Clock, *, checks_views: bool
    ) -> None:
        """`KafkaError` for settings that make no sense, and key stores that cannot be used.
        `checks_views`: see `ClientConnection`."""
        self._config = config
        self._wanted = parse_listeners(config)
        self._complaints = Complaints(clock)
        self._networks = [
            accepting(network, clock, config, each.name, self._complaints) for each in self._wanted
        ]
        self._mechanisms = [sasl_mechanisms(config, each) for each in self._wanted]
        for each, mechanisms in zip(self._wanted, self._mechanisms, strict=True):
            setting = None if mechanisms is None else mechanisms.plain_without_users
            if setting is not None:
                _log.warning(
                    '%s: nobody can log in by PLAIN: %s names no users; add user_NAME="PASSWORD"',
                    each.name,
                    setting,
                )
        self._network = network
        self._clock = clock
        self._checks_views = checks_views
        self._limits = _limits(config)
        self._started: list[ServerListener[Session]] = []
        self._own: OwnConnections | None = None

    def start(self, handle: Handle[Session], open_gate: OpenGate | None = None) -> None:
        """Listen on all of them. `OSError` when an address cannot be had. Without `open_gate` no
        client is asked who it is."""
        pool = BufferPool(_PARTIAL_FRAMES_BYTES, self._clock)
        counts = ConnectionCounts()
        every = zip(self._wanted, self._networks, self._mechanisms, strict=True)
        for wanted, network, mechanisms in every:
            handle_first: Handle[Session] = handle
            principal: KafkaPrincipal | None = ANONYMOUS
            if mechanisms is not None and open_gate is not None:
                handle_first, principal = self._gated(handle, mechanisms, open_gate), None
            elif wanted.has_tls:
                from kafkalite.server.certificate_gate import naming_clients  # Of use to few.

                handle_first = naming_clients(handle)
            listener = ServerListener(
                network,
                self._clock,
                pool,
                handle_first,
                new_session=partial(Session, wanted.name, wanted.advertised, principal),
                limits=_until_let_in(self._limits, mechanisms),
                counts=counts,
                complaints=self._complaints,
                checks_views=self._checks_views,
            )
            listener.start(wanted.bound.host, wanted.bound.port)
            self._started.append(listener)

    def _gated(
        self, handle: Handle[Session], mechanisms: Mechanisms, open_gate: OpenGate
    ) -> Handle[Session]:
        most = self._limits.max_request_bytes
        return self._own_connections().let_in(
            handle, open_gate(mechanisms, self._complaints, most), most
        )

    def _own_connections(self) -> OwnConnections:
        if self._own is None:
            from kafkalite.server.own_connections import OwnConnections  # Of use to few.

            self._own = OwnConnections()
        return self._own

    def network_to(self, name: str | None = None) -> Network:
        """To that listener from this process, which need not say who it is; None: to the first."""
        name = name or self._wanted[0].name
        network = self._network
        if any(each.name == name and each.has_sasl for each in self._wanted):
            network = self._own_connections().through(network)
        return dialing(network, self._clock, self._config, name, itself=True)

    def limit(self, config: BrokerConfig) -> None:
        """Hold new connections to these settings, whatever the first ones were. `KafkaError` for
        settings that make no sense."""
        self._limits = _limits(config)
        for listener, mechanisms in zip(self._started, self._mechanisms, strict=True):
            listener.limits = _until_let_in(self._limits, mechanisms)

    async def stop(self, until_ms: int) -> None:
        """Accept no more, let answers leave until that time, and return when all is closed."""
        for listener in self._started:
            await listener.stop(until_ms)

    def hang_up(self) -> None:
        """Close every connection at once."""
        for listener in self._started:
            for connection in list(listener.connections):
                connection.close()

    @property
    def addresses(self) -> tuple[Address, ...]:
        """All that is listened on, the first listener's first."""
        return tuple(address for each in self._started for address in each.addresses)

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """What the broker registers of them."""
        return tuple(
            registered_endpoint(listener.address, wanted.advertised, wanted.protocol)
            for wanted, listener in zip(self._wanted, self._started, strict=True)
            if wanted.advertised is not None
        )


def _until_let_in(limits: ConnectionLimits, mechanisms: Mechanisms | None) -> ConnectionLimits:
    if mechanisms is None:
        return limits
    return limits._replace(max_request_bytes=mechanisms.settings.max_token_bytes)


def _limits(config: BrokerConfig) -> ConnectionLimits:
    return ConnectionLimits(
        max_connections=config.max_connections,
        max_connections_per_ip=config.max_connections_per_ip,
        max_connections_per_ip_overrides=parse_ip_limits(config),
        max_idle_ms=config.connections_max_idle_ms,
        max_request_bytes=config.socket_request_max_bytes,
    )
