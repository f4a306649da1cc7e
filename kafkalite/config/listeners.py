"""Where a broker listens, and what clients are told: `listeners`, `advertised.listeners` and
`listener.security.protocol.map`, read and refused as Kafka does.

An entry is `NAME://HOST:PORT`. The name is the administrator's, and the map says which security
protocol is spoken under it. An empty host is all addresses of the machine, port 0 a free one.

Source: Kafka's `SocketServerConfigs` and `KafkaConfig.validateValues`; the tests have the real
one's answers.

Kafka differs: without `advertised.listeners` it tells every client the listener's own host, or the
machine's name, and so refuses to listen on 0.0.0.0. Here each client is told the address that it
reached, so a wildcard is no matter; and it is never told: Kafka takes `[::]` in
`advertised.listeners`, here it is refused like 0.0.0.0. An empty host there, or port 0, is the one
that the client reached.

Listeners named in `controller.listener.names` are the quorum's: they are read, and not listened on;
but those of a process that is a controller alone are all that it has. Nobody gets so far there that
they would say who they are, so SASL is left away.

What a listener needs besides that speaks TLS or SASL, `config.tls` and `config.sasl` read.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from kafkalite.config.views import BrokerConfig
from kafkalite.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

PLAINTEXT, SSL = "PLAINTEXT", "SSL"
_SASL = "SASL_"
LISTENERS = "listeners"
ADVERTISED = "advertised.listeners"
CONTROLLERS = "controller.listener.names"
ROLES = "process.roles"
PROTOCOL_MAP = "listener.security.protocol.map"
INTER_BROKER_NAME = "inter.broker.listener.name"
_PER_IP = "max.connections.per.ip"
_OVERRIDES = "max.connections.per.ip.overrides"
_FORM = "expected NAME://HOST:PORT, such as PLAINTEXT://localhost:9092"

_ENTRY = re.compile(
    r"(?P<name>.*)://\[?(?P<host>[0-9a-zA-Z\-%._:]*)\]?:(?P<port>-?[0-9]{1,1000})", re.ASCII
)
PROTOCOLS = (PLAINTEXT, SSL, "SASL_PLAINTEXT", "SASL_SSL")
"""All of Kafka's, in the order of the numbers that stand for them in the metadata."""
WILDCARDS = ("0.0.0.0", "::")  # noqa: S104  # To refuse them.
_MAX_PORT = 65535
_MAX_INT = 2**31 - 1


class ListenersError(KafkaError):
    """Settings of listeners that cannot be: INVALID_CONFIG, mostly in Kafka's words."""

    def __init__(self, message: str, keys: tuple[str, ...], remedy: str = "") -> None:
        super().__init__(ErrorCode.INVALID_CONFIG, message)
        self.keys = keys
        """Of the settings that say so."""
        self.remedy = remedy
        """What the message does not say of what to do; may be empty."""


class ListenerAddress(NamedTuple):
    """One entry: where to listen, or where clients are to dial."""

    name: str
    """In upper case, as Kafka keeps it."""
    host: str
    """Without brackets; empty means all addresses, or the one reached."""
    port: int
    """0 means a free one, or the one reached."""


class ListenerConfig(NamedTuple):
    """One listener."""

    bound: ListenerAddress
    advertised: ListenerAddress | None
    """What its clients are told of this broker; None: nothing, since `advertised.listeners` leaves
    it out."""
    protocol: str = PLAINTEXT
    """One of `PROTOCOLS`."""

    @property
    def has_tls(self) -> bool:
        """Whether what is said there is encrypted."""
        return self.protocol.endswith(SSL)

    @property
    def has_sasl(self) -> bool:
        """Whether clients say there who they are."""
        return self.protocol.startswith(_SASL)

    @property
    def name(self) -> str:
        """Under which clients come in and brokers register."""
        return self.bound.name


def is_controller_alone(settings: Mapping[str, str]) -> bool:
    """Whether they, texts by Kafka's keys, are those of a process that is no broker."""
    return {role.strip() for role in settings.get(ROLES, "").split(",")} == {"controller"}


def parse_listeners(config: BrokerConfig) -> list[ListenerConfig]:
    """The listeners in their order, without those of controllers; of a controller alone, those.
    `ListenersError` for what cannot be."""
    controllers = {name.upper() for name in config.controller_listener_names or ()}
    protocols = parse_protocols(config.listener_security_protocol_map)
    if PROTOCOL_MAP not in config.settings:
        protocols.update(dict.fromkeys(config.controller_listener_names or (), PLAINTEXT))
    all_bound = _parse_all(LISTENERS, config.listeners, protocols)
    _check_ports(all_bound, config.listeners)
    if is_controller_alone(config.settings):
        return _of_a_controller(all_bound, protocols, controllers)
    bound = [each for each in all_bound if each.name not in controllers]
    if config.advertised_listeners is None:
        told = [ListenerAddress(each.name, "", 0) for each in bound]
    else:
        told = _parse_all(ADVERTISED, config.advertised_listeners, protocols)
        _check_advertised(told, all_bound)
    by_name = {each.name: each for each in told if each.name not in controllers}
    if not by_name:
        _refuse(
            "There must be at least one broker advertised listener. Perhaps all listeners appear "
            f"in {CONTROLLERS}?",
            *(ADVERTISED, LISTENERS, CONTROLLERS),
            remedy=f"add one for clients, such as {PLAINTEXT}://:9092",
        )
    _check_inter_broker_name(config.settings.get(INTER_BROKER_NAME), protocols, by_name)
    return [ListenerConfig(each, by_name.get(each.name), protocols[each.name]) for each in bound]


def _of_a_controller(
    bound: Sequence[ListenerAddress], protocols: Mapping[str, str], controllers: Container[str]
) -> list[ListenerConfig]:
    if not all(each.name in controllers for each in bound):
        _refuse(
            "The listeners config must only contain KRaft controller listeners from "
            f"{CONTROLLERS} when {ROLES}=controller",
            *(LISTENERS, CONTROLLERS, ROLES),
            remedy="name one in both, such as CONTROLLER://:9093",
        )
    return [ListenerConfig(each, None, protocols[each.name].removeprefix(_SASL)) for each in bound]


def _check_advertised(
    told: Sequence[ListenerAddress], all_bound: Sequence[ListenerAddress]
) -> None:
    names = [each.name for each in all_bound]
    if not {each.name for each in told} <= set(names):
        _refuse(
            "advertised.listeners listener names must be equal to or a subset of the ones defined "
            f"in listeners. Found {','.join(each.name for each in told)}. The valid options based "
            f"on the current configuration are {','.join(names)}",
            *(ADVERTISED, LISTENERS),
        )
    for each in told:
        if each.host in WILDCARDS:
            _refuse(
                f"advertised.listeners cannot use the nonroutable meta-address {each.host}. "
                "Use a routable IP address.",
                ADVERTISED,
            )


def _check_inter_broker_name(
    text: str | None, protocols: Iterable[str], advertised: Iterable[str]
) -> None:
    if text is None:
        return
    name = text.strip().upper()
    if name not in protocols:
        _refuse(
            f"Listener with name {name} defined in {INTER_BROKER_NAME} not found in "
            f"{PROTOCOL_MAP}.",
            *(INTER_BROKER_NAME, PROTOCOL_MAP),
        )
    if name not in advertised:
        _refuse(
            f"{INTER_BROKER_NAME} must be a listener name defined in advertised.listeners. The "
            "valid options based on currently configured listeners are " + ",".join(advertised),
            *(INTER_BROKER_NAME, ADVERTISED, LISTENERS),
        )


def parse_protocols(text: str | None) -> dict[str, str]:
    """Upper-case listener name to security protocol, as `listener.security.protocol.map` has them;
    None: as it is by default. `ListenersError` for what is no such map."""
    if text is None:
        text = BrokerConfig().listener_security_protocol_map
    protocols = {}
    for entry in text.split(",") if text.strip() else ():
        name, colon, protocol = entry.strip().rpartition(":")
        if not colon:
            _refuse(
                "Error parsing configuration property 'listener.security.protocol.map': "
                f"{entry.strip()!r} is not NAME:PROTOCOL",
                PROTOCOL_MAP,
            )
        if not name.strip():
            _refuse("The provided listener name is null or empty string", PROTOCOL_MAP)
        protocol = protocol.strip().upper()
        if protocol not in PROTOCOLS:
            _refuse(
                f"Invalid security protocol `{protocol}` defined in listener.security.protocol.map",
                PROTOCOL_MAP,
                remedy=f"allowed are {', '.join(PROTOCOLS)}",
            )
        protocols[name.strip().upper()] = protocol
    return protocols


def _parse_all(key: str, texts: Sequence[str], protocols: dict[str, str]) -> list[ListenerAddress]:
    """The entries of one setting, each with a name of its own."""
    shown = _shown(texts)
    found = []
    for text in texts:
        match = _ENTRY.fullmatch(text.strip())
        if match is None:
            _refuse_list(key, texts, f"Unable to parse {text} to a broker endpoint", _FORM)
        name, port = match["name"].upper(), int(match["port"])
        if name not in protocols:
            remedy = f"say it in {PROTOCOL_MAP}, such as {name}:{PLAINTEXT}"
            _refuse_list(key, texts, f"No security protocol defined for listener {name}", remedy)
        if not 0 <= port <= _MAX_PORT:
            # Kafka takes any int, and fails when it listens there.
            _refuse_list(key, texts, f"{match['port']} is not a port: 0 to {_MAX_PORT} are")
        found.append(ListenerAddress(name, match["host"], port))
    if len({each.name for each in found}) < len(found):
        _refuse_list(key, texts, f"Each listener must have a different name, listeners: {shown}")
    return found


def _check_ports(found: Sequence[ListenerAddress], texts: Sequence[str]) -> None:
    """Two listeners share a port only if one is bound to an IPv4 address and the other to an IPv6
    one."""
    by_port: dict[int, list[str]] = {}
    for each in found:
        if each.port:
            by_port.setdefault(each.port, []).append(each.host)
    shown = _shown(texts)
    for port, hosts in by_port.items():
        if len(hosts) == 1:
            continue
        versions = [address.version for address in map(_ip_address, hosts) if address]
        names = len(hosts) - len(versions)
        if names > 1:
            _refuse_list(
                LISTENERS, texts, f"Each listener must have a different port, listeners: {shown}"
            )
        if len(versions) != 2:
            _refuse_list(
                LISTENERS,
                texts,
                "Each listener must have a different port unless exactly one listener has an IPv4 "
                f"address and the other IPv6 address, listeners: {shown}, port: {port}",
            )
        if names or versions[0] == versions[1]:
            _refuse_list(
                LISTENERS,
                texts,
                "If you have two listeners on the same port then one needs to be IPv4 and the "
                f"other IPv6, listeners: {shown}, port: {port}",
            )


def parse_ip_limits(config: BrokerConfig) -> dict[str, int]:
    """By address, what `max.connections.per.ip.overrides` says: `HOST:COUNT,HOST:COUNT`, where all
    before the last colon is the host. `ListenersError` for what is no such list.

    Kafka differs: in `max.connections.per.ip.overrides` it takes names of hosts too."""
    limits = {}
    text = config.max_connections_per_ip_overrides
    if not text.strip() and config.max_connections_per_ip == 0:
        _refuse(
            "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides "
            "property is set.",
            _PER_IP,
        )
    for entry in text.split(",") if text.strip() else ():
        host, _, count = entry.strip().rpartition(":")
        host, count = host.strip(), count.strip()
        is_count = re.fullmatch(r"[+-]?[0-9]{1,10}", count, re.ASCII) and int(count) <= _MAX_INT
        if not host or not is_count:
            _refuse(
                "Error parsing configuration property 'max.connections.per.ip.overrides': "
                f"{entry.strip()!r} is not HOST:COUNT",
                _OVERRIDES,
            )
        address = _ip_address(host)
        if address is None:
            _refuse(
                f"max.connections.per.ip.overrides contains invalid addresses : {host}", _OVERRIDES
            )
        limits[str(address)] = int(count)
    return limits


def _ip_address(host: str) -> IPv4Address | IPv6Address | None:
    """None for a name."""
    from ipaddress import ip_address  # Rarely needed, and not cheap to import.

    try:
        return ip_address(host)
    except ValueError:
        return None


def _shown(texts: Iterable[str]) -> str:
    return f"[{', '.join(texts)}]"


def _refuse_list(key: str, texts: Sequence[str], why: str, remedy: str = "") -> NoReturn:
    message = f"Error creating broker listeners from '{_shown(texts)}': {why}"
    _refuse(message, key, remedy=remedy)


def _refuse(message: str, *keys: str, remedy: str = "") -> NoReturn:
    raise ListenersError(message, keys, remedy)
