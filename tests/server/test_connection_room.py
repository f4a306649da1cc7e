"""Connections that share the room for partial frames."""

from __future__ import annotations

import logging

import pytest

from kafkalite.server.receive_buffer import STALL_MS, BufferPool
from tests.server.connection_world import World, frame
from tests.server.hand_clock import HandClock


def test_all_partial_frames_share_one_limit() -> None:
    pool = BufferPool(2 << 20)
    first, second, third, fourth = (World(pool=pool) for _ in range(4))
    large = frame(bytes(1_500_000))
    first.receive(large[:-1])
    second.receive(large[:-1])
    assert third.receive(large) == 4096
    assert fourth.receive(large) == 4096
    assert not third.reads()
    first.receive(large[-1:])
    assert first.requests == [large[4:]]
    third.next_turn()
    fourth.next_turn()
    assert third.reads()
    assert not fourth.reads()
    third.receive(large[4096:])
    fourth.next_turn()
    fourth.receive(large[4096:])
    assert third.requests == fourth.requests == [large[4:]]
    second.receive(large[-1:])
    assert pool.lent_bytes == 0


def test_a_connection_that_ends_gives_its_room_to_the_next() -> None:
    pool = BufferPool(2 << 20)
    first, second, third, fourth = (World(pool=pool) for _ in range(4))
    large = frame(bytes(1_500_000))
    for world in (first, second, third, fourth):
        world.receive(large[:-1])
    third.connection.closed(None)
    first.connection.closed(None)
    fourth.next_turn()
    fourth.receive(large[4096:])
    assert fourth.requests == [large[4:]]
    assert third.requests == []


def test_a_connection_that_is_to_end_takes_no_room() -> None:
    pool = BufferPool(2 << 20)
    first, second, third, fourth = (World(pool=pool) for _ in range(4))
    large = frame(bytes(1_500_000))
    for world in (first, second, third, fourth):
        world.receive(large[:-1])
    third.connection.stop()
    first.connection.closed(None)
    fourth.next_turn()
    fourth.receive(large[4096:])
    assert fourth.requests == [large[4:]]


def test_who_waits_for_room_is_forgotten_when_it_ends() -> None:
    """Room may not come for long, and clients come again and again meanwhile."""
    pool = BufferPool(0)
    large = frame(bytes(1_500_000))
    holder = World(pool=pool)
    holder.receive(large[:-1])
    for _ in range(3):
        world = World(pool=pool)
        world.receive(large[:-1])
        assert pool.waiting == 1
        world.connection.closed(None)
        assert pool.waiting == 0


def full_pool() -> tuple[HandClock, World, World]:
    """Two connections that have begun a request each: the one has the room, the other waits."""
    clock = HandClock()
    pool = BufferPool(0, clock)
    holder, waiter = World(pool=pool), World(pool=pool)
    holder.receive(frame(bytes(50_000))[:9_000])
    waiter.receive(frame(bytes(50_000)))
    assert (holder.reads(), waiter.reads()) == (True, False)
    return clock, holder, waiter


def test_who_stalls_while_another_waits_for_room_is_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, holder, waiter = full_pool()
    clock.advance(STALL_MS)
    assert holder.closes()
    assert not waiter.closes()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "10.1.2.3:5555: closing the connection: less than 64 KiB" in caplog.text
    holder.connection.closed(None)
    waiter.next_turn()
    waiter.receive(frame(bytes(50_000))[4096:])
    assert waiter.requests == [bytes(50_000)]


def test_a_connection_that_is_to_close_keeps_no_room() -> None:
    world = World()
    world.receive(frame(bytes(50_000))[:9_000])
    assert world.pool.lent_bytes
    world.link.takes = False
    world.connection.stop()
    assert not world.pool.lent_bytes
