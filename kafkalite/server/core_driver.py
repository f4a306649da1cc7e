"""Drives an event-sourced core: decide, append, apply, and park the replies until all is committed.

One driver for the controller and for every coordinator. They differ in their journal alone:

    controller     a commit to the metadata store: takes time, durable when it is done
    coordinator    an append to its partition: done at once, committed by the high watermark

Events that come while an append is under way wait in a queue, so that a core always decides on all
that it decided before. What makes very many records at once is decided, appended and applied in
turns of the loop of their own, so that others have theirs in between.

A batch that is refused for itself refuses its event, and the core settles what ran ahead of it. An
append that fails otherwise ends the driver: what the core would have become is lost, everyone who
waits is refused, and its owner starts again from the log. See
docs/decisions/0003-driver-of-cores.md.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

from kafkalite.core import CancelTimer, Core, Outcome, Reply, Send, SetTimer
from kafkalite.errors import ErrorCode, InvariantError, KafkaError
from kafkalite.ports.clock import Clock, Timer
from kafkalite.types import Offset, TimestampMs

_log = logging.getLogger(__name__)

MAX_QUEUED = 10_000
"""Events that wait for an append; more are refused with a retriable error."""

LOAD_AGAIN_MS = 1_000
"""When a part of a core that it needs could not be loaded, and nobody waits who could ask again."""

MANY_RECORDS = 500
"""Of one event: some milliseconds' worth of each step."""

R = TypeVar("R")
R_contra = TypeVar("R_contra", contravariant=True)


class DrivenEvent(Protocol):
    """What every event has: a name for whoever waits for its reply, or None."""

    @property
    def token(self) -> Hashable | None:
        """Unique among the events that were submitted and not answered."""
        ...


E = TypeVar("E", bound=DrivenEvent)

OnReply = Callable[[object], None]
"""Called once, with the body of the reply or the `KafkaError` that refused the event."""

Settle = Callable[[tuple[R, ...], KafkaError, TimestampMs], Outcome[E, R]]
"""What a core does about soft state that ran ahead of records which were refused. It writes no
records, and answers those who wait and had no reply in the outcome."""


class BatchRefused(KafkaError):
    """This batch is not taken, for what it is: others will be."""


class Journal(Protocol[R_contra]):
    """Where a core's records go."""

    def append(
        self, records: tuple[R_contra, ...], on_appended: Callable[[Offset | KafkaError], None]
    ) -> None:
        """As one batch, all or none. `on_appended` gets the end offset (exclusive), or why nothing
        was written; it may be called before this returns."""
        ...


class _Late(NamedTuple, Generic[E]):
    """An event that is made when its turn comes."""

    make: Callable[[], E]


class _Due(NamedTuple, Generic[E]):
    """The event of a timer that has fired."""

    key: Hashable
    event: E


class _Parked(NamedTuple):
    """A reply that shows what is applied up to `offset`, and so waits until that is committed."""

    offset: Offset
    on_reply: OnReply
    body: object


class CoreDriver(Generic[E, R]):
    """One core, its queue, its parked replies and its timers. Everything on the event loop."""

    def __init__(
        self,
        core: Core[E, R],
        journal: Journal[R],
        clock: Clock,
        *,
        applied: Offset,
        committed: Offset,
        on_sends: Callable[[tuple[Send, ...]], None],
        on_failed: Callable[[KafkaError], None],
        overload: ErrorCode,
        bystanders: ErrorCode | None = None,
        settle: Settle[R, E] | None = None,
        confirms: bool = False,
    ) -> None:
        """`applied` is the end of what the core was loaded from. `on_failed` is called once, when
        an append failed, after which the driver is closed. `overload`, a retriable one, refuses
        events beyond `MAX_QUEUED`. `bystanders`: what those are told who wait for something else
        than the append that failed; None: the same. `settle` is for journals that have
        `BatchRefused`. `confirms`: an answer that needs no records is given after an append of
        none, for journals that say by that whether the core is still the one to answer."""
        self._core = core
        self._journal = journal
        self._clock = clock
        self._applied = applied
        self._committed = committed
        self._on_sends = on_sends
        self._on_failed = on_failed
        self._overload = overload
        self._bystanders = bystanders
        self._settle = settle
        self._confirms = confirms
        self._queue: deque[E | _Late[E] | _Due[E]] = deque()
        self._appending: Outcome[E, R] | None = None
        self._running = False
        self._next_step: Timer | None = None
        self._waiting: dict[Hashable, OnReply] = {}
        self._parked: deque[_Parked] = deque()
        self._timers: dict[Hashable, Timer] = {}
        self._closed: KafkaError | None = None

    @property
    def parked(self) -> int:
        """Replies that wait for the commit of what they show."""
        return len(self._parked)

    def submit(self, event: E, on_reply: OnReply | None = None) -> None:
        """Have the core decide on `event`, after those submitted before. `on_reply` needs a
        token."""
        if on_reply is not None:
            refusal = self._closed
            if refusal is None and len(self._queue) >= MAX_QUEUED:
                refusal = KafkaError(self._overload, "too many events wait")
            if refusal is not None:
                on_reply(refusal)
                return
            assert event.token is not None, event
            assert event.token not in self._waiting, event
            self._waiting[event.token] = on_reply
        elif self._closed is not None:
            return
        self._queue.append(event)
        self._run()

    def submit_late(self, make: Callable[[], E]) -> None:
        """As `submit`, for an event that shows what is outside as it is when the core decides on
        it. Nobody waits for it."""
        if self._closed is None:
            self._queue.append(_Late(make))
            self._run()

    def committed(self, offset: Offset) -> None:
        """Everything below `offset` is committed: replies that waited for it go out, in their
        order."""
        self._committed = max(self._committed, offset)
        while self._parked and self._parked[0].offset <= self._committed:
            parked = self._parked.popleft()
            parked.on_reply(parked.body)

    def close(self, reason: KafkaError) -> None:
        """Refuse everyone who waits, with `reason`; later events too. Timers are gone. Twice does
        no harm."""
        if self._closed is not None:
            return
        self._closed = reason
        self._queue.clear()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        if self._next_step is not None:
            self._next_step.cancel()
        refused = [*(parked.on_reply for parked in self._parked), *self._waiting.values()]
        self._parked.clear()
        self._waiting.clear()
        for on_reply in refused:
            on_reply(reason)

    def _run(self) -> None:
        """Decide on what is queued, until an append takes time. Never within itself."""
        if self._running:
            return
        self._running = True
        try:
            while self._queue and self._appending is None and self._closed is None:
                event = self._queue.popleft()
                if isinstance(event, _Due):
                    self._decide(event.event, event.key)
                else:
                    self._decide(event.make() if isinstance(event, _Late) else event)
        finally:
            self._running = False

    def _decide(self, event: E, timer: Hashable | None = None) -> None:
        """`timer`: the key of the one that fired."""
        try:
            outcome = self._core.decide(event, self._clock.now_ms())
        except KafkaError as error:
            self._refuse(event, error)
        except InvariantError:
            raise
        except OSError as error:
            # A core opens no file but those of its own code.
            _log.warning("part of the code cannot be loaded: %s", error)
            if event.token is None:
                self._decide_later(event, timer)
            else:
                self._refuse(event, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))
        except Exception:  # noqa: BLE001  # A driver is where one bad event is answered and logged.
            _log.exception("The core could not decide on %r", event)
            self._refuse(event, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))
        else:
            self._go_on(outcome)

    def _decide_later(self, event: E, timer: Hashable | None) -> None:
        key = object() if timer is None else timer
        if key not in self._timers:  # Else it was set anew meanwhile.
            at = TimestampMs(self._clock.now_ms() + LOAD_AGAIN_MS)
            self._set_timer(SetTimer(key, at, event))

    def _refuse(self, event: E, error: KafkaError) -> None:
        """A reply like any other: it shows the state that it was decided on. No frame below which
        it was raised may keep it, for it keeps them, and with them views of requests."""
        self._go_on(Outcome(replies=(Reply(event.token, error),)))

    def _go_on(self, outcome: Outcome[E, R]) -> None:
        if outcome.records or (self._confirms and outcome.replies):
            self._appending = outcome
            self._in_turn(outcome, lambda: self._append(outcome))
        else:
            self._carry_out(outcome)

    def _in_turn(self, outcome: Outcome[E, R], step: Callable[[], None]) -> None:
        """Take the step now, or in a turn of its own where it takes long."""
        if len(outcome.records) < MANY_RECORDS:
            step()
        else:
            self._next_step = self._clock.call_at(self._clock.now_ms(), step)

    def _append(self, outcome: Outcome[E, R]) -> None:
        self._journal.append(outcome.records, self._appended)

    def _appended(self, result: Offset | KafkaError) -> None:
        outcome = self._appending
        if self._closed is not None:
            return
        assert outcome is not None, "an append that was not asked for"
        if isinstance(result, BatchRefused):
            self._appending = None
            self._refused(outcome, result)
        elif isinstance(result, KafkaError):
            self._appending = None
            self._fail(outcome, result)
        else:
            self._in_turn(outcome, lambda: self._apply(outcome, result))

    def _apply(self, outcome: Outcome[E, R], result: Offset) -> None:
        self._appending = None
        for record in outcome.records:
            self._core.apply(record)
        self._applied = result
        self._carry_out(outcome)
        self._run()

    def _refused(self, outcome: Outcome[E, R], error: BatchRefused) -> None:
        """Recorded state is as before; timers are of what was decided, and of what comes of it."""
        assert self._settle is not None, "a journal that refuses batches"
        settled = self._settle(outcome.records, error, self._clock.now_ms())
        assert not settled.records, settled
        self._carry_out(
            Outcome(
                replies=tuple(Reply(reply.token, error) for reply in outcome.replies),
                timers=outcome.timers,
            )
        )
        self._carry_out(settled)
        self._run()

    def _fail(self, outcome: Outcome[E, R], error: KafkaError) -> None:
        refused = [self._waiting.pop(reply.token, None) for reply in outcome.replies]
        self.close(error if self._bystanders is None else KafkaError(self._bystanders))
        for on_reply in refused:
            if on_reply is not None:
                on_reply(error)
        self._on_failed(error)

    def _carry_out(self, outcome: Outcome[E, R]) -> None:
        for timer in outcome.timers:
            self._set_timer(timer)
        if outcome.sends:
            self._release(partial(self._send, outcome.sends), None)
        for reply in outcome.replies:
            self._reply(reply.token, reply.body)

    def _reply(self, token: Hashable | None, body: object) -> None:
        on_reply = self._waiting.pop(token, None)
        if on_reply is not None:
            self._release(on_reply, body)

    def _send(self, sends: tuple[Send, ...], refusal: object) -> None:
        """Unless the driver was closed meanwhile."""
        if refusal is None:
            self._on_sends(sends)

    def _release(self, on_reply: OnReply, body: object) -> None:
        """Now, or when all that is applied is committed."""
        if self._applied <= self._committed and not self._parked:
            on_reply(body)
        else:
            self._parked.append(_Parked(self._applied, on_reply, body))

    def _set_timer(self, change: SetTimer[E] | CancelTimer) -> None:
        old = self._timers.pop(change.key, None)
        if old is not None:
            old.cancel()
        if isinstance(change, SetTimer):
            self._timers[change.key] = self._clock.call_at(
                change.at_ms, lambda: self._fire(change.key, change.event)
            )

    def _fire(self, key: Hashable, event: E) -> None:
        del self._timers[key]
        self._queue.append(_Due(key, event))
        self._run()


def ask_each(
    asks: Sequence[Callable[[OnReply], None]], on_replies: Callable[[list[object]], None]
) -> None:
    """Ask all of them; `on_replies` gets what each was answered, in their order, when the last
    answer has come."""
    replies: list[object] = [None] * len(asks)
    missing = len(asks)
    if not missing:
        on_replies(replies)

    def on_reply(at: int, reply: object) -> None:
        nonlocal missing
        replies[at] = reply
        missing -= 1
        if not missing:
            on_replies(replies)

    for at, ask in enumerate(asks):
        ask(partial(on_reply, at))
