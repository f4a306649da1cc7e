"""What a link with TLS does when the handshake is through: bytes, turns and ends."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress

import pytest

from kafkalite.log.files import Part
from kafkalite.ports.network import Address
from kafkalite.ports.network_memory import MemoryNetwork
from kafkalite.ports.tls_link import TlsLink
from kafkalite.testing.clock import SteerableClock
from tests.ports.network_kinds import Machine, encrypted
from tests.ports.tls_world import (
    Peer,
    World,
    client_context,
    hello_of,
    in_memory,
    turn,
)


def test_the_end_of_the_peers_side_is_the_end_after_what_came_before_it() -> None:
    """`close_notify`, its stream still open: TLSv1.3 would let it read on, Kafka does not."""

    async def body(world: World) -> None:
        peer = await world.peer()
        (server,) = world.accepted
        peer.tls.write(b"last words")
        with pytest.raises(ssl.SSLWantReadError):
            peer.tls.unwrap()
        peer.send()
        await server.until(lambda it: bool(it.ends))
        assert server.received == b"last words"
        assert server.ends == [None]
        await peer.plain.until(lambda it: bool(it.ends))
        peer.take()
        peer.tls.unwrap()  # It was answered.

    in_memory(body)


def test_a_stream_that_ends_without_a_word_is_an_end_too() -> None:
    async def body(world: World) -> None:
        peer = await world.peer()
        peer.write(b"last words")
        peer.plain.close()
        await world.accepted[0].until(lambda it: bool(it.ends))
        assert world.accepted[0].received == b"last words"
        assert world.accepted[0].ends == [None]

    in_memory(body)


def test_what_comes_with_the_last_step_of_the_handshake_is_read_even_if_the_peer_is_gone() -> None:
    async def body(world: World) -> None:
        peer = Peer(await world.plain())
        hello_of(peer)
        await peer.plain.until(lambda it: bool(it.received))
        peer.take()
        peer.tls.do_handshake()
        peer.tls.write(b"request")
        with pytest.raises(ssl.SSLWantReadError):
            peer.tls.unwrap()
        peer.send()
        peer.plain.close()
        (server,) = world.accepted
        await server.until(lambda it: bool(it.ends))
        assert server.received == b"request"

    in_memory(body)


def test_what_is_damaged_on_its_way_ends_the_connection() -> None:
    async def body(world: World) -> None:
        peer = await world.peer()
        peer.tls.write(b"question")
        data = bytearray(peer.outgoing.read())
        data[-1] ^= 1
        peer.plain.write(bytes(data))
        (server,) = world.accepted
        await server.until(lambda it: bool(it.ends))
        assert server.received == b""
        assert "bad record mac" in str(server.ends[0])

    in_memory(body)


def test_more_than_the_machine_takes_waits_and_comes_in_order() -> None:
    async def body(world: World) -> None:
        peer = await world.peer()
        (server,) = world.accepted
        assert server.link is not None
        link = server.link
        seen: list[int] = []

        def pause_and_go_on(data: bytes) -> None:
            seen.append(len(data))
            link.pause()
            asyncio.get_running_loop().call_soon(link.resume)

        server.on_bytes = pause_and_go_on
        server._space = memoryview(bytearray(1000))
        data = bytes(range(256)) * 400
        peer.write(data)
        peer.plain.close()
        await server.until(lambda it: bool(it.ends))
        assert server.received == data
        assert max(seen) <= 1000

    in_memory(body)


def test_the_end_waits_while_the_machine_is_busy_with_what_came_before_it() -> None:
    """Requests that a client sends before it closes are carried out, all of them."""

    async def body(world: World) -> None:
        peer = await world.peer()
        (server,) = world.accepted
        link = server.link
        assert link is not None
        server.on_bytes = lambda data: link.pause()
        peer.tls.write(b"two requests")
        with pytest.raises(ssl.SSLWantReadError):
            peer.tls.unwrap()
        peer.send()
        peer.plain.close()
        await server.until(lambda it: bool(it.received))
        for _ in range(20):
            await turn()
        assert not server.ends
        told: list[bool] = []
        link.watch_end(lambda: told.append(True))
        assert not told
        await turn()
        assert told
        link.resume()
        await server.until(lambda it: bool(it.ends))
        assert server.ends == [None]

    in_memory(body)


class Below:
    """A link that takes all that is written, at once."""

    local, peer, peer_certificate, progress = Address("here", 1), Address("there", 2), None, 0

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.is_paused = False
        self.is_closed = False
        self.last = bytearray()

    def write(self, parts: list[Part]) -> bool:
        for part in parts:
            assert isinstance(part, bytes)
            self.sent.append(len(part))
            self.last += part
        return True

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False

    def watch_end(self, ended: Callable[[], None]) -> None: ...

    def close(self) -> None:
        self.is_closed = True


async def shake(link: TlsLink, below: Below) -> None:
    """The other side's part."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = client_context().wrap_bio(there, back, server_hostname="localhost")
    for _ in range(2):
        with suppress(ssl.SSLWantReadError):
            tls.do_handshake()
        data = back.read()
        link.space()[: len(data)] = data
        link.filled(len(data))
        await turn()
        there.write(below.last)
        below.last.clear()


def test_a_large_answer_leaves_in_turns_in_which_nothing_is_read() -> None:
    """However fast the peer: other connections have their turn, and its end does not come before
    what it has sent."""

    async def main() -> None:
        clock = SteerableClock()
        machine, below = Machine(clock), Below()
        context = encrypted(MemoryNetwork(clock).node("a"), clock)._accepts
        assert context is not None
        link = TlsLink(context, machine)
        link.opened(below)
        await shake(link, below)
        was_paused = below.is_paused
        assert not was_paused
        below.sent.clear()
        assert not machine.write(bytes(3 << 20), b"end")
        taken = [sum(below.sent)]
        while not machine.drains:
            assert below.is_paused
            await turn()
            taken.append(sum(below.sent))
        assert taken[0] < (1 << 20) * 1.1
        assert taken[1] < (1 << 20) * 3.2
        assert taken[-1] > 3 << 20
        assert max(below.sent) < 17 << 10
        is_paused = below.is_paused
        assert not is_paused
        link.close()
        assert below.is_closed
        link.closed(None)

    asyncio.run(main())


def test_openssl_gets_one_records_worth_at_a_time() -> None:
    """Its memory keeps the size that it once had, as long as the connection stands."""

    async def body(world: World) -> None:
        peer = await world.peer()
        (server,) = world.accepted
        link = server.link
        assert isinstance(link, TlsLink)
        server._space = memoryview(bytearray(1000))
        waiting: list[int] = []
        server.on_bytes = lambda data: waiting.append(link._incoming.pending)
        data = bytes(range(256)) * 400
        peer.write(data)
        await server.until(lambda it: len(it.received) == len(data))
        assert server.received == data
        assert max(waiting) <= 16 << 10

    in_memory(body)


@pytest.mark.parametrize("host", ["a..b", "a\0b"])
def test_a_host_that_no_certificate_can_be_for_is_an_end_with_an_error(host: str) -> None:
    async def main() -> None:
        clock = SteerableClock()
        machine, below = Machine(clock), Below()
        dials = encrypted(MemoryNetwork(clock).node("a"), clock)._dials
        assert dials is not None
        link = TlsLink(dials, machine, host)
        link.opened(below)
        assert below.is_closed
        link.closed(None)
        assert f"no certificate can be for the host {host!r}" in str(machine.ends[0])

    asyncio.run(main())


def test_the_end_of_a_peer_waits_for_the_handshakes_before_its_own() -> None:
    async def body(world: World) -> None:
        peer = Peer(await world.plain())
        hello_of(peer)
        await peer.plain.until(lambda it: bool(it.received))
        peer.take()
        peer.tls.do_handshake()
        peer.tls.write(b"request")
        others = [Peer(await world.plain()) for _ in range(20)]
        for other in others:
            hello_of(other)
        peer.send()
        peer.plain.close()
        await world.accepted[0].until(lambda it: bool(it.ends))
        assert world.accepted[0].received == b"request"

    in_memory(body)
