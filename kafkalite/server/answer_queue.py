"""Answers in the order of their requests: those of one connection that cannot leave yet, since the
first of them is not made."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from kafkalite.log.files import Part, release_parts

REQUESTS_AHEAD = 16
BYTES_AHEAD = 1 << 20
"""So many requests, or so much of them, may wait behind an answer that is not made yet."""


class Pending:
    """The place of an answer that is not made yet. Whoever parked the request completes it once."""

    __slots__ = ("_abandoned", "_completed", "_parts", "_size", "is_done")

    def __init__(self, abandoned: Callable[[], None] | None = None) -> None:
        """`abandoned` is called when the client has gone: no one waits for the answer any more. It
        is not called after `complete`, and to complete it after that call does nothing."""
        self._abandoned = abandoned
        self._completed: Callable[[], None] | None = None
        self._parts: list[Part] | None = None
        self._size = 0
        self.is_done = False
        """Completed or abandoned."""

    def complete(self, parts: list[Part] | None) -> None:
        """The answer, with its length prefix; None when none is due. Runs no handler, and is cheap:
        it may be called from inside another connection's request."""
        if self.is_done:
            release_parts(parts or ())
            return
        self.is_done = True
        self._abandoned = None
        self._parts = parts
        if self._completed is not None:
            self._completed()

    def _forget(self) -> None:
        """The client has gone."""
        self._completed = None
        release_parts(self._parts or ())
        self._parts = None
        if not self.is_done:
            self.is_done = True
            abandoned, self._abandoned = self._abandoned, None
            if abandoned is not None:
                abandoned()


class AnswerQueue:
    """Of one connection. While it is empty answers need not come by here."""

    __slots__ = ("_ahead_bytes", "_completed", "slots")

    def __init__(self, completed: Callable[[], None]) -> None:
        """`completed` is called whenever a pending answer in it is made."""
        self._completed = completed
        self._ahead_bytes = 0
        """The size of the requests of `slots`."""
        self.slots: deque[Pending] = deque()
        """Only to be looked at."""

    def add(self, answer: list[Part] | Pending, size_bytes: int) -> None:
        """The answer of the next request, which had that size."""
        if isinstance(answer, Pending):
            slot = answer
        else:
            slot = Pending()
            slot.complete(answer)
        slot._size = size_bytes
        self.slots.append(slot)
        self._ahead_bytes += size_bytes
        if not slot.is_done:
            slot._completed = self._completed

    @property
    def is_full(self) -> bool:
        """Whether to wait before the next request is handled."""
        return len(self.slots) >= REQUESTS_AHEAD or self._ahead_bytes >= BYTES_AHEAD

    def move_to(self, out: list[Part]) -> None:
        """Append the parts of the answers that nothing stands before."""
        slots = self.slots
        while slots and slots[0].is_done:
            slot = slots.popleft()
            slot._completed = None
            self._ahead_bytes -= slot._size
            if slot._parts:
                out += slot._parts
                slot._parts = None

    def abandon(self) -> None:
        """The client has gone: tell all who would answer."""
        slots, self.slots = self.slots, deque()
        self._ahead_bytes = 0
        for slot in slots:
            slot._forget()
