"""The other side of a link with TLS, in a test's hands: OpenSSL on memory, step by step, over the
network in memory."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kafkalite.ports.clock import Clock
from kafkalite.ports.network import Address, Connection, Network
from tests import certificates
from tests.ports.network_kinds import Machine, encrypted, run_in_memory


class HungUpError(Exception):
    """The link's side has."""


class Peer:
    """The other side: OpenSSL over a plain connection, in the test's hands."""

    def __init__(self, plain: Machine, context: ssl.SSLContext | None = None) -> None:
        self.plain = plain
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = (context or client_context()).wrap_bio(
            self.incoming, self.outgoing, server_hostname="localhost"
        )

    def send(self) -> None:
        """What OpenSSL has to say, if it has."""
        data = self.outgoing.read()
        if data:
            self.plain.write(data)

    def take(self) -> None:
        """What has come."""
        self.incoming.write(bytes(self.plain.received))
        self.plain.received.clear()

    async def shake(self) -> None:
        while True:
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                self.send()
                await self.plain.until(lambda it: bool(it.received) or bool(it.ends))
                if self.plain.ends:
                    raise HungUpError from None
                self.take()
            else:
                self.send()
                return

    async def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            try:
                data += self.tls.read(size - len(data))
            except ssl.SSLWantReadError:
                await self.plain.until(lambda it: bool(it.received) or bool(it.ends))
                if not self.plain.received:
                    raise HungUpError from None
                self.take()
        return data

    async def shake_and_read(self) -> None:
        """In TLSv1.3 a client learns late that it is refused."""
        await self.shake()
        await self.read(1)

    def write(self, data: bytes) -> None:
        self.tls.write(data)
        self.send()


def client_context(**more: Any) -> ssl.SSLContext:  # Any: attributes of the context.
    context = ssl.create_default_context(cadata=certificates.authority().pem)
    for name, value in more.items():
        setattr(context, name, value)
    return context


class World:
    """A listener with TLS on the memory network, and plain connections to it."""

    def __init__(self, network: Network, clock: Clock, **settings: str) -> None:
        self.network = network
        self.clock = clock
        self.accepted: list[Machine] = []
        self.listener = encrypted(network, clock, **settings).listen("localhost", 0, self._accept)

    def _accept(self, peer: Address) -> Connection:
        self.accepted.append(Machine(self.clock))
        return self.accepted[-1]

    async def plain(self) -> Machine:
        machine = Machine(self.clock)
        self.network.dial("localhost", self.listener.address.port, machine)
        await machine.until(lambda it: it.link is not None)
        return machine

    async def peer(self, context: ssl.SSLContext | None = None) -> Peer:
        peer = Peer(await self.plain(), context)
        await peer.shake()
        return peer


Body = Callable[[World], Coroutine[Any, Any, None]]


def in_memory(body: Body, **settings: str) -> None:
    async def over(network: Network, clock: Clock) -> None:
        await body(World(network, clock, **settings))

    run_in_memory(over, lambda network, clock: network)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


async def turn() -> None:
    """One of the loop."""
    over = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(over.set_result, None)
    await over


def hello_of(peer: Peer) -> None:
    with pytest.raises(ssl.SSLWantReadError):
        peer.tls.do_handshake()
    peer.send()
