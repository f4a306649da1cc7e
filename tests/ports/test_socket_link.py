"""What a link asks of its socket, call by call."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.files import Part
from kafkalite.ports import socket_link
from kafkalite.ports.network_sockets import SocketNetwork
from kafkalite.ports.peer_ends import PeerEnds
from kafkalite.ports.vigil import Vigil
from kafkalite.testing.clock import SteerableClock
from tests.ports.test_network_sockets import Machine, Slice, _connected, _turn, made, over_sockets


class NotingSocket(socket.socket):
    """Notes the flags of what is sent."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(fileno=sock.detach())
        self.setblocking(False)
        self.flags: list[int] = []

    def send(self, data: Any, flags: int = 0) -> int:  # Any: what a socket takes.
        self.flags.append(flags)
        return super().send(data, flags)

    def sendmsg(self, buffers: Any, ancdata: Any = (), flags: int = 0) -> int:  # type: ignore[override]  # as is.
        self.flags.append(flags)
        return super().sendmsg(buffers, ancdata, flags)


async def _noting_link(
    vigil: Vigil | None = None,
) -> tuple[socket.socket, NotingSocket, socket_link.SocketLink]:
    """The other end, and a link over a socket that notes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        client = socket.create_connection(listening.getsockname())
        noting = NotingSocket(listening.accept()[0])
    machine = Machine()
    loop = asyncio.get_running_loop()
    vigil = vigil or Vigil(loop.call_soon, 0)
    link = socket_link.SocketLink(loop, noting, machine, PeerEnds(), vigil)
    link.start()
    return client, noting, link


def test_a_header_shares_its_packet_with_the_slice_behind_it(tmp_path: Path) -> None:
    more = getattr(socket, "MSG_MORE", 0)  # Linux alone has it.

    async def body(network: SocketNetwork, clock: SteerableClock) -> None:
        path = tmp_path / "slice"
        path.write_bytes(b"records")
        client, noting, link = await _noting_link()
        cases: list[tuple[list[Part], list[int]]] = [
            ([b"head", Slice(path)], [more]),
            ([b"head", b"more", Slice(path)], [more]),
            ([b"head", Slice(path), b"tail"], [more, 0]),
            ([b"head", b"tail"], [0]),
        ]
        for parts, flags in cases:
            assert link.write(parts)
            assert noting.flags == flags
            noting.flags.clear()
        client.close()

    over_sockets(body)


def test_small_answers_leave_as_one_and_the_rest_of_them_follows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def body(network: SocketNetwork, clock: SteerableClock) -> None:
        client, noting, link = await _noting_link()
        sent: list[bytes] = []

        def send(data: bytes, flags: int = 0) -> int:
            sent.append(bytes(data))
            return 3 if len(sent) == 1 else len(data)

        monkeypatch.setattr(noting, "send", send)
        assert not link.write([b"one", b"two", b"three"])
        while link._queue:
            await _turn()
        assert sent == [b"onetwothree", b"twothree"]
        large = bytes(socket_link.SMALL_ANSWER + 1)
        assert link.write([b"one", large])
        assert noting.flags == [0], "by sendmsg, and not copied"
        assert len(sent) == 2
        client.close()

    over_sockets(body)


def test_one_turn_takes_a_mebibyte_of_a_slice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However fast the peer: other connections have their turn."""
    counts: list[int] = []

    def sendfile(to: int, fd: int, offset: int, count: int) -> int:
        counts.append(count)
        return count

    async def body(network: SocketNetwork, clock: SteerableClock) -> None:
        path = tmp_path / "slice"
        path.write_bytes(bytes((5 << 20) // 2))
        client, _, link = await _noting_link()
        monkeypatch.setattr(socket_link, "_HAS_SENDFILE", True)
        monkeypatch.setattr(os, "sendfile", sendfile, raising=False)
        assert not link.write([Slice(path)])
        assert counts == [1 << 20]
        machine = made[-1]
        while link._queue:
            await _turn()
        assert counts == [1 << 20, 1 << 20, 1 << 19]
        await _turn()
        assert machine.ends == []
        client.close()

    over_sockets(body)


def test_what_ends_an_answer_leaves_with_its_slice_whose_size_is_all_that_a_turn_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A consumer that fetches a mebibyte waits for its last bytes too. The next slice has to wait;
    what leads it is in its packet."""
    more = getattr(socket, "MSG_MORE", 0)

    async def body(network: SocketNetwork, clock: SteerableClock) -> None:
        path = tmp_path / "slice"
        path.write_bytes(bytes(1 << 20))
        client, noting, link = await _noting_link()
        monkeypatch.setattr(socket_link, "_HAS_SENDFILE", True)
        monkeypatch.setattr(os, "sendfile", lambda to, fd, offset, count: count, raising=False)
        assert link.write([b"head", Slice(path), b"tail"])
        assert noting.flags == [more, 0]
        assert not link.write([b"head", Slice(path), b"tail", b"head", Slice(path)])
        assert noting.flags == [more, 0, more, more]
        while link._queue:
            await _turn()
        assert noting.flags == [more, 0, more, more]
        await _turn()
        assert made[-1].ends == [], "a turn that is at its end asks for no empty piece of a slice"
        client.close()

    over_sockets(body)


def test_only_a_small_receive_keeps_the_loop_awake() -> None:
    async def body(network: SocketNetwork, clock: SteerableClock) -> None:
        soon: list[object] = []
        client, _, _ = await _noting_link(Vigil(soon.append, 60))
        machine = made[-1]
        small = socket_link.SMALL_RECEIVE
        machine.room(small + 1)
        for size, begun in ((small + 1, 0), (small, 1)):
            client.sendall(bytes(size))
            await machine.until(lambda it: bool(it.pieces))
            assert machine.pieces == [size]
            assert len(soon) == begun
            machine.pieces.clear()
        client.close()
        await machine.until(lambda it: bool(it.ends))

    over_sockets(body)


def test_a_full_small_receive_is_followed_by_a_second_one_in_the_same_turn() -> None:
    async def body(network: SocketNetwork, clock: SteerableClock) -> None:
        client, machine = await _connected(network)
        turns: list[int] = []
        assert machine.link is not None
        machine.link.pause()
        client.sendall(bytes(1500))
        machine.link.resume()
        filled = machine.filled

        def note(size: int) -> None:
            filled(size)
            if len(machine.pieces) == 1:
                asyncio.get_running_loop().call_soon(lambda: turns.append(len(machine.pieces)))

        machine.filled = note  # type: ignore[method-assign]  # watches one call of the machine.
        await machine.until(lambda it: len(it.received) == 1500)
        while not turns:
            await _turn()
        assert machine.pieces == [1024, 476]
        assert turns == [2]
        client.close()

    over_sockets(body)


def test_space_that_nothing_came_into_is_given_back() -> None:
    async def body(network: SocketNetwork, clock: SteerableClock) -> None:
        client, machine = await _connected(network)
        machine.room(10)
        client.sendall(bytes(10))
        await machine.until(lambda it: bool(it.pieces))
        assert (machine.pieces, machine.unused) == ([10], 1)
        client.close()
        await machine.until(lambda it: bool(it.ends))
        assert machine.unused == 2

    over_sockets(body)
