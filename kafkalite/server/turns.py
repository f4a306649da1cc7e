"""Work for one request that may be much: done in several turns of the loop, so that others have
theirs in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NoReturn, TypeVar

from kafkalite.ports.clock import Clock
from kafkalite.protocol.schema import Response
from kafkalite.server.purgatory import MakeAnswer, Parked
from kafkalite.types import TimestampMs

R = TypeVar("R", bound=Response)

TURN_COST = 10_000
"""In microseconds or so."""


class Turns:
    """An iterator that does a piece of the work at each step, and says what that cost, in
    microseconds or so."""

    __slots__ = ("_clock", "_pieces")

    def __init__(self, clock: Clock, pieces: Iterator[int]) -> None:
        self._clock = clock
        self._pieces = pieces

    def take(self) -> bool:
        """As much as one turn may cost. True when all is done."""
        left = TURN_COST
        for cost in self._pieces:
            left -= cost
            if left <= 0:
                return False
        return True

    def go_on(
        self, parked: Parked, make: MakeAnswer | None, *, whoever_waits: bool = False
    ) -> None:
        """Do the rest in later turns, and complete `parked` then; None: that is another's. Whoever
        does not wait any more has nothing done for them, unless `whoever_waits`: what has been
        begun is not left half done then. What a piece raises is the answer."""

        def turn() -> None:
            if parked.done and not whoever_waits:
                return
            try:
                is_over = self.take()
            except Exception as failure:  # Dispatch maps it, as in the first turn.
                if parked.done:
                    raise
                parked.complete(partial(_fail, failure))
                return
            if not is_over:
                self.go_on(parked, make, whoever_waits=whoever_waits)
            elif make is not None:
                parked.complete(make)

        self._clock.call_at(self._clock.now_ms(), turn)


def _fail(failure: Exception) -> NoReturn:
    raise failure


def complete_in_turns(
    clock: Clock, parked: Parked, pieces: Iterator[int], make: MakeAnswer
) -> None:
    """Complete `parked` when all `pieces` are done: at once where they are few."""
    turns = Turns(clock, pieces)
    if turns.take():
        parked.complete(make)
    else:
        turns.go_on(parked, make)


def answer_in_turns(
    clock: Clock,
    pieces: Iterator[int],
    response: Callable[[], R],
    *,
    within_ms: int,
    too_late: Callable[[], R],
) -> R | Parked:
    """What `response` makes when all `pieces` are done: at once where they are few. They are as
    `Turns` has them."""
    turns = Turns(clock, pieces)
    if turns.take():
        return response()
    parked = Parked(clock, TimestampMs(clock.now_ms() + within_ms), too_late)
    turns.go_on(parked, response)
    return parked
