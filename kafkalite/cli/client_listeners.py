"""Which of a broker's listeners a client on this machine can use.

A client connects twice: to a listener, and then to where that listener's `advertised.listeners`
sends it, which may be a host that exists in a container only, or a port that a container publishes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from kafkalite.config.listeners import ListenerAddress, parse_listeners
from kafkalite.ports.network import Address
from kafkalite.server.this_machine import where_to_dial

if TYPE_CHECKING:
    from kafkalite.config.views import BrokerConfig

_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


class ClientListener(NamedTuple):
    """One of them."""

    name: str
    address: Address
    """Where to dial from this machine."""
    told: str | None
    """Where its clients are sent on, `HOST:PORT`; None: nowhere, as it is not advertised."""
    is_usable: bool
    """From this machine."""


def client_listeners(
    config: BrokerConfig, bound: Sequence[Address], resolves: Callable[[str], bool]
) -> list[ClientListener]:
    """Those that can be used from here before the others, each in the order of the settings.
    `bound` is all that the broker listens on, `resolves` tells whether this machine knows a host.
    """
    wanted = parse_listeners(config)
    # One listener may have an address of each family, with the same port.
    ports = [next(each) for _, each in groupby(bound, key=lambda address: address.port)]
    if len(ports) != len(wanted):  # Two listeners share a port, one for each family.
        ports = list(bound)
    found = [
        _seen_from_here(listener.name, where_to_dial(address), listener.advertised, resolves)
        for listener, address in zip(wanted, ports, strict=False)
    ]
    return sorted(found, key=lambda listener: not listener.is_usable)


def _seen_from_here(
    name: str, address: Address, told: ListenerAddress | None, resolves: Callable[[str], bool]
) -> ClientListener:
    if told is None:
        return ClientListener(name, address, None, is_usable=False)
    host, port = told.host or address.host, told.port or address.port
    if host == address.host or host in _THIS_MACHINE:
        is_usable = port == address.port
    else:
        is_usable = resolves(host)
    return ClientListener(name, address, str(Address(host, port)), is_usable)
