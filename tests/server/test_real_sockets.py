"""A whole broker on real sockets: its listeners and what their clients are told, its limits, and
what a bad client can do to the others."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from struct import pack
from typing import Concatenate, ParamSpec

import pytest

from kafkalite.config.views import BrokerConfig
from kafkalite.log.files import Files
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.files_os import OsFiles
from kafkalite.log.os_file import OsSlice
from kafkalite.ports.entropy import SeededEntropy
from kafkalite.ports.network import Address
from kafkalite.ports.network_sockets import SocketNetwork
from kafkalite.ports.workers import InlineWorkers
from kafkalite.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkalite.protocol.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from kafkalite.protocol.messages.fetch import FetchResponse
from kafkalite.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafkalite.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.server.broker import Broker
from kafkalite.server.broker_parts import Ports
from kafkalite.testing.client import Client
from kafkalite.testing.clock import SteerableClock
from tests.server.requests import batch, fetch, fetched, produce, produced, values
from tests.server.running import FETCH, PRODUCE

P = ParamSpec("P")

METADATA = 9
LONG_MS = 600_000
MAP = "listener.security.protocol.map"


class Real:
    """A broker on this machine's sockets, whose clock the test moves."""

    def __init__(self, broker: Broker, network: SocketNetwork, clock: SteerableClock) -> None:
        self.broker = broker
        self.network = network
        self.clock = clock
        self.clients: list[Client] = []

    async def connect(self, number: int = 0) -> Client:
        """To the address of that number."""
        self.clients.append(await Client.connect(self.network, self.broker.addresses[number]))
        return self.clients[-1]

    async def told(self, client: Client) -> list[tuple[str, int]]:
        """What Metadata tells of this broker; the other answers that tell it must agree."""
        metadata = await client.ask(MetadataRequest(topics=[]), METADATA, MetadataResponse)
        cluster = await client.ask(DescribeClusterRequest(), 0, DescribeClusterResponse)
        found = [(node.host, node.port) for node in metadata.brokers]
        assert [(node.host, node.port) for node in cluster.brokers] == found
        return found


def on_sockets(
    **settings: str,
) -> Callable[[Callable[Concatenate[Real, P], Awaitable[None]]], Callable[P, None]]:
    """Run the test with a broker that has these settings, with `_` for `.`."""
    keys = {key.replace("_", "."): value for key, value in settings.items()}
    keys.setdefault("listeners", "PLAINTEXT://127.0.0.1:0")

    def decorate(test: Callable[Concatenate[Real, P], Awaitable[None]]) -> Callable[P, None]:
        @wraps(test)
        def run_test(*args: P.args, **kwargs: P.kwargs) -> None:
            async def main() -> None:
                async with started(keys) as real:
                    await test(real, *args, **kwargs)

            asyncio.run(main())

        del vars(run_test)["__wrapped__"]
        return run_test

    return decorate


@asynccontextmanager
async def started(settings: dict[str, str], files: Files | None = None) -> AsyncIterator[Real]:
    clock = SteerableClock()
    network = SocketNetwork(clock)
    ports = Ports(clock, SeededEntropy(1), network, files or MemoryFiles(), InlineWorkers())
    config = BrokerConfig.of(settings)
    async with Broker(config, ports, location="memory", checks_views=True) as broker:
        real = Real(broker, network, clock)
        yield real
        for client in real.clients:
            client.close()
            await client.wait_closed()


async def ping(client: Client) -> None:
    """The broker serves this client."""
    await client.ask(ApiVersionsRequest(), 0, ApiVersionsResponse)


async def make_topic(client: Client) -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    response = await client.ask(request, METADATA, MetadataResponse)
    assert response.topics[0].error_code == 0


async def write(client: Client, *contents: bytes) -> int:
    answer = await client.ask(produce("t", {0: batch(*contents)}), PRODUCE, ProduceResponse)
    assert produced(answer)[0].error_code == 0
    return produced(answer)[0].base_offset


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


# Listeners.


@on_sockets()
async def test_port_0_is_a_free_one_and_the_bound_one_is_told(real: Real) -> None:
    (address,) = real.broker.addresses
    assert address.port > 0
    assert await real.told(await real.connect()) == [("127.0.0.1", address.port)]


@pytest.mark.parametrize("wildcard", ["", "0.0.0.0", "[::]"])
def test_a_wildcard_is_never_told_but_the_address_that_was_reached(wildcard: str) -> None:
    """Whichever it is, both families are listened on."""

    @on_sockets(listeners=f"PLAINTEXT://{wildcard}:0")
    async def talk(real: Real) -> None:
        port = real.broker.addresses[0].port
        for host in ("127.0.0.1", "127.0.0.2", "::1"):
            client = await Client.connect(real.network, Address(host, port))
            real.clients.append(client)
            assert await real.told(client) == [(host, port)]
        (endpoint,) = real.broker.image.brokers[real.broker.image.controller_id].endpoints
        assert endpoint.host not in ("", "0.0.0.0", "::")
        assert endpoint.port == port

    talk()


@on_sockets(
    listeners="IN://127.0.0.1:0,OUT://127.0.0.2:0",
    listener_security_protocol_map="IN:PLAINTEXT,OUT:PLAINTEXT",
    advertised_listeners="IN://:0,OUT://kafka.example.org:19092",
)
async def test_each_listener_tells_its_own(real: Real) -> None:
    inside, outside = real.broker.addresses
    assert (inside.host, outside.host) == ("127.0.0.1", "127.0.0.2")
    assert await real.told(await real.connect(0)) == [("127.0.0.1", inside.port)]
    assert await real.told(await real.connect(1)) == [("kafka.example.org", 19092)]
    endpoints = real.broker.image.brokers[real.broker.image.controller_id].endpoints
    assert [(e.name, e.host, e.port) for e in endpoints] == [
        ("IN", "127.0.0.1", inside.port),
        ("OUT", "kafka.example.org", 19092),
    ]


@on_sockets(
    listeners="IN://127.0.0.1:0,OUT://127.0.0.1:0",
    listener_security_protocol_map="IN:PLAINTEXT,OUT:PLAINTEXT",
    advertised_listeners="IN://inside:9092",
)
async def test_a_listener_that_is_not_advertised_tells_of_no_broker(real: Real) -> None:
    assert await real.told(await real.connect(0)) == [("inside", 9092)]
    assert await real.told(await real.connect(1)) == []


@on_sockets(advertised_listeners="PLAINTEXT://kafka.example.org:19092")
async def test_a_coordinator_is_told_of_like_any_broker(real: Real) -> None:
    client = await real.connect()
    request = FindCoordinatorRequest(coordinator_keys=["group"])
    while True:
        response = await client.ask(request, 4, FindCoordinatorResponse)
        (found,) = response.coordinators
        if found.error_code == 0:
            break
    assert (found.host, found.port) == ("kafka.example.org", 19092)


# Limits.


@on_sockets(max_connections="2")
async def test_max_connections(real: Real) -> None:
    first, second = await real.connect(), await real.connect()
    await ping(first)
    await ping(second)
    refused = await real.connect()
    await refused.wait_closed()
    await ping(second)


@on_sockets(
    listeners="IN://127.0.0.1:0,OUT://127.0.0.1:0",
    listener_security_protocol_map="IN:PLAINTEXT,OUT:PLAINTEXT",
    max_connections_per_ip="1",
)
async def test_max_connections_per_ip_holds_for_all_listeners_together(real: Real) -> None:
    first = await real.connect(0)
    await ping(first)
    await (await real.connect(1)).wait_closed()
    first.close()
    await first.wait_closed()
    await ping(await real.connect(1))


@on_sockets(max_connections_per_ip="0", max_connections_per_ip_overrides="127.0.0.1:2")
async def test_max_connections_per_ip_overrides(real: Real) -> None:
    for _ in range(2):
        await ping(await real.connect())
    await (await real.connect()).wait_closed()


@on_sockets(connections_max_idle_ms="10000")
async def test_connections_max_idle_ms(real: Real) -> None:
    idle, waiting = await real.connect(), await real.connect()
    await make_topic(idle)
    answer = waiting.send(fetch("t", {0: 0}, max_wait_ms=LONG_MS), FETCH, FetchResponse)
    await ping(idle)
    real.clock.advance(9_000)
    await ping(idle)
    for _ in range(12):
        real.clock.advance(1_000)
    await idle.wait_closed()
    assert not answer.done(), "whose request waits is not idle"
    await write(await real.connect(), b"x")
    assert values(fetched(await answer)[0]) == [b"x"]


@on_sockets(socket_request_max_bytes="1000")
async def test_socket_request_max_bytes(real: Real) -> None:
    good, bad = await real.connect(), await real.connect()
    await make_topic(good)
    await write(good, bytes(700))
    with pytest.raises(ConnectionError):
        await write(bad, bytes(1000))
    await ping(good)


# Order, and bad clients.


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no sendfile")
def test_records_go_from_the_file_to_the_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By `sendfile`: none of their bytes comes to Python."""
    sent: list[int] = []
    sendfile = os.sendfile

    def noted(to: int, fd: int, offset: int, count: int) -> int:
        sent.append(sendfile(to, fd, offset, count))
        return sent[-1]

    def refuse(part: OsSlice, offset: int, size: int) -> bytes:
        pytest.fail("a slice of a file was read")

    async def main() -> None:
        keys = {"listeners": "PLAINTEXT://127.0.0.1:0", "num.partitions": "1"}
        async with started(keys, OsFiles(str(tmp_path))) as real:
            client = await real.connect()
            await make_topic(client)
            contents = [bytes([number]) * 100_000 for number in range(5)]
            for content in contents:
                await write(client, content)
            monkeypatch.setattr(os, "sendfile", noted)
            monkeypatch.setattr(OsSlice, "read", refuse)
            (data,) = fetched(await client.ask(fetch("t", {0: 0}), FETCH, FetchResponse))
            assert values(data) == contents

    asyncio.run(main())
    assert sum(sent) == (tmp_path / "t-0" / f"{0:020d}.log").stat().st_size


@on_sockets()
async def test_pipelined_requests_are_answered_in_order_behind_one_that_waits(real: Real) -> None:
    client = await real.connect()
    await make_topic(client)
    waiting = fetch("t", {0: 0}, max_wait_ms=LONG_MS, min_bytes=1)
    first = client.send(waiting, FETCH, FetchResponse)
    second = client.send(ApiVersionsRequest(), 0, ApiVersionsResponse)
    await ping(await real.connect())
    assert not second.done()
    third = client.send(produce("t", {0: batch(b"x")}), PRODUCE, ProduceResponse)
    # The client takes the answers to be in the order of its requests, and decodes them as such.
    assert values(fetched(await first)[0]) == [b"x"], "the produce behind it wakes it"
    assert (await second).api_keys
    assert produced(await third)[0].base_offset == 0


@on_sockets()
async def test_a_client_that_takes_no_answers_holds_back_only_itself(real: Real) -> None:
    stuck, good = await real.connect(), await real.connect()
    await make_topic(good)
    for _ in range(8):
        await write(good, bytes(1_000_000))
    stuck._connected.pause()
    for _ in range(8):
        stuck.send(fetch("t", {0: 0}), FETCH, FetchResponse)
    for n in range(20):
        assert await write(good, b"x") == 8 + n
        await ping(good)


@on_sockets()
async def test_a_client_that_sends_half_a_request_holds_back_only_itself(real: Real) -> None:
    slow, good = await real.connect(), await real.connect()
    slow.send_bytes(pack(">i", 1 << 20) + bytes(100_000))
    await make_topic(good)
    for _ in range(5):
        await write(good, b"x")
    assert not slow._over.done()


BAD_FRAMES = {
    "negative": pack(">i", -1),
    "oversized": pack(">i", (100 << 20) + 1),
    "too short for a header": pack(">i", 3) + b"abc",
    "empty": pack(">i", 0),
    "unknown API": pack(">ihhih", 10, 999, 0, 1, -1),
    "unknown version": pack(">ihhih", 10, 3, 99, 1, -1),
    "malformed body": pack(">ihhihi", 14, 3, 0, 1, -1, 1 << 30),
    "no Kafka at all": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TLS": bytes.fromhex("16030100c8010000c40303"),
}


@pytest.mark.parametrize("name", BAD_FRAMES)
def test_a_bad_frame_closes_its_connection_with_one_line_and_harms_nobody_else(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    @on_sockets()
    async def talk(real: Real) -> None:
        good, bad = await real.connect(), await real.connect()
        await make_topic(good)
        waiting = good.send(fetch("t", {0: 0}, max_wait_ms=LONG_MS), FETCH, FetchResponse)
        await ping(bad)
        bad.send_bytes(BAD_FRAMES[name])
        await bad.wait_closed()
        await write(await real.connect(), b"x")
        assert values(fetched(await waiting)[0]) == [b"x"]

    talk()
    (line,) = warnings(caplog)
    assert "closing the connection" in line
