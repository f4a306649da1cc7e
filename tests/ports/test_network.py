"""One contract for both networks: sockets (on asyncio, and on uvloop where it is) and memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalite.ports.clock import Clock
from kafkalite.ports.network import Address, Network
from tests.ports.network_kinds import KINDS, Kind, Machine, Run, Slice, pair


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def run(request: pytest.FixtureRequest) -> Run:
    kind = request.param
    assert isinstance(kind, Kind)
    return kind.run


def test_both_sides_agree_on_their_addresses(run: Run) -> None:
    async def body(network: Network, clock: Clock) -> None:
        client, server = await pair(network, clock)
        assert client.link is not None
        assert server.link is not None
        assert client.link.local == server.link.peer
        assert client.link.peer == server.link.local
        client.close()
        await server.until(lambda machine: machine.ends == [None])

    run(body)


def test_parts_arrive_in_order_and_whole(run: Run) -> None:
    async def body(network: Network, clock: Clock) -> None:
        client, server = await pair(network, clock)
        assert server.write(b"one ", bytearray(b"two "), memoryview(b"three "), b"", b"four ")
        assert server.write(b"five")
        await client.until(lambda machine: machine.received == b"one two three four five")

    run(body)


def test_more_parts_than_one_call_takes(run: Run) -> None:
    async def body(network: Network, clock: Clock) -> None:
        client, server = await pair(network, clock)
        parts = [b"%d," % number for number in range(1000)]
        server.write(*parts)
        await client.until(lambda machine: machine.received == b"".join(parts))

    run(body)


def test_slices_leave_between_bytes_and_are_given_back_once(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(bytes(range(256)) * 20_000)

    async def body(network: Network, clock: Clock) -> None:
        client, server = await pair(network, clock)
        slices = [
            Slice(file, 256, 512),
            Slice(file, 0, 0),
            Slice(file, 0, 5_000_000),
            Slice(file, 3, 5),
        ]
        server.write(b"head", slices[0], slices[1], b"middle", slices[2], slices[3], b"tail")
        whole = file.read_bytes()
        expected = b"head" + whole[256:768] + b"middle" + whole[:5_000_000] + whole[3:8] + b"tail"
        await client.until(lambda machine: len(machine.received) >= len(expected))
        assert client.received == expected
        await server.until(lambda machine: all(piece.released for piece in slices))
        assert [piece.released for piece in slices] == [1, 1, 1, 1]

    run(body)


def test_bytes_before_an_empty_slice_are_not_held_back(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")

    async def body(network: Network, clock: Clock) -> None:
        client, server = await pair(network, clock)
        empty = Slice(file, 0, 0)
        began_ms = clock.now_ms()
        for _ in range(20):
            server.write(b"answer", Slice(file, 0, 0))
            await client.until(lambda machine: machine.received == b"answer")
            client.received.clear()
        # Each would have taken 200 ms.
        assert clock.now_ms() - began_ms < 2_000
        server.write(empty)
        assert empty.released == 1

    run(body)


def test_a_peer_that_does_not_take_its_answers_is_not_read(run: Run) -> None:
    async def body(network: Network, clock: Clock) -> None:
        client, server = await pair(network, clock)
        assert client.link is not None
        client.link.pause()
        big = bytes(20 << 20)
        assert not server.write(big)
        assert not server.write(b"more")
        client.write(b"request")
        await clock.wait_until(clock.now_ms() + 20)
        assert server.received == b""
        assert server.drains == 0
        client.link.resume()
        await client.until(lambda machine: len(machine.received) == len(big) + 4)
        await server.until(lambda machine: machine.drains == 1)
        await server.until(lambda machine: machine.received == b"request")

    run(body)


def test_pause_and_resume(run: Run) -> None:
    async def body(network: Network, clock: Clock) -> None:
        client, server = await pair(network, clock)
        assert server.link is not None
        server.link.pause()
        client.write(b"early")
        await clock.wait_until(clock.now_ms() + 20)
        assert server.received == b""
        server.link.resume()
        server.link.resume()
        await server.until(lambda machine: machine.received == b"early")

    run(body)


def test_space_is_asked_for_again_after_each_piece(run: Run) -> None:
    async def body(network: Network, clock: Clock) -> None:
        client, server = await pair(network, clock)
        server._space = memoryview(bytearray(1000))
        client.write(bytes(2500))
        await server.until(lambda machine: len(machine.received) == 2500)
        assert max(server.pieces) <= 1000

    run(body)


def test_close_is_told_once_to_both_and_not_at_once(run: Run) -> None:
    async def body(network: Network, clock: Clock) -> None:
        client, server = await pair(network, clock)
        client.close()
        assert client.ends == []
        client.close()
        await client.until(lambda machine: bool(machine.ends))
        await server.until(lambda machine: bool(machine.ends))
        server.close()
        await clock.wait_until(clock.now_ms() + 5)
        assert client.ends == [None]
        assert server.ends == [None]

    run(body)


def test_what_was_sent_before_a_close_arrives(run: Run) -> None:
    async def body(network: Network, clock: Clock) -> None:
        client, server = await pair(network, clock)
        server.write(b"last words")
        server.close()
        await client.until(lambda machine: bool(machine.ends))
        assert client.received == b"last words"
        assert client.ends == [None]

    run(body)


def test_a_dead_link_takes_nothing_and_gives_slices_back(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(bytes(10 << 20))

    async def body(network: Network, clock: Clock) -> None:
        client, server = await pair(network, clock)
        assert client.link is not None
        client.link.pause()
        waiting = [Slice(file, 0, 10 << 20), Slice(file, 0, 10 << 20)]
        assert not server.write(*waiting)
        server.close()
        late = Slice(file, 0, 10)
        assert not server.write(late)
        assert [piece.released for piece in (*waiting, late)] == [1, 1, 1]
        await server.until(lambda machine: machine.ends == [None])

    run(body)


def test_a_peer_that_dies_ends_the_connection(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(bytes(10 << 20))

    async def body(network: Network, clock: Clock) -> None:
        client, server = await pair(network, clock)
        assert client.link is not None
        client.link.pause()
        waiting = [Slice(file, 0, 10 << 20), Slice(file, 0, 10 << 20)]
        assert not server.write(*waiting)
        client.close()
        if server.link is not None:
            # Memory has no writability that would tell it; reading does.
            await clock.wait_until(clock.now_ms() + 5)
        server.write(b"x")
        server.close()
        await server.until(lambda machine: len(machine.ends) == 1)
        assert [piece.released for piece in waiting] == [1, 1]

    run(body)


def test_a_file_that_became_shorter_ends_the_connection(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"short")

    async def body(network: Network, clock: Clock) -> None:
        client, server = await pair(network, clock)
        piece = Slice(file, 0, 100)
        server.write(b"head", piece)
        await server.until(lambda machine: bool(machine.ends))
        assert isinstance(server.ends[0], OSError)
        assert piece.released == 1
        await client.until(lambda machine: bool(machine.ends))

    run(body)


def test_a_refused_connection_is_closed(run: Run) -> None:
    async def body(network: Network, clock: Clock) -> None:
        seen: list[Address] = []

        def refuse(peer: Address) -> None:
            seen.append(peer)

        listener = network.listen("localhost", 0, refuse)
        client = Machine(clock)
        network.dial("localhost", listener.address.port, client)
        await client.until(lambda machine: bool(machine.ends))
        assert client.link is not None
        assert seen == [client.link.local]
        listener.close()

    run(body)


def test_a_port_that_nobody_listens_on(run: Run) -> None:
    async def body(network: Network, clock: Clock) -> None:
        listener = network.listen("localhost", 0, lambda peer: None)
        listener.close()
        listener.close()
        client = Machine(clock)
        network.dial("localhost", listener.address.port, client)
        await client.until(lambda machine: bool(machine.ends))
        assert client.link is None
        assert isinstance(client.ends[0], ConnectionRefusedError)

    run(body)


def test_a_cancelled_dial_never_opens(run: Run) -> None:
    async def body(network: Network, clock: Clock) -> None:
        listener = network.listen("localhost", 0, lambda peer: Machine(clock))
        client = Machine(clock)
        dialing = network.dial("localhost", listener.address.port, client)
        dialing.cancel()
        dialing.cancel()
        await client.until(lambda machine: bool(machine.ends))
        await clock.wait_until(clock.now_ms() + 5)
        assert client.link is None
        assert client.ends == [None]
        listener.close()

    run(body)


def test_a_port_is_listened_on_once(run: Run) -> None:
    async def body(network: Network, clock: Clock) -> None:
        listener = network.listen("localhost", 0, lambda peer: None)
        with pytest.raises(OSError, match=f"cannot listen on .*:{listener.address.port}"):
            network.listen("localhost", listener.address.port, lambda peer: None)
        listener.close()
        network.listen("localhost", listener.address.port, lambda peer: None).close()

    run(body)
