"""Frames out of bytes, and the buffers that hold them."""

from __future__ import annotations

from struct import pack

import pytest

from kafkalite.errors import ProtocolError
from kafkalite.server.receive_buffer import (
    KEPT_BYTES,
    OWN_BYTES,
    SHARED_BYTES,
    BufferPool,
    ReceiveBuffer,
)

LIMIT_BYTES = 8 << 20


def frame(body: bytes) -> bytes:
    return pack(">i", len(body)) + body


def receive(buffer: ReceiveBuffer, data: bytes) -> list[bytes]:
    """Fill the buffer as a network does. The frames that were found."""
    found = []
    taken = 0
    while taken < len(data):
        space = buffer.space()
        assert len(space) > 0
        size = min(len(space), len(data) - taken)
        space[:size] = data[taken : taken + size]
        taken += size
        ready = buffer.filled(size)
        assert ready == buffer.is_ready
        while (view := buffer.next_frame()) is not None:
            found.append(bytes(view))
        assert buffer.make_room()
    return found


@pytest.mark.parametrize("step", [1, 3, 5, 1000, 10**6])
def test_frames_are_found_however_the_bytes_come(step: int) -> None:
    buffer = ReceiveBuffer(BufferPool(1 << 30), LIMIT_BYTES)
    bodies = [b"", b"a", b"b" * 5_000, b"c" * 70_000, b"d" * 10, b"e" * 200_000, b"f"]
    data = b"".join(map(frame, bodies))
    found = []
    for position in range(0, len(data), step):
        found += receive(buffer, data[position : position + step])
    assert found == bodies


@pytest.mark.parametrize("size", [-1, LIMIT_BYTES + 1, 0x47455420, -(2**31)])
def test_a_length_that_cannot_be_is_refused_before_any_room_is_made(size: int) -> None:
    pool = BufferPool(1 << 30)
    buffer = ReceiveBuffer(pool, LIMIT_BYTES)
    with pytest.raises(ProtocolError, match=f"a frame of {size} bytes; the limit is {LIMIT_BYTES}"):
        receive(buffer, pack(">i", size))
    assert pool.lent_bytes == 0


def test_the_largest_frame_allowed_is_taken() -> None:
    buffer = ReceiveBuffer(BufferPool(1 << 30), LIMIT_BYTES)
    body = bytes(LIMIT_BYTES)
    assert receive(buffer, frame(body)) == [body]


def test_an_empty_buffer_holds_little_whatever_it_received() -> None:
    pool = BufferPool(1 << 30)
    buffer = ReceiveBuffer(pool, LIMIT_BYTES)
    assert len(buffer.space()) == OWN_BYTES
    for size in (3 << 20, 20_000, 10):
        receive(buffer, frame(bytes(size)))
        assert pool.lent_bytes == 0
        assert len(buffer.space()) == OWN_BYTES


def test_a_large_frame_is_given_exactly_the_space_that_it_misses() -> None:
    buffer = ReceiveBuffer(BufferPool(1 << 30), LIMIT_BYTES)
    data = frame(bytes(1 << 20))
    receive(buffer, data[:OWN_BYTES])
    assert len(buffer.space()) == len(data) - OWN_BYTES


def test_frames_of_middle_size_share_a_receive() -> None:
    buffer = ReceiveBuffer(BufferPool(1 << 30), LIMIT_BYTES)
    receive(buffer, frame(bytes(16_000))[:OWN_BYTES])
    assert len(buffer.space()) == SHARED_BYTES - OWN_BYTES


def test_what_begins_at_the_end_of_a_buffer_moves_to_its_front() -> None:
    buffer = ReceiveBuffer(BufferPool(0), LIMIT_BYTES)
    first = frame(bytes(OWN_BYTES - 10))
    second = frame(bytes(range(100)))
    assert receive(buffer, first + second[:6]) == [first[4:]]
    assert receive(buffer, second[6:]) == [second[4:]]


def begin(pool: BufferPool, data: bytes) -> tuple[ReceiveBuffer, bool]:
    """A buffer that holds the first 4 KiB of a frame, and whether it has room for the rest."""
    buffer = ReceiveBuffer(pool, LIMIT_BYTES)
    buffer.space()[:OWN_BYTES] = data[:OWN_BYTES]
    buffer.filled(OWN_BYTES)
    assert buffer.next_frame() is None
    return buffer, buffer.make_room()


def test_no_room_until_another_gives_back() -> None:
    pool = BufferPool(1 << 20)
    data = frame(bytes(600_000))
    first, first_has_room = begin(pool, data)
    second, second_has_room = begin(pool, data)
    third, third_has_room = begin(pool, data)
    # One within the limit, and one beyond it.
    assert (first_has_room, second_has_room, third_has_room) == (True, True, False)
    told: list[str] = []
    pool.call_when_given_back(lambda: told.append("now"))
    first.clear()
    assert told == ["now"]
    # What is lent beyond the limit is still lent.
    assert third.make_room()
    fourth, fourth_has_room = begin(pool, data)
    assert not fourth_has_room
    second.clear()
    assert fourth.make_room()
    for buffer in (third, fourth):
        assert receive(buffer, data[OWN_BYTES:]) == [data[4:]]
    assert pool.lent_bytes == 0
    assert told == ["now"]


def test_many_that_need_more_do_not_wait_for_each_other() -> None:
    pool = BufferPool(4 * SHARED_BYTES)
    small = frame(bytes(5_000))
    large = frame(bytes(300_000))
    data = small + large
    buffers = [ReceiveBuffer(pool, LIMIT_BYTES) for _ in range(4)]
    for buffer in buffers:
        # Each borrows the least there is, and finds in it the begin of a large frame.
        receive(buffer, data[:OWN_BYTES])
    assert pool.lent_bytes == pool.limit_bytes
    rooms = []
    for buffer in buffers:
        space = buffer.space()
        piece = data[OWN_BYTES : OWN_BYTES + 2_000]
        space[: len(piece)] = piece
        buffer.filled(len(piece))
        assert buffer.next_frame() is not None
        assert buffer.next_frame() is None
        rooms.append(buffer.make_room())
    assert rooms == [True, False, False, False]
    for buffer in buffers:
        assert buffer.make_room()
        assert receive(buffer, data[OWN_BYTES + 2_000 :]) == [large[4:]]


def test_a_frame_larger_than_the_pool_is_taken() -> None:
    buffer = ReceiveBuffer(BufferPool(1 << 20), LIMIT_BYTES)
    body = bytes(3 << 20)
    assert receive(buffer, frame(body)) == [body]


def test_buffers_are_used_again_up_to_a_limit() -> None:
    pool = BufferPool(64 << 20)
    buffer = pool.borrow(1 << 20)
    assert buffer is not None
    pool.give_back(buffer)
    assert pool.borrow((1 << 20) - 5) is buffer
    huge = pool.borrow(KEPT_BYTES + 1)
    assert huge is not None
    assert len(huge) == KEPT_BYTES + 1
    pool.give_back(huge)
    assert pool.borrow(KEPT_BYTES + 1) is not huge


def test_who_holds_the_buffer_beyond_the_limit_may_change_it_for_a_larger_one() -> None:
    pool = BufferPool(0)
    buffer = ReceiveBuffer(pool, LIMIT_BYTES)
    large = frame(bytes(300_000))
    assert receive(buffer, frame(bytes(5_000)) + large) == [bytes(5_000), large[4:]]
    assert pool.lent_bytes == 0
