"""The network as a listener wants it: as it is, or with TLS; and the mechanisms of SASL by which
clients, and other brokers, say there who they are. What either needs is imported for a listener
that speaks it.

Kafka differs: it does not start where the brokers' own listener would not trust its own
certificate. Here a broker alone starts; one of several says so when it cannot reach the others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from kafkalite.config.listeners import (
    ListenerConfig,
    ListenersError,
    parse_listeners,
)
from kafkalite.config.views import BrokerConfig
from kafkalite.ports.clock import Clock
from kafkalite.ports.complaints import Complaints
from kafkalite.ports.entropy import Entropy
from kafkalite.ports.network import Network

if TYPE_CHECKING:
    from kafkalite.config.inter_broker_login import InterBrokerLogin
    from kafkalite.config.sasl import Sections
    from kafkalite.security.mechanisms import Mechanisms
    from kafkalite.server.peer_login import PeerLogin

_NONCE_BYTES: Final = 18


def accepting(
    network: Network, clock: Clock, config: BrokerConfig, listener: str, complaints: Complaints
) -> Network:
    """For whoever listens there. `ListenersError` for settings of TLS that make no sense, and key
    stores that cannot be used."""
    found = _encrypted(config, listener)
    if found is None:
        return network
    from kafkalite.config.tls import tls_settings
    from kafkalite.ports.network_tls import TlsNetwork
    from kafkalite.ports.tls_context import server_context

    context = server_context(tls_settings(config, listener, has_sasl=found.has_sasl))
    return TlsNetwork(network, clock, accepts=context, complaints=complaints)


def dialing(
    network: Network, clock: Clock, config: BrokerConfig, listener: str, *, itself: bool = False
) -> Network:
    """For whoever dials that listener of another broker; `itself`: of this one, whoever it says it
    is. Errors as above."""
    if _encrypted(config, listener) is None:
        return network
    from kafkalite.config.tls import tls_settings
    from kafkalite.ports.network_tls import TlsNetwork
    from kafkalite.ports.tls_context import client_context

    context = client_context(tls_settings(config, listener), trusts_all=itself)
    return TlsNetwork(network, clock, dials=context)


def sasl_mechanisms(config: BrokerConfig, listener: ListenerConfig) -> Mechanisms | None:
    """None: nobody is asked there. `ListenersError` for settings of SASL that make no sense, and a
    file of JAAS that cannot be read."""
    if not listener.has_sasl:
        return None
    from kafkalite.config.sasl import sasl_settings
    from kafkalite.security.mechanisms import Mechanisms

    return Mechanisms(sasl_settings(config, listener.name, _sections(config)))


def logging_in(
    config: BrokerConfig, listener: str, entropy: Entropy
) -> Callable[[], PeerLogin] | None:
    """Makes the login of a new connection to that listener of another broker; None: nobody is asked
    there. Errors as `inter_broker_login_to`."""
    login = inter_broker_login_to(config, listener)
    if login is None:
        return None
    from kafkalite.server.peer_login import PeerLogin

    def new_login(login: InterBrokerLogin) -> PeerLogin:
        return PeerLogin(login, entropy.token_bytes(_NONCE_BYTES))

    return partial(new_login, login)


def inter_broker_login_to(config: BrokerConfig, listener: str) -> InterBrokerLogin | None:
    """As whom this broker logs in to that listener of another; None: nobody is asked there.
    `ListenersError` where it could not, and as `sasl_mechanisms`."""
    found = next((each for each in parse_listeners(config) if each.name == listener), None)
    if found is None or not found.has_sasl:
        return None
    from kafkalite.config.inter_broker_login import inter_broker_login
    from kafkalite.config.sasl import check_inter_broker_mechanism, sasl_settings

    check_inter_broker_mechanism(config, listener)
    mechanism = config.sasl_mechanism_inter_broker_protocol
    settings = sasl_settings(config, listener, _sections(config)).mechanisms.get(mechanism)
    if settings is None:  # It is not spoken here, which is what is told.
        return inter_broker_login(mechanism, (), "")
    return inter_broker_login(mechanism, settings.logins, settings.setting)


def check_security(config: BrokerConfig, *, has_others: bool = False) -> None:
    """Look, before a broker starts, whether its listeners can be as they are to be; and, if it
    `has_others` beside it, whether it can log in to them. Errors as above."""
    listeners = parse_listeners(config)
    encrypted = [each for each in listeners if each.has_tls]
    if encrypted:
        from kafkalite.config.tls import tls_settings
        from kafkalite.ports.tls_context import client_context, server_context

        for listener in encrypted:
            settings = tls_settings(config, listener.name, has_sasl=listener.has_sasl)
            server_context(settings)
            client_context(settings)
    for each in listeners:
        sasl_mechanisms(config, each)
        if each.has_sasl and _is_for_brokers(config, each):
            from kafkalite.config.sasl import check_inter_broker_mechanism

            check_inter_broker_mechanism(config, each.name)
    if has_others:
        from kafkalite.server.peers import inter_broker_listener

        inter_broker_login_to(config, inter_broker_listener(config))


def _is_for_brokers(config: BrokerConfig, listener: ListenerConfig) -> bool:
    """Whether somebody has said that brokers are to talk there."""
    said = config.inter_broker_listener_name or config.security_inter_broker_protocol
    return said.strip().upper() == listener.name


def _encrypted(config: BrokerConfig, listener: str) -> ListenerConfig | None:
    """None: it does not speak TLS."""
    named = (each for each in parse_listeners(config) if each.name == listener and each.has_tls)
    return next(named, None)


def _sections(config: BrokerConfig) -> Sections:
    """Of the file of JAAS, if there is one. Java takes an address such as `file:/x` too, and a `=`
    before either."""
    named = config.kafkalite_java_security_auth_login_config
    path = (named or "").strip().removeprefix("=")
    if not path:
        return {}
    from kafkalite.config.jaas import JaasError, parse_jaas_file
    from kafkalite.config.sasl import FILE
    from kafkalite.ports.small_files import read_small_file

    for beginning in ("file://", "file:"):
        path = path.removeprefix(beginning)
    try:
        return parse_jaas_file(read_small_file(path).decode("utf-8", "replace"))
    except ValueError as error:
        why, remedy = str(error), "put the file there, or name another one"
    except JaasError as error:
        why, remedy = error.message, "mend it"
    raise ListenersError(f"{FILE}={named}: {why}", (FILE,), remedy)
