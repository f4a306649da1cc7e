"""Frames out of bytes, and the buffers that hold them."""

from __future__ import annotations

from struct import pack

import pytest

from kafkalite.errors import ProtocolError
from kafkalite.server.receive_buffer import (
    KEPT_BYTES,
    LENGTH_BYTES,
    OWN_BYTES,
    SHARED_BYTES,
    STALL_BYTES,
    STALL_MS,
    BufferPool,
    ReceiveBuffer,
)
from tests.server.hand_clock import HandClock

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
        if buffer.filled(size):
            while (view := buffer.next_frame()) is not None:
                found.append(bytes(view))
            assert buffer.make_room()
        buffer.settle()
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


def test_a_buffer_tells_whether_anything_is_behind_a_frame() -> None:
    buffer = ReceiveBuffer(BufferPool(1 << 30), LIMIT_BYTES)
    data = frame(b"first") + frame(b"second") + b"\0"
    buffer.space()[: len(data)] = data
    assert buffer.filled(len(data))
    told = []
    while buffer.next_frame() is not None:
        told.append(buffer.is_spent)
    assert told == [False, False], "a byte of a third one is there"
    buffer.make_room()
    buffer.settle()
    rest = frame(b"third")[1:]
    buffer.space()[: len(rest)] = rest
    assert buffer.filled(len(rest))
    third = buffer.next_frame()
    assert third is not None
    assert bytes(third) == b"third"
    assert buffer.is_spent


@pytest.mark.parametrize("size", [-1, LIMIT_BYTES + 1, 0x47455420, -(2**31)])
def test_a_length_that_cannot_be_is_refused_before_any_room_is_made(size: int) -> None:
    pool = BufferPool(1 << 30)
    buffer = ReceiveBuffer(pool, LIMIT_BYTES)
    with pytest.raises(ProtocolError, match=f"a frame of {size} bytes; the limit is {LIMIT_BYTES}"):
        receive(buffer, pack(">i", size))
    assert pool.lent_bytes == 0


@pytest.mark.parametrize(
    ("begin", "protocol"),
    [(b"\x16\x03\x01\x02", "TLS"), (b"GET ", "HTTP"), (b"POST", "HTTP"), (b"PRI ", "HTTP")],
)
def test_a_client_of_another_protocol_is_named(begin: bytes, protocol: str) -> None:
    buffer = ReceiveBuffer(BufferPool(1 << 30), LIMIT_BYTES)
    with pytest.raises(ProtocolError, match=f"seems to speak {protocol}, which this listener"):
        receive(buffer, begin)


def test_no_other_protocol_is_guessed() -> None:
    buffer = ReceiveBuffer(BufferPool(1 << 30), LIMIT_BYTES)
    with pytest.raises(ProtocolError, match=f"the limit is {LIMIT_BYTES}$"):
        receive(buffer, pack(">i", LIMIT_BYTES + 1))


def test_the_largest_frame_allowed_is_taken() -> None:
    buffer = ReceiveBuffer(BufferPool(1 << 30), LIMIT_BYTES)
    body = bytes(LIMIT_BYTES)
    assert receive(buffer, frame(body)) == [body]


def test_an_empty_buffer_holds_nothing_whatever_it_received() -> None:
    pool = BufferPool(1 << 30)
    buffer, other = ReceiveBuffer(pool, LIMIT_BYTES), ReceiveBuffer(pool, LIMIT_BYTES)
    for size in (10, 20_000, 10):
        receive(buffer, frame(bytes(size)))
        assert pool.lent_bytes == 0
        offered = buffer.space()
        buffer.filled(0)
        buffer.settle()
        assert other.space().obj is offered.obj
        other.settle()
    receive(buffer, frame(bytes(3 << 20)))
    assert pool.lent_bytes == 0


def test_what_is_left_of_a_receive_is_kept_from_the_next_that_is_offered_its_room() -> None:
    pool = BufferPool(1 << 30)
    buffer, other = ReceiveBuffer(pool, LIMIT_BYTES), ReceiveBuffer(pool, LIMIT_BYTES)
    for left, lent in ((OWN_BYTES - 1, 0), (OWN_BYTES, SHARED_BYTES)):
        body = b"a" * 10_000
        data = frame(b"first") + frame(body)[:left]
        assert receive(buffer, data) == [b"first"]
        assert pool.lent_bytes == lent
        receive(other, frame(b"b" * 60_000))
        assert receive(buffer, frame(body)[left:]) == [body]
        assert pool.lent_bytes == 0


def test_who_delivered_a_large_frame_gets_the_next_by_one_receive_and_nothing_behind_it() -> None:
    pool = BufferPool(1 << 30)
    buffer = proven(pool, 130_000)
    data = frame(bytes(130_000))
    assert len(buffer.space()) == len(data)
    assert receive(buffer, data + data[:100]) == [data[LENGTH_BYTES:]]


def test_little_is_offered_once_the_pool_is_half_lent() -> None:
    pool = BufferPool(2 * SHARED_BYTES)
    buffer, other = ReceiveBuffer(pool, LIMIT_BYTES), ReceiveBuffer(pool, LIMIT_BYTES)
    assert len(other.space()) == SHARED_BYTES
    other.settle()
    receive(buffer, frame(bytes(50_000))[:OWN_BYTES])
    assert pool.lent_bytes == SHARED_BYTES
    assert len(other.space()) == OWN_BYTES


def test_a_large_frame_is_given_no_more_space_than_it_misses() -> None:
    buffer = ReceiveBuffer(BufferPool(1 << 30), LIMIT_BYTES)
    data = frame(bytes(100_000))
    receive(buffer, data[: SHARED_BYTES + 1])
    assert len(buffer.space()) == len(data) - SHARED_BYTES - 1


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


def proven(pool: BufferPool, size: int) -> ReceiveBuffer:
    """A buffer that has received a frame of that size."""
    buffer = ReceiveBuffer(pool, LIMIT_BYTES)
    assert receive(buffer, frame(bytes(size))) == [bytes(size)]
    return buffer


def test_an_announcement_is_lent_nothing() -> None:
    pool = BufferPool(1 << 30)
    buffer = ReceiveBuffer(pool, LIMIT_BYTES)
    receive(buffer, pack(">i", LIMIT_BYTES) + bytes(1_000))
    assert pool.lent_bytes == 0


@pytest.mark.parametrize("step", [1_000, 50_000, 1 << 20])
def test_a_buffer_grows_with_what_arrives(step: int) -> None:
    pool = BufferPool(1 << 30)
    buffer = ReceiveBuffer(pool, LIMIT_BYTES)
    body = bytes(range(256)) * (LIMIT_BYTES // 256)
    data = frame(body)
    found = []
    for position in range(0, len(data), step):
        found += receive(buffer, data[position : position + step])
        came = position + step
        # A power of two that is at least twice what had come when it was borrowed.
        assert pool.lent_bytes <= max(4 * came, SHARED_BYTES)
    assert found == [body]


def test_who_delivered_a_large_frame_is_believed_the_next() -> None:
    pool = BufferPool(1 << 30)
    buffer = proven(pool, 1 << 20)
    data = frame(bytes(1 << 20))
    receive(buffer, data[:100])
    assert len(buffer.space()) == len(data) - 100
    larger = proven(pool, 1 << 20)
    receive(larger, frame(bytes(3 << 20))[:100])
    assert len(larger.space()) == (2 << 20) - 100


def test_nobody_is_believed_once_the_pool_is_half_lent() -> None:
    pool = BufferPool(4 << 20)
    buffers = [proven(pool, (1 << 20) - LENGTH_BYTES) for _ in range(4)]
    for buffer in buffers:
        receive(buffer, pack(">i", (1 << 20) - LENGTH_BYTES))
    assert pool.lent_bytes == 2 << 20


def begin(pool: BufferPool, data: bytes) -> tuple[ReceiveBuffer, int]:
    """A buffer that received what it could of the data, and how much that was."""
    buffer = ReceiveBuffer(pool, LIMIT_BYTES)
    return buffer, go_on(buffer, data)


def go_on(buffer: ReceiveBuffer, data: bytes) -> int:
    taken = 0
    while taken < len(data) and buffer.next_frame() is None and buffer.make_room():
        space = buffer.space()
        size = min(len(space), len(data) - taken)
        space[:size] = data[taken : taken + size]
        buffer.filled(size)
        buffer.settle()
        taken += size
    return taken


def test_no_room_until_another_gives_back() -> None:
    pool = BufferPool(1 << 20)
    data = frame(bytes(500_000))
    most = data[:-1]
    first, first_took = begin(pool, most)
    second, second_took = begin(pool, most)
    third, third_took = begin(pool, most)
    fourth, fourth_took = begin(pool, most)
    # Two within the limit, and one beyond it.
    assert first_took == second_took == third_took == len(most)
    assert fourth_took == OWN_BYTES
    told: list[str] = []
    pool.call_when_given_back(lambda: told.append("now"))
    first.clear()
    assert told == ["now"]
    # What is lent beyond the limit is lent within it now.
    assert go_on(fourth, most[OWN_BYTES:]) == len(most) - OWN_BYTES
    fifth, fifth_took = begin(pool, most)
    assert fifth_took == OWN_BYTES
    second.clear()
    assert go_on(fifth, most[OWN_BYTES:]) == len(most) - OWN_BYTES
    for buffer in (third, fourth, fifth):
        assert receive(buffer, data[-1:]) == [data[4:]]
    assert pool.lent_bytes == 0
    assert not pool.borrowers
    assert told == ["now"]


def test_many_that_need_more_do_not_wait_for_each_other() -> None:
    pool = BufferPool(4 * SHARED_BYTES)
    data = frame(bytes(300_000))
    begun = [begin(pool, data[:SHARED_BYTES]) for _ in range(4)]
    assert [took for _, took in begun] == [SHARED_BYTES] * 4
    # Each is full, and cannot grow within the limit: one may beyond it.
    buffers = [buffer for buffer, _ in begun]
    assert [buffer.next_frame() for buffer in buffers] == [None] * 4
    assert [buffer.make_room() for buffer in buffers] == [True, False, False, False]
    for buffer in buffers:
        assert buffer.make_room()
        assert receive(buffer, data[SHARED_BYTES:]) == [data[4:]]


# Those who keep room and send nothing.


class Stall:
    """A pool whose room is all taken, and its clock."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.pool = BufferPool(SHARED_BYTES, self.clock)
        self.told: list[str] = []
        self.data = frame(bytes(50_000))
        self.first, self.second = self.begin("first"), self.begin("second")

    def begin(self, name: str) -> ReceiveBuffer:
        buffer = ReceiveBuffer(self.pool, LIMIT_BYTES, lambda: self.told.append(name))
        go_on(buffer, self.data[: OWN_BYTES + 1])
        return buffer

    def wait(self) -> None:
        """Somebody waits for room, and goes on waiting."""
        self.pool.call_when_given_back(self.wait)


def test_who_stalls_is_told_while_others_wait() -> None:
    stall = Stall()
    stall.wait()
    stall.clock.advance(STALL_MS - 1)
    assert stall.told == []
    stall.clock.advance(1)
    assert stall.told == ["first", "second"]
    # It is said again as long as somebody waits.
    stall.first.clear()
    stall.clock.advance(STALL_MS)
    assert stall.told == ["first", "second", "second"]


def test_nobody_is_told_while_nobody_waits() -> None:
    stall = Stall()
    stall.clock.advance(10 * STALL_MS)
    stall.pool.call_when_given_back(lambda: None)
    stall.first.clear()
    stall.clock.advance(STALL_MS)
    assert stall.told == []
    assert stall.clock.waiting == 0


def test_who_receives_enough_has_not_stalled() -> None:
    stall = Stall()
    stall.wait()
    for buffer, goal in ((stall.first, STALL_BYTES), (stall.second, STALL_BYTES - 1)):
        buffer.received += goal
    stall.clock.advance(STALL_MS)
    assert stall.told == ["second"]


def test_who_came_later_is_given_its_time() -> None:
    stall = Stall()
    stall.second.clear()
    stall.wait()
    stall.clock.advance(STALL_MS // 2)
    stall.begin("late")
    stall.clock.advance(STALL_MS - STALL_MS // 2)
    assert stall.told == ["first"]


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


def test_what_is_taken_back_is_offered_again_to_whoever_wants_as_much() -> None:
    pool = BufferPool(64 << 20)
    small, large = pool.offer(0), pool.offer(SHARED_BYTES + 1)
    assert small is not None
    assert large is not None
    assert (len(small), len(large)) == (SHARED_BYTES, 2 * SHARED_BYTES)
    pool.take_back(small)
    pool.take_back(large)
    assert pool.offer(SHARED_BYTES) is small
    assert pool.offer(2 * SHARED_BYTES) is large
    pool.take_back(large)
    other = pool.offer(0)
    assert other is not None
    assert len(other) == SHARED_BYTES, "nobody is offered more than they are believed for"


def test_what_is_taken_back_is_offered_again_however_often() -> None:
    pool = BufferPool(64 << 20)
    first = pool.offer(0)
    assert first is not None
    for _ in range(KEPT_BYTES // SHARED_BYTES + 1):
        pool.take_back(first)
        assert pool.offer(0) is first


def test_what_is_taken_back_is_not_offered_where_half_of_all_is_lent() -> None:
    pool = BufferPool(4 * SHARED_BYTES)
    large = pool.offer(SHARED_BYTES + 1)
    assert large is not None
    pool.take_back(large)
    small = pool.offer(0)
    assert small is not None
    pool.lend(small)
    assert pool.offer(SHARED_BYTES + 1) is None
    pool.give_back(small)
    assert pool.offer(SHARED_BYTES + 1) is large


def test_no_more_than_so_much_is_kept_of_what_is_taken_back() -> None:
    pool = BufferPool(64 << 20)
    half = KEPT_BYTES // 2
    three = [pool.offer(half) for _ in range(3)]
    for buffer in three:
        assert buffer is not None
        pool.take_back(buffer)
    again = [pool.offer(half) for _ in range(3)]
    assert len({id(buffer) for buffer in again} & {id(buffer) for buffer in three}) == 2


def test_who_holds_the_buffer_beyond_the_limit_may_change_it_for_a_larger_one() -> None:
    pool = BufferPool(0)
    buffer = ReceiveBuffer(pool, LIMIT_BYTES)
    large = frame(bytes(300_000))
    assert receive(buffer, frame(bytes(5_000)) + large) == [bytes(5_000), large[4:]]
    assert pool.lent_bytes == 0
