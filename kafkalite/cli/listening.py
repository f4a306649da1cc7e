"""Makes listeners that were written for a container, or for a broker that encrypts, such that a
broker can start with them here. Each change is a line for a person.

A host may be a name that exists in a container only (`kafka`, `broker`). Where it does not resolve,
the broker listens on this machine's own addresses at that port: what was written for a container
then starts on a laptop, and is reached from nowhere else.

Kafka differs: it speaks Kerberos. Here a listener that wants nothing but that (GSSAPI, by SASL) is
left out where another one remains; where none does, `config.sasl` refuses to start.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kafkalite.config.listeners import (
    ADVERTISED,
    CONTROLLERS,
    INTER_BROKER_NAME,
    LISTENERS,
    PLAINTEXT,
    PROTOCOL_MAP,
    is_controller_alone,
    parse_protocols,
)
from kafkalite.errors import KafkaError

ABOUT_LISTENERS = (LISTENERS, ADVERTISED, CONTROLLERS, INTER_BROKER_NAME, PROTOCOL_MAP)
"""The settings that say where to listen, and what to tell clients."""

_NAMED_HOST = re.compile(r"\s*(?P<name>.+)://(?P<host>[0-9A-Za-z._-]+):(?P<port>[0-9]+)\s*")


def host_resolves(host: str) -> bool:
    """Whether this machine knows an address of `host`. It may have to ask the network."""
    import socket

    try:
        return bool(socket.getaddrinfo(host, None))
    except (OSError, UnicodeError):
        return False


def adapt_listeners(values: dict[str, str], resolves: Callable[[str], bool]) -> list[str]:
    """Change `values` where it must be, and say so. What is not well written stays as it is."""
    if LISTENERS not in values:
        return []
    return [*_leave_out_unspoken(values), *_listen_here(values, resolves)]


def _leave_out_unspoken(values: dict[str, str]) -> list[str]:
    try:
        protocols = parse_protocols(values.get(PROTOCOL_MAP))
    except KafkaError:
        return []
    controllers = _names(values.get(CONTROLLERS, ""))
    unspoken = {
        name
        for name in map(_name, values[LISTENERS].split(","))
        if name not in controllers
        and protocols.get(name, PLAINTEXT).startswith("SASL")
        and _wants_kerberos(values, name)
    }
    if not unspoken:
        return []
    told = values.get(ADVERTISED, values[LISTENERS])
    if all(_name(entry) in {*unspoken, *controllers} for entry in told.split(",")):
        return []
    for key in (LISTENERS, ADVERTISED):
        if key in values:
            entries = values[key].split(",")
            values[key] = ",".join(entry for entry in entries if _name(entry) not in unspoken)
    if _name(values.get(INTER_BROKER_NAME, "")) in unspoken:
        del values[INTER_BROKER_NAME]
    return [
        f"warning: the listener {name} is left out: its sasl.enabled.mechanisms is GSSAPI "
        "(Kerberos), which is not spoken here"
        for name in sorted(unspoken)
    ]


def _wants_kerberos(values: dict[str, str], listener: str) -> bool:
    """And nothing else."""
    from kafkalite.config.sasl import spoken_mechanisms
    from kafkalite.config.views import BrokerConfig

    try:
        return not spoken_mechanisms(BrokerConfig.of(values), listener)
    except KafkaError:
        return False


def _listen_here(values: dict[str, str], resolves: Callable[[str], bool]) -> list[str]:
    not_here = set() if is_controller_alone(values) else _names(values.get(CONTROLLERS, ""))
    notes: list[str] = []
    entries = []
    for entry in values[LISTENERS].split(","):
        match = _NAMED_HOST.fullmatch(entry)
        if match is None or _name(entry) in not_here or resolves(match["host"]):
            entries.append(entry)
            continue
        entries.append(f"{match['name']}://localhost:{match['port']}")
        notes.append(
            f"warning: this machine knows no host {match['host']}: {entry.strip()} listens on "
            f"localhost:{match['port']} instead"
        )
    if notes:
        values[LISTENERS] = ",".join(entries)
    return notes


def _name(entry: str) -> str:
    """Of `NAME://HOST:PORT`, as Kafka compares it."""
    return entry.partition("://")[0].strip().upper()


def _names(text: str) -> set[str]:
    return {name.strip().upper() for name in text.split(",")}
