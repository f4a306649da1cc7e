"""The network as a listener wants it: as it is, or with TLS. What TLS needs is imported for a
listener that speaks it.

Kafka differs: it does not start where the brokers' own listener would not trust its own
certificate. Here a broker alone starts; one of several says so when it cannot reach the others.
"""

from __future__ import annotations

from kafkalite.config.listeners import SSL, parse_listeners
from kafkalite.config.views import BrokerConfig
from kafkalite.ports.clock import Clock
from kafkalite.ports.complaints import Complaints
from kafkalite.ports.network import Network


def accepting(
    network: Network, clock: Clock, config: BrokerConfig, listener: str, complaints: Complaints
) -> Network:
    """For whoever listens there. `ListenersError` for settings of TLS that make no sense, and key
    stores that cannot be used."""
    if not _is_secured(config, listener):
        return network
    from kafkalite.config.tls import tls_settings
    from kafkalite.ports.network_tls import TlsNetwork
    from kafkalite.ports.tls_context import server_context

    context = server_context(tls_settings(config, listener))
    return TlsNetwork(network, clock, accepts=context, complaints=complaints)


def dialing(
    network: Network, clock: Clock, config: BrokerConfig, listener: str, *, itself: bool = False
) -> Network:
    """For whoever dials that listener of another broker; `itself`: of this one, whoever it says it
    is. Errors as above."""
    if not _is_secured(config, listener):
        return network
    from kafkalite.config.tls import tls_settings
    from kafkalite.ports.network_tls import TlsNetwork
    from kafkalite.ports.tls_context import client_context

    context = client_context(tls_settings(config, listener), trusts_all=itself)
    return TlsNetwork(network, clock, dials=context)


def check_key_stores(config: BrokerConfig) -> None:
    """Look, before a broker starts, whether those of its listeners can be used. Errors as above."""
    secured = [each.name for each in parse_listeners(config) if each.protocol == SSL]
    if secured:
        from kafkalite.config.tls import tls_settings
        from kafkalite.ports.tls_context import client_context, server_context

        for listener in secured:
            settings = tls_settings(config, listener)
            server_context(settings)
            client_context(settings)


def _is_secured(config: BrokerConfig, listener: str) -> bool:
    return any(each.name == listener and each.protocol == SSL for each in parse_listeners(config))
