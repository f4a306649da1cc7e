"""A toy core, a journal whose appends and commits the test controls, and the driver over both."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from kafkalite.core import CancelTimer, Outcome, Reply, Send, SetTimer
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.server.core_driver import MANY_RECORDS, BatchRefused, CoreDriver
from kafkalite.types import BrokerId, Offset, TimestampMs
from tests.server.hand_clock import HandClock


@dataclass(frozen=True)
class Add:
    """Adds to a sum, and answers what it will be."""

    number: int
    token: Hashable | None = None


@dataclass(frozen=True)
class Ask:
    """Answers the sum."""

    token: Hashable | None = None


@dataclass(frozen=True)
class Alarm:
    """Sets (`in_ms`) or cancels a timer that adds 100."""

    in_ms: int | None
    token: Hashable | None = None


@dataclass(frozen=True)
class Fail:
    """Raises."""

    error: Exception
    token: Hashable | None = None


@dataclass(frozen=True)
class Load:
    """Adds 1000, once the files are there that cannot be opened yet; `in_ms`: then, by a timer."""

    missing: list[OSError]
    in_ms: int | None = None
    token: Hashable | None = None


@dataclass(frozen=True)
class Tell:
    """Sends."""

    token: Hashable | None = None


@dataclass(frozen=True)
class Many:
    """Adds 1 very often, and answers what the sum will be."""

    token: Hashable | None = None


NO_FILES = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
Event = Add | Ask | Alarm | Fail | Load | Many | Tell


class Sum:
    """The toy core."""

    def __init__(self) -> None:
        self.total = 0

    def decide(self, event: Event, now: TimestampMs) -> Outcome[Event, int]:
        match event:
            case Add():
                replies = (Reply(event.token, self.total + event.number),)
                return Outcome((event.number,), replies)
            case Ask():
                return Outcome(replies=(Reply(event.token, self.total),))
            case Alarm():
                if event.in_ms is None:
                    return Outcome(timers=(CancelTimer("alarm"),))
                at = TimestampMs(now + event.in_ms)
                return Outcome(timers=(SetTimer("alarm", at, Add(100)),))
            case Fail():
                raise event.error
            case Load(missing, in_ms) if in_ms is not None:
                at = TimestampMs(now + in_ms)
                return Outcome(timers=(SetTimer("load", at, Load(missing)),))
            case Load():
                if event.missing:
                    raise event.missing.pop()
                return Outcome((1_000,))
            case Many():
                replies = (Reply(event.token, self.total + MANY_RECORDS),)
                return Outcome((1,) * MANY_RECORDS, replies)
            case Tell():
                return Outcome(sends=(Send(BrokerId(2), "hello", "token"),))

    def apply(self, record: int) -> None:
        self.total += record

    def refused(
        self, records: tuple[int, ...], error: KafkaError, now: TimestampMs
    ) -> Outcome[Event, int]:
        """Answers whoever had `Tell` sent, and adds 7 after a while."""
        timer: SetTimer[Event] = SetTimer("settled", TimestampMs(now + 5), Add(7))
        return Outcome(replies=(Reply("told", (records, error.code)),), timers=(timer,))


class HandJournal:
    """Appends wait for `done`, unless `at_once`."""

    def __init__(self, *, at_once: bool) -> None:
        self.at_once = at_once
        self.end = 0
        self.pending: list[Callable[[Offset | KafkaError], None]] = []
        self.refusal: BatchRefused | None = None
        """Of the next append."""

    def append(
        self, records: tuple[int, ...], on_appended: Callable[[Offset | KafkaError], None]
    ) -> None:
        refusal, self.refusal = self.refusal, None
        if refusal is not None:
            on_appended(refusal)
            return
        self.end += len(records)
        if self.at_once:
            on_appended(Offset(self.end))
        else:
            self.pending.append(on_appended)

    def done(self, error: KafkaError | None = None) -> None:
        self.pending.pop(0)(Offset(self.end) if error is None else error)


class Driven:
    def __init__(
        self, *, at_once: bool, bystanders: ErrorCode | None = None, confirms: bool = False
    ) -> None:
        self.core = Sum()
        self.journal = HandJournal(at_once=at_once)
        self.clock = HandClock()
        self.failures: list[KafkaError] = []
        self.sends: list[Send] = []
        self.driver = CoreDriver[Event, int](
            self.core,
            self.journal,
            self.clock,
            applied=Offset(0),
            committed=Offset(0),
            on_sends=self.sends.extend,
            on_failed=self.failures.append,
            overload=ErrorCode.REQUEST_TIMED_OUT,
            bystanders=bystanders,
            settle=self.core.refused,
            confirms=confirms,
        )
        self.replies: dict[Hashable, object] = {}

    def submit(self, event: Event) -> None:
        if event.token is None:
            self.driver.submit(event)
        else:
            self.driver.submit(event, lambda body: self._replied(event.token, body))

    def _replied(self, token: Hashable, body: object) -> None:
        assert token not in self.replies
        self.replies[token] = body.code if isinstance(body, KafkaError) else body

    def commit(self, offset: int | None = None) -> None:
        self.driver.committed(Offset(self.journal.end if offset is None else offset))
