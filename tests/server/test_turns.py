"""Work in turns: what a piece raises is the answer, in whichever turn that is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.messages.heartbeat import HeartbeatResponse
from kafkalite.server import turns
from kafkalite.server.purgatory import MakeAnswer, Parked
from kafkalite.server.turns import answer_in_turns, complete_in_turns
from kafkalite.types import TimestampMs
from tests.server.hand_clock import HandClock

ANSWER = HeartbeatResponse()
LATE = HeartbeatResponse(error_code=ErrorCode.REQUEST_TIMED_OUT)


def pieces(count: int, *, fails: bool = False) -> Iterator[int]:
    for _ in range(count):
        yield turns.TURN_COST
    if fails:
        raise KafkaError(ErrorCode.INVALID_REQUEST)


def start(clock: HandClock, work: Iterator[int]) -> HeartbeatResponse | Parked:
    return answer_in_turns(clock, work, lambda: ANSWER, within_ms=5, too_late=lambda: LATE)


def test_little_is_answered_at_once() -> None:
    assert start(HandClock(), pieces(0)) is ANSWER


def test_much_is_answered_when_all_is_done_in_a_turn_for_each_piece() -> None:
    clock = HandClock()
    parked = start(clock, pieces(3))
    assert isinstance(parked, Parked)
    for _ in range(2):
        clock.advance(0)
        assert not parked.done
    clock.advance(0)
    assert made(parked)() is ANSWER
    assert clock.waiting == 0


def test_what_takes_too_long_is_told_so() -> None:
    clock = HandClock()
    parked = start(clock, pieces(3))
    assert isinstance(parked, Parked)
    clock.advance(5)
    clock.advance(5)
    assert made(parked)() is LATE


def test_what_a_later_piece_raises_is_the_answer() -> None:
    clock = HandClock()
    parked = start(clock, pieces(1, fails=True))
    assert isinstance(parked, Parked)
    clock.advance(0)
    with pytest.raises(KafkaError):
        made(parked)()


@pytest.mark.parametrize("count", [0, 2])
def test_an_answer_that_is_parked_already(count: int) -> None:
    clock = HandClock()
    parked = Parked(clock, TimestampMs(clock.now_ms() + 5), lambda: LATE)
    complete_in_turns(clock, parked, pieces(count), lambda: ANSWER)
    for _ in range(count):
        clock.advance(0)
    assert made(parked)() is ANSWER


@pytest.mark.parametrize("whoever_waits", [True, False])
def test_whoever_does_not_wait_has_nothing_done_but_what_is_not_to_be_half_done(
    *, whoever_waits: bool
) -> None:
    clock, done = HandClock(), []

    def work() -> Iterator[int]:
        for number in range(3):
            done.append(number)
            yield turns.TURN_COST

    parked = Parked(clock, TimestampMs(clock.now_ms() + 5), lambda: LATE)
    begun = turns.Turns(clock, work())
    assert not begun.take()
    begun.go_on(parked, None, whoever_waits=whoever_waits)
    parked.abandon()
    for _ in range(3):
        clock.advance(0)
    assert done == ([0, 1, 2] if whoever_waits else [0])
    assert clock.waiting == 0


def test_what_is_broken_is_raised_when_there_is_nobody_to_be_told() -> None:
    clock = HandClock()
    parked = Parked(clock, TimestampMs(clock.now_ms() + 5), lambda: LATE)
    begun = turns.Turns(clock, pieces(1, fails=True))
    begun.take()
    begun.go_on(parked, None, whoever_waits=True)
    parked.abandon()
    with pytest.raises(KafkaError):
        clock.advance(0)


def made(parked: Parked) -> MakeAnswer:
    assert parked.done
    delivered: list[MakeAnswer] = []
    parked.then(delivered.append)
    return delivered[0]
