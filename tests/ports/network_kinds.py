"""All networks: sockets on asyncio and on uvloop where it is, and memory, each as it is and with
TLS; and machines that note what they are told."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kafkalite.config.tls import tls_settings
from kafkalite.config.views import BrokerConfig
from kafkalite.log.files import Part
from kafkalite.ports.clock import Clock, RealClock
from kafkalite.ports.network import Address, Connection, Link, Network
from kafkalite.ports.network_memory import MemoryNetwork
from kafkalite.ports.network_sockets import SocketNetwork
from kafkalite.ports.network_tls import TlsNetwork
from kafkalite.ports.tls_context import client_context, server_context
from kafkalite.testing.clock import VirtualClock
from kafkalite.testing.simulation import VirtualLoop
from tests import certificates

Body = Callable[[Network, Clock], Coroutine[Any, Any, None]]
Run = Callable[[Body], None]
PATIENCE_MS = 60_000
made: list[Machine] = []
"""All machines of the running test, which are closed when it ends."""


class Machine:
    """Collects what it is told; a test waits for a condition on it."""

    def __init__(self, clock: Clock, space: int = 64 << 10) -> None:
        self.clock = clock
        self.link: Link | None = None
        self.received = bytearray()
        self.pieces: list[int] = []
        self.drains = 0
        self.ends: list[OSError | None] = []
        self.inside_write = False
        self.on_bytes: Callable[[bytes], None] = lambda data: None
        self._space = memoryview(bytearray(space))
        self._changed = asyncio.Event()
        made.append(self)

    def opened(self, link: Link) -> None:
        assert self.link is None
        self.link = link
        self._changed.set()

    def space(self) -> memoryview:
        assert self.link is not None
        assert not self.ends
        return self._space

    def filled(self, size: int) -> None:
        assert not self.ends
        if not size:
            return
        data = bytes(self._space[:size])
        self.received += data
        self.pieces.append(size)
        self.on_bytes(data)
        self._changed.set()

    def drained(self) -> None:
        assert not self.inside_write
        self.drains += 1
        self._changed.set()

    def closed(self, error: OSError | None) -> None:
        assert not self.inside_write
        self.ends.append(error)
        self._changed.set()

    def write(self, *parts: Part) -> bool:
        assert self.link is not None
        self.inside_write = True
        taken = self.link.write(list(parts))
        self.inside_write = False
        return taken

    def close(self) -> None:
        assert self.link is not None
        self.inside_write = True
        self.link.close()
        self.inside_write = False

    async def until(self, condition: Callable[[Machine], bool]) -> None:
        deadline_ms = self.clock.now_ms() + PATIENCE_MS
        while not condition(self):
            self._changed.clear()
            await self.clock.wait(self._changed.wait(), deadline_ms)


class Slice:
    """A leased range of a file that knows how often it was given back."""

    def __init__(self, path: Path, position: int, size: int) -> None:
        self.fd = os.open(path, os.O_RDONLY)
        self.position = position
        self.released = 0
        self._size = size

    def __len__(self) -> int:
        return self._size

    def read(self, offset: int, size: int) -> bytes:
        return os.pread(self.fd, size, self.position + offset)

    def release(self) -> None:
        self.released += 1
        if self.released == 1:
            os.close(self.fd)


@dataclass(frozen=True)
class Kind:
    name: str
    run: Run


async def _over_sockets(body: Body) -> None:
    clock = RealClock()
    await _and_close_all(body, SocketNetwork(clock), clock)


async def _over_tls(body: Body) -> None:
    clock = RealClock()
    await _and_close_all(body, encrypted(SocketNetwork(clock), clock), clock)


def encrypted(network: Network, clock: Clock, **settings: str) -> TlsNetwork:
    """What that network carries; both sides have the same settings, `ssl_` before each name."""
    key = certificates.broker()
    tls = tls_settings(
        BrokerConfig.of(
            {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.key": key.key_pem(),
                "ssl.keystore.certificate.chain": key.pem,
                "ssl.truststore.type": "PEM",
                "ssl.truststore.certificates": key.trusted,
                **{name.replace("_", "."): value for name, value in settings.items()},
            }
        ),
        "SSL",
    )
    return TlsNetwork(network, clock, accepts=server_context(tls), dials=client_context(tls))


async def _and_close_all(body: Body, network: Network, clock: Clock) -> None:
    made.clear()
    await body(network, clock)
    for machine in made:
        if machine.link is not None:
            machine.close()
            await machine.until(lambda it: bool(it.ends))


def _run_uvloop(body: Body) -> None:
    import uvloop

    uvloop.run(_over_sockets(body))


def _run_uvloop_tls(body: Body) -> None:
    import uvloop

    uvloop.run(_over_tls(body))


def _run_memory(body: Body) -> None:
    run_in_memory(body, lambda network, clock: network)


def run_in_memory(body: Body, wrapped: Callable[[Network, Clock], Network]) -> None:
    """In virtual time; `wrapped` makes the network what the body is to have."""
    loop = VirtualLoop()
    clock = VirtualClock(loop)

    async def main() -> None:
        network = wrapped(MemoryNetwork(clock).node("localhost"), clock)
        await _and_close_all(body, network, clock)

    try:
        loop.run_until_complete(main())
    finally:
        loop.close()


KINDS = [
    Kind("sockets", lambda body: asyncio.run(_over_sockets(body))),
    Kind("memory", _run_memory),
    Kind("tls", lambda body: asyncio.run(_over_tls(body))),
    Kind("tls in memory", lambda body: run_in_memory(body, encrypted)),
]
if find_spec("uvloop"):
    KINDS += [Kind("uvloop", _run_uvloop), Kind("tls on uvloop", _run_uvloop_tls)]


async def pair(network: Network, clock: Clock) -> tuple[Machine, Machine]:
    """A client and a server, connected."""
    accepted: list[Machine] = []

    def accept(peer: Address) -> Connection:
        accepted.append(Machine(clock))
        return accepted[-1]

    listener = network.listen("localhost", 0, accept)
    client = Machine(clock)
    network.dial("localhost", listener.address.port, client)
    await client.until(lambda machine: machine.link is not None)
    client.write(b"hello")
    while not accepted:
        await clock.wait_until(clock.now_ms() + 1)
    await accepted[0].until(lambda machine: machine.received == b"hello")
    accepted[0].received.clear()
    listener.close()
    return client, accepted[0]
