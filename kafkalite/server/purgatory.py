"""Where answers wait: each for a condition, no longer than its deadline.

`Parked` is what a handler returns instead of a response. Whoever makes its condition true completes
it; the clock does so at the deadline; a client that goes away abandons it. Exactly one of the three
happens. Fetches wait for bytes (`FetchWait`) and produces for the high watermark (`CommitWait`),
both under the partitions that can wake them, so that an append looks only at those who wait for it.

Source: Kafka's `DelayedOperation`, `DelayedFetch`, `DelayedProduce`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from kafkalite.ports.clock import Clock
from kafkalite.protocol.schema import Response
from kafkalite.replica.fetch_answers import FetchedFrom
from kafkalite.types import Offset, TimestampMs

FOREVER_MS: Final = 1 << 50
"""The timeout of what has a deadline of its own."""
MakeAnswer = Callable[[], Response | None]
"""Makes the answer when it is due: what is true then, not when the request came. None when the
client wants none. Dispatch calls it, and maps what it raises."""


class Parked:
    """An answer that is not there yet.

    `at_deadline` makes the answer when time runs out; `forget` takes the condition back, however
    the wait ends."""

    __slots__ = ("_deliver", "_forget", "_make", "_timer", "done")

    def __init__(
        self,
        clock: Clock,
        deadline_ms: TimestampMs,
        at_deadline: MakeAnswer,
        forget: Callable[[], None] | None = None,
    ) -> None:
        self.done = False
        """Completed or abandoned."""
        self._make: MakeAnswer | None = None
        self._deliver: Callable[[MakeAnswer], None] | None = None
        self._forget = forget
        self._timer = clock.call_at(deadline_ms, lambda: self.complete(at_deadline))

    @staticmethod
    def without_deadline(clock: Clock, forget: Callable[[], None] | None = None) -> Parked:
        """Whoever completes it sees to it that this happens in time."""
        return Parked(clock, TimestampMs(clock.now_ms() + FOREVER_MS), lambda: None, forget)

    def complete(self, make: MakeAnswer) -> None:
        """The condition is true. A second call, or one after the client has gone, does nothing."""
        if self.done:
            return
        self._end()
        if self._deliver is not None:
            self._deliver(make)
        else:
            self._make = make

    def abandon(self) -> None:
        """Nobody waits any more."""
        if not self.done:
            self._end()

    def then(self, deliver: Callable[[MakeAnswer], None]) -> None:
        """Call `deliver` once the answer is due: now, if it is already. Dispatch calls this
        once."""
        if self._make is not None:
            deliver(self._make)
        else:
            self._deliver = deliver

    def _end(self) -> None:
        self.done = True
        self._timer.cancel()
        if self._forget is not None:
            self._forget()


class CommittedTo(Protocol):
    """What a partition keeps of those who wait for one of its watermarks."""

    commits: dict[CommitWait, None]


class FetchWait:
    """A fetch that waits until its partitions have `min_bytes` to give."""

    __slots__ = ("_answer", "_missing_bytes", "_only_stable", "_partitions", "parked")

    def __init__(
        self,
        clock: Clock,
        deadline_ms: TimestampMs,
        *,
        missing_bytes: int,
        partitions: Sequence[FetchedFrom],
        answer: MakeAnswer,
        only_stable: bool = False,
    ) -> None:
        """`partitions`: and what else may wake it. `only_stable`: it reads what is committed."""
        self._answer = answer
        self._only_stable = only_stable
        self._missing_bytes = missing_bytes
        self._partitions = partitions
        self.parked = Parked(clock, deadline_ms, answer, self._forget)
        for partition in partitions:
            partition.fetches[self] = None

    def more(self, size_bytes: int, stable_bytes: int) -> None:
        """A partition lets readers see more: see `FetchWatcher`."""
        visible_bytes = stable_bytes if self._only_stable else size_bytes
        if visible_bytes <= 0:
            return
        self._missing_bytes -= visible_bytes
        if self._missing_bytes <= 0:
            self.wake()

    def wake(self) -> None:
        """Something other than bytes happened (leader, epoch, topic gone): answer what there is."""
        self.parked.complete(self._answer)

    def look_again(self) -> None:
        """See `FetchWatcher`; nothing to wait no longer for."""

    def _forget(self) -> None:
        for partition in self._partitions:
            partition.fetches.pop(self, None)


class CommitWait:
    """Waits until partitions are as far as is asked of each: a produce with acks=all for the high
    watermark, a DeleteRecords for the low one."""

    __slots__ = ("_answer", "_ends", "_settle", "parked")

    def __init__(
        self,
        clock: Clock,
        deadline_ms: TimestampMs,
        *,
        ends: Sequence[tuple[CommittedTo, Offset]],
        answer: MakeAnswer,
        settle: Callable[[CommittedTo], None] = lambda partition: None,
    ) -> None:
        """`settle` is told of each of them as it is `resolved`, before the answer is made."""
        self._settle = settle
        self._answer = answer
        self._ends = dict(ends)
        self.parked = Parked(clock, deadline_ms, answer, self._forget)
        for partition in self._ends:
            partition.commits[self] = None

    def committed(self, partition: CommittedTo, high_watermark: Offset) -> None:
        """The high watermark of `partition` moved, or the low one where that is waited for."""
        if high_watermark >= self._ends[partition]:
            self.resolved(partition)

    def resolved(self, partition: CommittedTo) -> None:
        """Nothing is to be waited for at `partition`: committed, or it is led elsewhere now."""
        self._settle(partition)
        del self._ends[partition]
        del partition.commits[self]
        if not self._ends:
            self.parked.complete(self._answer)

    def _forget(self) -> None:
        for partition in self._ends:
            partition.commits.pop(self, None)
