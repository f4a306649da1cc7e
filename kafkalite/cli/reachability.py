"""Whether clients get further than the first address: a broker that answers there tells them where
to go on, and that may be where nobody is."""

from __future__ import annotations

import asyncio
import socket

from kafkalite.cli.errors import CommandError
from kafkalite.errors import ProtocolError

CONNECT_WITHIN_S = 5.0
"""For each address."""

_Place = tuple[str, int]
"""A host and a port."""


def try_to_connect(place: _Place) -> None:
    """`OSError`, or `UnicodeError` for what can be no host's name, when nobody takes it."""
    socket.create_connection(place, CONNECT_WITHIN_S).close()


def check_advertised(bootstrap: _Place) -> None:
    """`CommandError` when the broker there tells clients to go where none of them can. What does
    not answer like a broker is no concern of this."""
    try:
        places = asyncio.run(_advertised(bootstrap))
    except (OSError, ProtocolError):
        return
    problem = None
    for place in places:
        try:
            try_to_connect(place)
        except (OSError, UnicodeError) as error:
            problem = (
                f"{written(bootstrap)} answered, but tells clients to connect to {written(place)}, "
                f"which {_what_it_does(error)}; see advertised.listeners"
            )
        else:
            return
    if problem is not None:
        raise CommandError(problem)


def written(place: _Place) -> str:
    """As `HOST:PORT`."""
    host, port = place
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _what_it_does(error: OSError | UnicodeError) -> str:
    match error:
        case socket.gaierror() | UnicodeError():
            return "this machine cannot resolve"
        case ConnectionRefusedError():
            return "refuses"
        case TimeoutError():
            return "does not answer"
        case _:
            return f"this machine cannot reach ({error.strerror or error})"


async def _advertised(bootstrap: _Place) -> list[_Place]:
    """Of all brokers of the cluster."""
    from kafkalite.ports.clock import RealClock
    from kafkalite.ports.network import Address
    from kafkalite.ports.network_sockets import SocketNetwork
    from kafkalite.protocol.messages.metadata import MetadataRequest, MetadataResponse
    from kafkalite.testing.client import Client

    async with asyncio.timeout(CONNECT_WITHIN_S):
        client = await Client.connect(SocketNetwork(RealClock()), Address(*bootstrap))
        try:
            answer = await client.ask(MetadataRequest(topics=[]), 1, MetadataResponse)
        finally:
            client.close()
            await client.wait_closed()
    return [(broker.host, broker.port) for broker in answer.brokers]
