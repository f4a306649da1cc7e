"""The machine of a client's connection, without a network: bytes in, answers out."""

from __future__ import annotations

import logging
from struct import pack

import pytest

from kafkalite.errors import InvariantError, ProtocolError
from kafkalite.ports.network import Address
from kafkalite.server.answer_queue import BYTES_AHEAD, REQUESTS_AHEAD, Pending
from kafkalite.server.connection import REQUESTS_A_TURN, TURN_MS, Answer, ClientConnection
from tests.server.connection_world import FakeSlice, World, frame

# Frames.


def test_a_request_is_handled_and_answered() -> None:
    world = World()
    world.receive(frame(b"hello"))
    assert world.requests == [b"hello"]
    assert world.link.writes == [b"<hello>"]


def test_several_requests_at_once_are_answered_with_one_write() -> None:
    world = World()
    world.receive(frame(b"1") + frame(b"2") + frame(b"3") + b"\0\0")
    assert world.link.writes == [b"<1><2><3>"]


def test_no_answer_is_due() -> None:
    world = World(lambda body: None if body == b"acks=0" else [body])
    world.receive(frame(b"acks=0") + frame(b"next") + frame(b"acks=0"))
    assert len(world.requests) == 3
    assert world.link.writes == [b"next"]


def test_a_length_that_cannot_be_closes_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.receive(frame(b"good") + pack(">i", -5))
    assert world.link.writes == [b"<good>"]
    assert world.closes()
    assert world.pool.lent_bytes == 0
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "a frame of -5 bytes" in caplog.text
    assert "10.1.2.3:5555" in caplog.text


# Turns.


def test_at_most_sixteen_requests_a_turn() -> None:
    world = World()
    world.receive(b"".join(frame(b"%d" % number) for number in range(40)))
    assert len(world.requests) == REQUESTS_A_TURN
    assert len(world.link.writes) == 1
    assert not world.reads()
    world.next_turn()
    assert len(world.requests) == 2 * REQUESTS_A_TURN
    world.next_turn()
    assert len(world.requests) == 40
    assert world.reads()
    assert world.soon == []


def test_a_turn_ends_when_its_requests_took_long() -> None:
    def answer(body: bytes) -> Answer:
        world.clock.advance(int(body))
        return [body]

    world = World(answer)
    costs = [TURN_MS - 2, 1, 1, 1000, 0, 1]
    world.receive(b"".join(frame(b"%d" % cost) for cost in costs))
    handled = []
    for _ in range(3):
        handled.append(len(world.requests))
        world.next_turn()
    assert handled == [3, 4, 6]
    assert world.reads()
    assert world.soon == []


def test_a_turn_that_ends_within_a_large_frame_makes_room_in_the_next() -> None:
    world = World()
    small = b"".join(frame(b"x") for _ in range(REQUESTS_A_TURN))
    large = frame(bytes(300_000))
    world.receive(small + large[: 4096 - len(small)])
    world.next_turn()
    assert world.receive(large[4096 - len(small) :])
    assert len(world.requests) == REQUESTS_A_TURN + 1


# Pending answers.


def test_answers_leave_in_request_order() -> None:
    pending = Pending()
    world = World(lambda body: pending if body == b"park" else [body])
    world.receive(frame(b"1") + frame(b"park") + frame(b"2"))
    world.receive(frame(b"3"))
    assert world.requests == [b"1", b"park", b"2", b"3"]
    assert world.link.writes == [b"1"]
    pending.complete([b"parked"])
    assert world.link.writes == [b"1", b"parked23"]
    world.receive(frame(b"4"))
    assert world.link.writes[2:] == [b"4"]


def test_several_pending_are_completed_in_any_order() -> None:
    pending = {name: Pending() for name in (b"a", b"b", b"c")}
    world = World(pending.__getitem__)
    world.receive(frame(b"a") + frame(b"b") + frame(b"c"))
    pending[b"c"].complete([b"C"])
    pending[b"b"].complete(None)
    assert world.link.writes == []
    pending[b"a"].complete([b"A"])
    assert world.link.writes == [b"AC"]


def test_what_is_completed_before_the_handler_returns_is_an_answer() -> None:
    def answer(body: bytes) -> Answer:
        pending = Pending()
        pending.complete([body])
        return pending

    world = World(answer)
    world.receive(frame(b"1") + frame(b"2"))
    assert world.link.writes == [b"12"]


def test_a_request_may_complete_the_pending_one_of_its_own_connection() -> None:
    pending = Pending()

    def answer(body: bytes) -> Answer:
        if body == b"join":
            return pending
        pending.complete([b"joined "])
        return [body]

    world = World(answer)
    world.receive(frame(b"join") + frame(b"leave"))
    assert world.link.writes == [b"joined leave"]


def test_reads_ahead_up_to_sixteen_requests() -> None:
    pending = Pending()
    world = World(lambda body: pending if body == b"0" else [body])
    for number in range(REQUESTS_AHEAD + 5):
        world.receive(frame(b"%d" % number))
    assert len(world.requests) == REQUESTS_AHEAD
    assert not world.reads()
    pending.complete([b"0"])
    # Nothing is handled inside whoever completed it.
    assert len(world.requests) == REQUESTS_AHEAD
    world.next_turn()
    assert world.reads()
    world.receive(frame(b"more"))
    assert world.requests[-1] == b"more"


def test_reads_ahead_up_to_one_mebibyte() -> None:
    pending = [Pending(), Pending()]
    world = World(lambda body: pending[len(world.requests) - 1])
    world.receive(frame(b"small") + frame(bytes(BYTES_AHEAD - 5)) + frame(b"late"))
    assert len(world.requests) == 2
    assert not world.reads()
    pending[1].complete([b"large"])
    assert not world.reads()
    world.answer = lambda body: [body]
    pending[0].complete([b"small"])
    assert world.link.writes == [b"smalllarge"]
    world.next_turn()
    assert world.receive(frame(b"late"))
    assert world.link.writes[1:] == [b"late"]


def test_what_was_received_is_handled_once_the_way_is_free() -> None:
    pending = Pending()
    world = World(lambda body: pending if body == b"0" else [body])
    world.receive(b"".join(frame(b"%d" % number) for number in range(REQUESTS_AHEAD + 2)))
    world.next_turn()
    assert len(world.requests) == REQUESTS_AHEAD
    pending.complete([b"0"])
    world.next_turn()
    assert len(world.requests) == REQUESTS_AHEAD + 2
    assert len(world.link.writes) == 2


def test_the_end_of_a_client_far_ahead_is_acted_upon_at_once() -> None:
    abandoned: list[bytes] = []
    world = World(
        lambda body: Pending(lambda: abandoned.append(body)) if body != b"write" else None
    )
    parked = [b"%d" % number for number in range(REQUESTS_AHEAD)]
    world.receive(b"".join(map(frame, [*parked, b"write", b"late"])))
    assert world.requests == parked
    ended = world.link.watched_end
    assert ended is not None
    ended()
    assert abandoned == parked
    # What it asked for is done, and its end is read.
    world.next_turn()
    assert world.requests == [*parked, b"write", b"late"]
    assert world.reads()
    ended()
    assert abandoned == parked


def test_who_takes_an_answer_slowly_is_active() -> None:
    world = World()
    world.link.takes = False
    world.receive(frame(b"a"))
    activity = [world.connection.take_activity() for _ in range(2)]
    world.link.progress += 1
    activity += [world.connection.take_activity() for _ in range(2)]
    assert activity == [True, False, True, False]


def test_the_end_abandons_what_is_pending() -> None:
    gone: list[str] = []
    first = Pending(lambda: gone.append("first"))
    answers: list[Answer] = [first, Pending(lambda: gone.append("second")), [FakeSlice()]]
    slice_behind = answers[2]
    assert isinstance(slice_behind, list)
    world = World(lambda body: answers.pop(0))
    world.receive(frame(b"1") + frame(b"2") + frame(b"3"))
    world.connection.closed(None)
    assert gone == ["first", "second"]
    assert world.ended == [world.connection]
    late = FakeSlice()
    first.complete([late])
    assert late.released == 1
    assert isinstance(slice_behind[0], FakeSlice)
    assert slice_behind[0].released == 1
    assert world.link.writes == []


def test_completing_twice_does_nothing() -> None:
    pending = Pending(lambda: pytest.fail("it was completed"))
    world = World(lambda body: pending)
    world.receive(frame(b"x"))
    pending.complete([b"once"])
    extra = FakeSlice()
    pending.complete([extra])
    assert world.link.writes == [b"once"]
    assert extra.released == 1
    world.connection.closed(None)


# Back-pressure.


def test_a_peer_that_takes_no_answers_gets_no_more() -> None:
    world = World()
    world.link.takes = False
    world.receive(frame(b"1"))
    world.link.takes = True
    # The link reads nothing now; what came with the last receive waits.
    world.connection._buffer.space()[:5] = frame(b"2")
    world.connection.filled(5)
    assert world.requests == [b"1"]
    world.connection.drained()
    assert world.requests == [b"1", b"2"]
    assert world.link.writes == [b"<1>", b"<2>"]


# The end.


def test_a_protocol_error_closes_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    gone: list[str] = []

    def answer(body: bytes) -> Answer:
        if body == b"bad":
            raise ProtocolError("no such field")
        return Pending(lambda: gone.append("gone")) if body == b"park" else [body]

    world = World(answer)
    world.receive(frame(b"good") + frame(b"park") + frame(b"bad") + frame(b"never"))
    assert world.requests == [b"good", b"park", b"bad"]
    assert world.link.writes == [b"good"]
    assert world.closes()
    assert gone == ["gone"]
    assert [record.getMessage() for record in caplog.records] == [
        "10.1.2.3:5555: closing the connection: no such field"
    ]


def test_any_other_error_of_a_handler_closes_and_is_raised() -> None:
    def answer(body: bytes) -> Answer:
        raise InvariantError("the log is broken")

    world = World(answer)
    with pytest.raises(InvariantError):
        world.receive(frame(b"x"))
    assert world.closes()


def test_stop_lets_answers_leave() -> None:
    world = World()
    world.link.takes = False
    world.receive(frame(b"1"))
    world.connection.stop()
    assert not world.closes()
    assert not world.reads()
    world.connection.drained()
    assert world.closes()


def test_stop_closes_at_once_when_nothing_waits() -> None:
    gone: list[str] = []
    world = World(lambda body: Pending(lambda: gone.append("gone")))
    world.receive(frame(b"park"))
    world.connection.stop()
    world.connection.stop()
    assert world.closes()
    assert gone == ["gone"]


@pytest.mark.parametrize(("end", "written"), [("stop", [b"bye"]), ("close", [])])
def test_a_handler_may_stop_or_close_its_own_connection(end: str, written: list[bytes]) -> None:
    def answer(body: bytes) -> Answer:
        if end == "stop":
            world.connection.stop()
        else:
            world.connection.close()
        return [b"bye"]

    world = World(answer)
    world.receive(frame(b"1") + frame(b"2"))
    assert world.requests == [b"1"]
    assert world.link.writes == written
    assert world.closes()


def test_nothing_happens_after_the_end() -> None:
    world = World()
    world.receive(b"".join(frame(b"x") for _ in range(REQUESTS_A_TURN + 1)))
    world.connection.closed(ConnectionResetError("reset"))
    world.next_turn()
    assert len(world.requests) == REQUESTS_A_TURN
    assert not world.reads()


def test_activity_is_told_once() -> None:
    pending = Pending()
    world = World(lambda body: pending if body == b"park" else [body])
    assert world.connection.take_activity()
    assert not world.connection.take_activity()
    world.receive(frame(b"x"))
    assert world.connection.take_activity()
    assert not world.connection.take_activity()
    world.receive(frame(b"park"))
    for _ in range(3):
        assert world.connection.take_activity()
    pending.complete([b"x"])
    assert world.connection.take_activity()
    assert not world.connection.take_activity()


def test_session_and_addresses() -> None:
    connection = World().connection
    assert connection.session == "session"
    assert connection.peer == Address("10.1.2.3", 5555)
    assert connection.local == Address("127.0.0.1", 9092)


# Views.


def test_a_kept_view_of_a_request_is_found() -> None:
    kept: list[memoryview] = []

    def keep(connection: ClientConnection[str], frame: memoryview) -> Answer:
        kept.append(frame[:2])
        return None

    world = World(handle=keep)
    with pytest.raises(InvariantError, match="kept a view"):
        world.receive(frame(b"hello"))
    assert world.closes()


def test_the_frame_itself_is_dead_afterwards() -> None:
    kept: list[memoryview] = []

    def keep(connection: ClientConnection[str], frame: memoryview) -> Answer:
        kept.append(frame)
        return None

    world = World(handle=keep, checks_views=False)
    world.receive(frame(b"hello"))
    with pytest.raises(ValueError, match="released"):
        bytes(kept[0])
