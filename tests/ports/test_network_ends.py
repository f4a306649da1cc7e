"""What a link tells while its machine does not read, for both networks."""

from __future__ import annotations

from functools import partial

import pytest

from kafkalite.ports.clock import Clock
from kafkalite.ports.network import Network
from tests.ports.network_kinds import KINDS, Kind, Run, pair


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def run(request: pytest.FixtureRequest) -> Run:
    kind = request.param
    assert isinstance(kind, Kind)
    return kind.run


def test_the_end_behind_bytes_is_told_while_they_are_not_read(run: Run) -> None:
    async def body(network: Network, clock: Clock) -> None:
        told: list[str] = []
        client, server = await pair(network, clock)
        assert server.link is not None
        server.link.pause()
        server.link.watch_end(lambda: told.append("ended"))
        client.write(b"unread")
        await clock.wait_until(clock.now_ms() + 10)
        assert told == []
        client.close()
        while not told:
            await clock.wait_until(clock.now_ms() + 1)
        assert not server.received
        assert not server.ends
        server.link.resume()
        await server.until(lambda machine: machine.ends == [None])
        assert server.received == b"unread"
        assert told == ["ended"]

    run(body)


def test_an_end_that_came_before_it_was_watched_for_is_told_later(run: Run) -> None:
    async def body(network: Network, clock: Clock) -> None:
        for unread in (b"", b"unread"):
            told: list[str] = []
            client, server = await pair(network, clock)
            assert server.link is not None
            server.link.pause()
            if unread:
                client.write(unread)
            client.close()
            await clock.wait_until(clock.now_ms() + 10)
            server.link.watch_end(partial(told.append, "ended"))
            assert told == []
            while not told:
                await clock.wait_until(clock.now_ms() + 1)

    run(body)


def test_no_end_is_told_after_the_pause(run: Run) -> None:
    async def body(network: Network, clock: Clock) -> None:
        told: list[str] = []
        client, server = await pair(network, clock)
        assert server.link is not None
        server.link.pause()
        server.link.watch_end(lambda: told.append("ended"))
        client.write(b"bytes")
        await clock.wait_until(clock.now_ms() + 10)
        server.link.resume()
        await server.until(lambda machine: machine.received == b"bytes")
        server.link.pause()
        client.close()
        await clock.wait_until(clock.now_ms() + 10)
        server.link.resume()
        await server.until(lambda machine: bool(machine.ends))
        server.link.watch_end(lambda: told.append("dead"))
        await clock.wait_until(clock.now_ms() + 10)
        assert told == []

    run(body)


def test_an_end_in_bad_order_behind_bytes_is_told_when_they_are_read(run: Run) -> None:
    """A client that is killed with answers unread resets its connection."""

    async def body(network: Network, clock: Clock) -> None:
        client, server = await pair(network, clock)
        assert client.link is not None
        assert server.link is not None
        client.link.pause()
        server.link.pause()
        server.write(b"unread")
        await clock.wait_until(clock.now_ms() + 10)
        client.write(b"last words")
        client.close()
        await clock.wait_until(clock.now_ms() + 10)
        server.link.resume()
        await server.until(lambda machine: bool(machine.ends))
        assert server.received == b"last words"

    run(body)


def test_progress_is_what_leaves_of_an_answer_that_waits(run: Run) -> None:
    async def body(network: Network, clock: Clock) -> None:
        client, server = await pair(network, clock)
        assert client.link is not None
        assert server.link is not None
        client.link.pause()
        assert not server.write(bytes(20 << 20))
        await clock.wait_until(clock.now_ms() + 10)
        stuck = server.link.progress
        await clock.wait_until(clock.now_ms() + 10)
        assert server.link.progress == stuck
        client.link.resume()
        await client.until(lambda machine: len(machine.received) == 20 << 20)
        assert server.link.progress > stuck

    run(body)
