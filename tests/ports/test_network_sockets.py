"""What only real sockets have: two families, a backlog, descriptors that run out, an abrupt
peer."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import struct
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.files import Part
from kafkalite.ports import network_sockets, socket_link
from kafkalite.ports.entropy import RealEntropy
from kafkalite.ports.network import Address, Link
from kafkalite.ports.network_sockets import SocketNetwork
from kafkalite.testing.clock import SteerableClock

Body = Callable[[SocketNetwork, SteerableClock], Coroutine[Any, Any, None]]


made: list[Machine] = []
"""All machines of the running test, which are closed when it ends."""


class Machine:
    def __init__(self) -> None:
        self.link: Link | None = None
        self.received = bytearray()
        self.pieces: list[int] = []
        self.unused = 0
        """How often there was nothing to receive."""
        self.ends: list[OSError | None] = []
        self.changed = asyncio.Event()
        self.room(1024)
        made.append(self)

    def room(self, size: int) -> None:
        """For what one receive takes."""
        self._space = memoryview(bytearray(size))

    def opened(self, link: Link) -> None:
        self.link = link
        self.changed.set()

    def space(self) -> memoryview:
        return self._space

    def filled(self, size: int) -> None:
        if not size:
            self.unused += 1
            return
        self.received += self._space[:size]
        self.pieces.append(size)
        self.changed.set()

    def drained(self) -> None:
        self.changed.set()

    def closed(self, error: OSError | None) -> None:
        self.ends.append(error)
        self.changed.set()

    async def until(self, condition: Callable[[Machine], bool]) -> None:
        while not condition(self):
            self.changed.clear()
            await self.changed.wait()


class Slice:
    position = 0

    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, os.O_RDONLY)
        self.size = path.stat().st_size
        self.released = 0

    def __len__(self) -> int:
        return self.size

    def read(self, offset: int, size: int) -> bytes:
        return os.pread(self.fd, size, offset)

    def release(self) -> None:
        self.released += 1
        os.close(self.fd)


def over_sockets(body: Body) -> None:
    async def main() -> None:
        made.clear()
        clock = SteerableClock()
        await body(SocketNetwork(clock), clock)
        for machine in made:
            if machine.link is not None:
                machine.link.close()
                await machine.until(lambda it: bool(it.ends))

    asyncio.run(main())


async def _connected(network: SocketNetwork) -> tuple[socket.socket, Machine]:
    """A plain socket of a client, and the machine of the server."""
    machine = Machine()
    listener = network.listen("127.0.0.1", 0, lambda peer: machine)
    client = socket.create_connection(listener.address)
    await machine.until(lambda it: it.link is not None)
    listener.close()
    return client, machine


def test_localhost_is_both_families_on_one_port() -> None:
    async def body(network: SocketNetwork, clock: SteerableClock) -> None:
        peers: list[Address] = []

        def accept(peer: Address) -> Machine:
            peers.append(peer)
            return Machine()

        listener = network.listen("localhost", 0, accept)
        hosts = {address.host for address in listener.addresses}
        assert {"127.0.0.1"} <= hosts <= {"127.0.0.1", "::1"}
        assert {address.port for address in listener.addresses} == {listener.address.port}
        for address in listener.addresses:
            client = Machine()
            network.dial(address.host, address.port, client)
            await client.until(lambda it: it.link is not None)
            assert client.link is not None
            assert client.link.peer == address
            client.link.close()
            await client.until(lambda it: bool(it.ends))
        listener.close()

    over_sockets(body)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::"])
def test_all_addresses_are_those_of_both_families(host: str) -> None:
    async def body(network: SocketNetwork, clock: SteerableClock) -> None:
        listener = network.listen(host, 0, lambda peer: None)
        assert {address.host for address in listener.addresses} <= {"0.0.0.0", "::"}
        assert listener.address.host == "0.0.0.0"
        listener.close()

    over_sockets(body)


def test_a_host_that_is_not_ours() -> None:
    async def body(network: SocketNetwork, clock: SteerableClock) -> None:
        with pytest.raises(OSError, match=r"cannot listen on 192\.0\.2\.1:9092"):
            network.listen("192.0.2.1", 9092, lambda peer: None)

    over_sockets(body)


def test_a_name_is_looked_up() -> None:
    async def body(network: SocketNetwork, clock: SteerableClock) -> None:
        listener = network.listen("localhost", 0, lambda peer: Machine())
        client = Machine()
        network.dial("localhost", listener.address.port, client)
        await client.until(lambda it: it.link is not None)
        listener.close()
        lost = Machine()
        network.dial("no-such-host.invalid", 9092, lost)
        await lost.until(lambda it: bool(it.ends))
        assert isinstance(lost.ends[0], OSError)

    over_sockets(body)


@pytest.mark.parametrize("host", ["a..b", "x" * 64])
def test_what_can_be_no_name_is_an_error_of_the_dial(host: str) -> None:
    """Brokers dial what other brokers say of themselves."""

    async def body(network: SocketNetwork, _clock: SteerableClock) -> None:
        machine = Machine()
        network.dial(host, 9092, machine)
        await machine.until(lambda it: bool(it.ends))
        assert "has no address" in str(machine.ends[0])

    over_sockets(body)


def test_the_send_buffer_is_bounded() -> None:
    async def body(network: SocketNetwork, clock: SteerableClock) -> None:
        client, machine = await _connected(network)
        assert isinstance(machine.link, socket_link.SocketLink)
        # Linux doubles what it is asked for.
        size = machine.link._socket.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        assert size <= 2 * network_sockets.DEFAULT_SEND_BUFFER_BYTES
        client.close()

    over_sockets(body)


def test_small_answers_do_not_wait_for_the_next_one() -> None:
    async def body(network: SocketNetwork, clock: SteerableClock) -> None:
        server, client = Machine(), Machine()
        listener = network.listen("127.0.0.1", 0, lambda peer: server)
        network.dial("127.0.0.1", listener.address.port, client)
        for machine in (server, client):
            await machine.until(lambda it: it.link is not None)
            assert isinstance(machine.link, socket_link.SocketLink)
            assert machine.link._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        listener.close()

    over_sockets(body)


def test_at_most_64_are_accepted_in_a_turn() -> None:
    async def body(network: SocketNetwork, clock: SteerableClock) -> None:
        turn = 0
        turns: list[int] = []

        def refuse(peer: Address) -> None:
            turns.append(turn)

        def next_turn() -> None:
            nonlocal turn
            turn += 1
            if len(turns) < 100:
                asyncio.get_running_loop().call_soon(next_turn)

        listener = network.listen("127.0.0.1", 0, refuse)
        clients = [socket.create_connection(listener.address, 5) for _ in range(100)]
        next_turn()
        while len(turns) < 100:
            await _turn()
        assert max(turns.count(each) for each in set(turns)) == 64
        listener.close()
        for client in clients:
            client.close()

    over_sockets(body)


def test_a_reset_is_told_with_its_error() -> None:
    async def body(network: SocketNetwork, clock: SteerableClock) -> None:
        client, machine = await _connected(network)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        await machine.until(lambda it: bool(it.ends))
        assert isinstance(machine.ends[0], ConnectionResetError)

    over_sockets(body)


def test_a_reset_under_an_answer_gives_the_slice_back(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(bytes(16 << 20))

    async def body(network: SocketNetwork, clock: SteerableClock) -> None:
        client, machine = await _connected(network)
        piece = Slice(file)
        assert machine.link is not None
        assert not machine.link.write([b"head", piece])
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        await machine.until(lambda it: bool(it.ends))
        assert isinstance(machine.ends[0], OSError)
        assert piece.released == 1

    over_sockets(body)


def test_many_small_slices_leave_in_one_turn(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"record")

    async def body(network: SocketNetwork, clock: SteerableClock) -> None:
        client, machine = await _connected(network)
        assert machine.link is not None
        slices = [Slice(file) for _ in range(100)]
        parts: list[Part] = []
        for piece in slices:
            parts += [b"head", piece]
        assert machine.link.write([*parts, b"tail"])
        assert [piece.released for piece in slices] == [1] * 100
        assert client.recv(1004, socket.MSG_WAITALL) == b"headrecord" * 100 + b"tail"
        client.close()

    over_sockets(body)


@pytest.mark.parametrize("missing", ["_HAS_SENDFILE", "_HAS_SENDMSG"])
def test_platforms_that_have_less(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket_link, missing, False)
    file = tmp_path / "file"
    file.write_bytes(RealEntropy().token_bytes(3 << 20))

    async def body(network: SocketNetwork, clock: SteerableClock) -> None:
        client, machine = await _connected(network)
        assert machine.link is not None
        piece, short = Slice(file), Slice(file)
        machine.link.write([b"one", b"two", b"three", piece, b"tail"])
        expected = b"onetwothree" + file.read_bytes() + b"tail"
        received = bytearray()
        client.setblocking(False)
        while len(received) < len(expected):
            received += await asyncio.get_running_loop().sock_recv(client, 1 << 20)
        assert received == expected
        await machine.until(lambda it: piece.released == 1)
        if missing == "_HAS_SENDFILE":
            os.truncate(file, 10)
            machine.link.write([short])
            while await asyncio.get_running_loop().sock_recv(client, 1 << 20):
                pass
            await machine.until(lambda it: bool(it.ends))
            assert isinstance(machine.ends[0], socket_link.TruncatedSliceError)
            assert short.released == 1
        else:
            short.release()
        client.close()

    over_sockets(body)


class ShortSocket(socket.socket):
    """A listening socket that finds no descriptor until it is told to."""

    tries = 0
    is_short = True

    def accept(self) -> tuple[socket.socket, Any]:  # Any: the type of `socket.accept`.
        self.tries += 1
        if self.is_short:
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


def test_out_of_descriptors_accepting_pauses_and_is_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fakes: list[ShortSocket] = []
    bind = network_sockets._bind

    def bind_short(host: str, port: int) -> list[ShortSocket]:
        fakes.extend(ShortSocket(fileno=sock.detach()) for sock in bind(host, port))
        return fakes

    monkeypatch.setattr(network_sockets, "_bind", bind_short)

    async def body(network: SocketNetwork, clock: SteerableClock) -> None:
        machine = Machine()
        listener = network.listen("127.0.0.1", 0, lambda peer: machine)
        client = Machine()
        network.dial("127.0.0.1", listener.address.port, client)
        await client.until(lambda it: it.link is not None)
        (fake,) = fakes
        for tries in (1, 2, 3):
            while fake.tries < tries:
                await _turn()
            await _turn()
            clock.advance(network_sockets.OUT_OF_DESCRIPTORS_PAUSE_MS - 1)
            await _turn()
            assert fake.tries == tries
            clock.advance(1)
        fake.is_short = False
        clock.advance(network_sockets.OUT_OF_DESCRIPTORS_PAUSE_MS)
        await machine.until(lambda it: it.link is not None)
        assert len(caplog.records) == 1
        assert "cannot accept connections" in caplog.text
        listener.close()

    over_sockets(body)


def test_connections_leave_descriptors_for_files(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    limits = iter([network_sockets.KEPT_DESCRIPTORS, 1 << 30])
    monkeypatch.setattr(network_sockets, "descriptor_limit", lambda: next(limits))

    async def body(network: SocketNetwork, clock: SteerableClock) -> None:
        machine = Machine()
        short, enough = (network.listen("127.0.0.1", 0, lambda peer: machine) for _ in range(2))
        for _ in range(2):
            refused = Machine()
            network.dial("127.0.0.1", short.address.port, refused)
            await refused.until(lambda it: bool(it.ends))
            clock.advance(network_sockets.OUT_OF_DESCRIPTORS_PAUSE_MS)
        client = Machine()
        network.dial("127.0.0.1", enough.address.port, client)
        await machine.until(lambda it: it.link is not None)
        assert [record.message for record in caplog.records] == [
            f"cannot accept connections on {short.address}: Too many open files"
        ]
        short.close()
        enough.close()

    over_sockets(body)


async def _turn() -> None:
    """Let the loop look at its sockets once."""
    turned = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.call_soon(lambda: loop.call_soon(turned.set))
    await turned.wait()


def test_a_closed_listener_that_waited_for_descriptors_stays_closed() -> None:
    async def body(network: SocketNetwork, clock: SteerableClock) -> None:
        listener = network.listen("127.0.0.1", 0, lambda peer: None)
        assert isinstance(listener, network_sockets._SocketListener)
        listener._pause(OSError(errno.EMFILE, "Too many open files"))
        listener.close()
        clock.advance(10_000)

    over_sockets(body)


def test_hundreds_may_connect_before_the_first_is_accepted() -> None:
    async def body(network: SocketNetwork, clock: SteerableClock) -> None:
        machines: list[Machine] = []

        def accept(peer: Address) -> Machine:
            machines.append(Machine())
            return machines[-1]

        listener = network.listen("127.0.0.1", 0, accept)
        # None of these waits for an accept: the backlog takes them all.
        count = min(300, network_sockets.DEFAULT_BACKLOG)
        clients = [socket.create_connection(listener.address, 5) for _ in range(count)]
        while len(machines) < count:
            await _turn()
        for client in clients:
            client.close()
        for machine in machines:
            await machine.until(lambda it: bool(it.ends))
        listener.close()

    over_sockets(body)
