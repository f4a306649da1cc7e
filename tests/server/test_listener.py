"""A listener and its connections, over real sockets with a steered clock, and over the memory
network."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from struct import pack
from typing import Any

import pytest

from kafkalite.ports.complaints import EVERY_MS, IN_FULL
from kafkalite.ports.network import Address, Link, Network
from kafkalite.ports.network_memory import MemoryNetwork
from kafkalite.ports.network_sockets import SocketNetwork
from kafkalite.server.answer_queue import Pending
from kafkalite.server.connection import Answer, ClientConnection
from kafkalite.server.listener import ConnectionCounts, ConnectionLimits, ServerListener
from kafkalite.server.receive_buffer import BufferPool
from kafkalite.testing.clock import SteerableClock

Make = Callable[[ConnectionLimits], ServerListener[str]]
Body = Callable[[Network, SteerableClock, Make], Coroutine[Any, Any, None]]
Run = Callable[[Body], None]

parked: list[Pending] = []
clients: list[Client] = []
"""All clients of the running test, which are closed when it ends."""


def answer(connection: ClientConnection[str], frame: memoryview) -> Answer:
    """`park` waits; `big` gives more than sockets hold; all else is echoed."""
    body = bytes(frame)
    if body == b"park":
        parked.append(Pending())
        return parked[-1]
    if body == b"big":
        return [bytes(20 << 20)]
    return [pack(">i", len(body)), body]


class Client:
    """The other end, as a machine of its own."""

    def __init__(self) -> None:
        self.link: Link | None = None
        self.received = bytearray()
        self.changed = asyncio.Event()
        self.ended = False
        self._space = memoryview(bytearray(1 << 20))
        clients.append(self)

    def opened(self, link: Link) -> None:
        self.link = link
        self.changed.set()

    def space(self) -> memoryview:
        return self._space

    def filled(self, size: int) -> None:
        self.received += self._space[:size]
        self.changed.set()

    def drained(self) -> None:
        pass

    def closed(self, error: OSError | None) -> None:
        self.ended = True
        self.changed.set()

    def send(self, body: bytes) -> None:
        assert self.link is not None
        self.link.write([pack(">i", len(body)) + body])

    async def until(self, condition: Callable[[Client], bool]) -> None:
        while not condition(self):
            self.changed.clear()
            await self.changed.wait()


async def connect(network: Network, listener: ServerListener[str]) -> Client:
    client = Client()
    network.dial(listener.address.host, listener.address.port, client)
    await client.until(lambda it: it.link is not None or it.ended)
    return client


async def echo(client: Client, body: bytes = b"hello") -> None:
    before = len(client.received)
    client.send(body)
    await client.until(lambda it: len(it.received) == before + 4 + len(body) or it.ended)
    assert client.received[before + 4 :] == body


async def until_held(network: Network, listener: ServerListener[str]) -> None:
    """Until the first connection has an answer that its client does not take."""
    first = next(iter(listener.connections))
    other = await connect(network, listener)
    while not first._held:
        await echo(other)


@pytest.fixture(params=["sockets", "memory"])
def run(request: pytest.FixtureRequest) -> Run:
    def run_body(body: Body) -> None:
        async def main() -> None:
            parked.clear()
            clients.clear()
            clock = SteerableClock()
            network: Network = (
                SocketNetwork(clock)
                if request.param == "sockets"
                else MemoryNetwork(clock).node("localhost")
            )

            def make(limits: ConnectionLimits) -> ServerListener[str]:
                listener = ServerListener(
                    network,
                    clock,
                    BufferPool(1 << 20),
                    answer,
                    new_session=lambda: "session",
                    limits=limits,
                    checks_views=True,
                )
                listener.start("localhost", 0)
                return listener

            await body(network, clock, make)
            for client in clients:
                if client.link is not None:
                    client.link.close()
                await client.until(lambda it: it.ended)

        asyncio.run(main())

    return run_body


def test_clients_are_served_until_the_stop(run: Run) -> None:
    async def body(network: Network, clock: SteerableClock, make: Make) -> None:
        listener = make(ConnectionLimits())
        assert listener.addresses[0] == listener.address
        clients = [await connect(network, listener) for _ in range(3)]
        for client in clients:
            await echo(client)
        assert [connection.session for connection in listener.connections] == ["session"] * 3
        await listener.stop(clock.now_ms() + 1000)
        assert list(listener.connections) == []
        for client in clients:
            await client.until(lambda it: it.ended)
        late = Client()
        network.dial(listener.address.host, listener.address.port, late)
        await late.until(lambda it: it.ended)
        assert late.link is None

    run(body)


def test_stop_without_clients_returns(run: Run) -> None:
    async def body(network: Network, clock: SteerableClock, make: Make) -> None:
        listener = make(ConnectionLimits())
        await listener.stop(clock.now_ms())
        await listener.stop(clock.now_ms())

    run(body)


def test_stop_lets_answers_leave(run: Run) -> None:
    async def body(network: Network, clock: SteerableClock, make: Make) -> None:
        listener = make(ConnectionLimits())
        client = await connect(network, listener)
        await echo(client)
        assert client.link is not None
        client.received.clear()
        client.link.pause()
        client.send(b"big")
        await until_held(network, listener)
        async with asyncio.TaskGroup() as group:
            group.create_task(listener.stop(clock.now_ms() + 1000))
            client.link.resume()
            await client.until(lambda it: it.ended)
        assert len(client.received) == 20 << 20

    run(body)


def test_stop_closes_at_its_deadline(run: Run) -> None:
    async def body(network: Network, clock: SteerableClock, make: Make) -> None:
        listener = make(ConnectionLimits())
        client = await connect(network, listener)
        await echo(client)
        assert client.link is not None
        client.link.pause()
        client.send(b"big")
        await until_held(network, listener)
        async with asyncio.TaskGroup() as group:
            stopping = group.create_task(listener.stop(clock.now_ms() + 1000))
            began = asyncio.Event()
            asyncio.get_running_loop().call_soon(began.set)
            await began.wait()
            assert not stopping.done()
            clock.advance(1000)
        assert list(listener.connections) == []
        client.link.close()

    run(body)


def test_a_limit_on_all_connections(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    async def body(network: Network, clock: SteerableClock, make: Make) -> None:
        listener = make(ConnectionLimits(max_connections=2))
        first, second = await connect(network, listener), await connect(network, listener)
        await echo(first)
        await echo(second)
        for _ in range(3):
            refused = await connect(network, listener)
            await refused.until(lambda it: it.ended)
        refusals = [record for record in caplog.records if record.levelno == logging.WARNING]
        assert len(refusals) == 1
        assert "max.connections=2" in caplog.text
        assert first.link is not None
        first.link.close()
        while len(list(listener.connections)) == 2:
            await echo(second)
        await echo(await connect(network, listener))
        refused = await connect(network, listener)
        await refused.until(lambda it: it.ended)
        refusals = [record for record in caplog.records if record.levelno == logging.WARNING]
        assert len(refusals) == 2, "another row of refusals is told again"
        await listener.stop(clock.now_ms() + 1000)

    run(body)


def test_a_limit_per_address(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    async def body(network: Network, clock: SteerableClock, make: Make) -> None:
        first = make(ConnectionLimits())
        here = first.address.host
        await first.stop(clock.now_ms())
        for limits, allowed in (
            (ConnectionLimits(max_connections_per_ip=1), 1),
            (
                ConnectionLimits(
                    max_connections_per_ip=0, max_connections_per_ip_overrides={here: 2}
                ),
                2,
            ),
        ):
            listener = make(limits)
            for _ in range(allowed):
                await echo(await connect(network, listener))
            refused = await connect(network, listener)
            await refused.until(lambda it: it.ended)
            assert f"max.connections.per.ip={allowed}" in caplog.text
            await listener.stop(clock.now_ms() + 1000)

    run(body)


def test_limits_hold_for_all_listeners_of_a_broker_and_an_address_has_one_name() -> None:
    counts = ConnectionCounts()
    listeners = [
        ServerListener[str](
            MemoryNetwork(SteerableClock()).node("broker"),
            SteerableClock(),
            BufferPool(1 << 20),
            answer,
            new_session=lambda: "session",
            limits=ConnectionLimits(max_connections=3, max_connections_per_ip=2),
            counts=counts,
        )
        for _ in range(2)
    ]

    async def body() -> list[bool]:
        peers = ["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.3"]
        return [
            listeners[n % 2]._accept(Address(peer, 1)) is not None for n, peer in enumerate(peers)
        ]

    assert asyncio.run(body()) == [True, True, False, True, False]


def test_addresses_that_come_and_go_do_not_heap_up() -> None:
    counts = ConnectionCounts()
    for n in range(3):
        counts.opened(f"192.0.2.{n}")
        counts.opened(f"192.0.2.{n}")
        counts.closed(f"192.0.2.{n}")
        assert counts.by_ip[f"192.0.2.{n}"] == 1
        counts.closed(f"192.0.2.{n}")
    assert (counts.total, len(counts.by_ip)) == (0, 0)


def test_idle_connections_are_closed_and_busy_ones_are_not(run: Run) -> None:
    async def body(network: Network, clock: SteerableClock, make: Make) -> None:
        listener = make(ConnectionLimits(max_idle_ms=10_000))
        idle, busy, waiting = [await connect(network, listener) for _ in range(3)]
        for client in (idle, busy, waiting):
            await echo(client)
        waiting.send(b"park")
        while not parked:
            await echo(busy)
        clock.advance(8_000)
        await echo(busy)
        clock.advance(4_000)
        await idle.until(lambda it: it.ended)
        await echo(busy)
        assert not waiting.ended
        waiting.received.clear()
        parked[0].complete([b"late"])
        await waiting.until(lambda it: it.received == b"late")
        clock.advance(20_000)
        await busy.until(lambda it: it.ended)
        await waiting.until(lambda it: it.ended)
        await listener.stop(clock.now_ms() + 1000)

    run(body)


def test_connections_may_be_idle_for_ever(run: Run) -> None:
    async def body(network: Network, clock: SteerableClock, make: Make) -> None:
        listener = make(ConnectionLimits(max_idle_ms=-1))
        client = await connect(network, listener)
        await echo(client)
        clock.advance(10**10)
        await echo(client)
        await listener.stop(clock.now_ms() + 1000)

    run(body)


def test_a_flood_of_bad_connections_is_no_flood_of_lines(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(network: Network, clock: SteerableClock, make: Make) -> None:
        listener = make(ConnectionLimits(max_request_bytes=1000))
        for _ in range(IN_FULL + 5):
            client = await connect(network, listener)
            assert client.link is not None
            client.link.write([b"GET / HTTP/1.1\r\n\r\n"])
            await client.until(lambda it: it.ended)
        assert len(caplog.messages) == IN_FULL
        clock.advance(EVERY_MS)
        assert len(caplog.messages) == IN_FULL + 1
        assert caplog.messages[-1].startswith("closed 5 more connections, the last ")
        await listener.stop(clock.now_ms())

    run(body)
