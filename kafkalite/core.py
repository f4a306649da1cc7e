"""The shape of every answer of an event-sourced core, and the contract with its driver.

A core decides and never waits: `decide(event, now) -> Outcome` reads its state and leaves the
recorded state alone, `apply(record)` is that state's only writer. The driver, in one synchronous
stretch, calls `decide`, appends the records as one batch, applies each, and keeps the replies until
the high watermark (for the controller: the metadata store's commit) has passed what they saw.
Loading after a failover is `apply` over the log. See docs/decisions/0003-driver-of-cores.md."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from kafkalite.types import BrokerId, TimestampMs

E = TypeVar("E")
"""The closed union of a core's events."""
R = TypeVar("R")
"""The closed union of a core's records."""


class Reply(NamedTuple):
    """`body` for whoever holds `token`: the driver was given the token with the event, and releases
    the reply once everything that this core has applied so far is committed."""

    token: Hashable
    body: object


class Send(NamedTuple):
    """A request to another broker, once everything that this core has applied so far is committed.
    Its answer comes back to the core as an event that carries `token`, or names its cause."""

    to: BrokerId | None
    """None: to whoever leads what the request is about, maybe this broker."""
    request: object
    token: Hashable


class SetTimer(NamedTuple, Generic[E]):
    """Feed `event` to the core at `at_ms`, unless the timer of that key is set anew or
    cancelled."""

    key: Hashable
    at_ms: TimestampMs
    event: E


class CancelTimer(NamedTuple):
    """Forget the timer of that key; nothing happens when there is none."""

    key: Hashable


class Outcome(NamedTuple, Generic[E, R]):
    """All that follows from one event, as data."""

    records: tuple[R, ...] = ()
    """Appended as one batch; then each is applied."""
    replies: tuple[Reply, ...] = ()
    """Released once all that this core has applied is committed."""
    sends: tuple[Send, ...] = ()
    timers: tuple[SetTimer[E] | CancelTimer, ...] = ()


class Pause(NamedTuple):
    """A while after a failure, before the same is tried again. A clock that is set ends it: whoever
    compares with a moment alone would wait as long as the clock was set back."""

    since_ms: TimestampMs
    until_ms: TimestampMs

    @staticmethod
    def of(ms: int, now: TimestampMs) -> Pause:
        """One that begins now."""
        return Pause(now, TimestampMs(now + ms))

    def is_over(self, now: TimestampMs) -> bool:
        """Whether to try again."""
        return not self.since_ms <= now < self.until_ms


NO_PAUSE: Final = Pause(TimestampMs(0), TimestampMs(0))


class Core(Protocol[E, R]):
    """An event-sourced core."""

    def decide(self, event: E, now: TimestampMs) -> Outcome[E, R]:
        """What follows from `event`. Leaves the recorded state alone. `KafkaError` refuses the
        event."""
        ...

    def apply(self, record: R) -> None:
        """Fold one appended record into the state. Never refuses, never looks at the time."""
        ...
