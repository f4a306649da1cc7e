"""Where Ctrl-C ends a command that reads or sends records."""

from __future__ import annotations

import io
import signal
from collections.abc import Iterator

import pytest

from kafkalite.cli.deliveries import Deliveries
from kafkalite.cli.input_lines import parse_text
from kafkalite.cli.interrupts import interrupts_held_back
from kafkalite.cli.partitioning import Partitioning
from kafkalite.cli.produce import _send_all, _Sender
from kafkalite.cli.record_json import NewRecord
from kafkalite.cli.watched_reader import WatchedReader
from tests.cli.test_watched_reader import PARTITION, Consumer, Reader


@pytest.fixture(autouse=True)
def raising() -> Iterator[None]:
    """As Python begins, however the tests were started and whatever another one left: a shell's
    background ignores Ctrl-C, and uvloop's handlers stay when their loop is closed."""
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)
    terminate = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, terminate)


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def pressed(times: int, done: list[str]) -> None:
    with interrupts_held_back():
        for _ in range(times):
            press()
        done.append("unlocked")


def test_it_waits_for_the_end_of_what_holds_locks() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        pressed(1, done)
    assert done == ["unlocked"]


def test_a_second_one_does_not_wait() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        pressed(2, done)
    assert not done


def test_outside_it_is_as_ever() -> None:
    with interrupts_held_back():
        pass
    with pytest.raises(KeyboardInterrupt):
        press()


def test_a_signal_that_is_ignored_or_that_ends_the_process_stays_so() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interrupts_held_back():
        press()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


class Interrupted(Reader):
    """Ctrl-C comes amid each of its steps."""

    def __init__(self) -> None:
        super().__init__([["a"]])
        self.polled = 0

    def batches(self) -> Iterator[list[str]]:
        while True:
            press()
            self.polled += 1
            yield ["a"]

    def commit(self, offsets: object) -> None:
        press()
        self.committed.append({PARTITION: 3})


def test_a_reading_ends_between_polls() -> None:
    inner = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        next(WatchedReader(inner, Consumer([]), "kafka:9092").batches())
    assert inner.polled == 1


def test_a_reading_ends_after_a_commit() -> None:
    inner = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        WatchedReader(inner, Consumer([]), "kafka:9092").commit({PARTITION: 3})
    assert inner.committed == [{PARTITION: 3}]


class Future:
    """Never acknowledged."""

    def add_callback(self, *parts: object) -> None: ...
    def add_errback(self, *parts: object) -> None: ...


class Producer:
    """Ctrl-C comes amid each record."""

    sent = 0

    def send(self, topic: str, **record: object) -> Future:
        press()
        self.sent += 1
        return Future()


def test_a_sending_ends_between_records() -> None:
    producer = Producer()
    deliveries = Deliveries(has_offsets=True)
    sender = _Sender(producer, "t", NewRecord(None, None, (), None), deliveries, Partitioning([0]))
    with pytest.raises(KeyboardInterrupt):
        _send_all(sender, io.BytesIO(b"first\nsecond\n"), parse_text)
    assert producer.sent == 1


def test_a_wait_for_deliveries_ends_between_its_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    deliveries = Deliveries(has_offsets=True)
    deliveries.follow(1, Future())
    looks: list[float] = []

    def look(_: object, within_s: float) -> bool:
        press()
        looks.append(within_s)
        return False

    monkeypatch.setattr(deliveries._changed, "wait_for", look)
    with pytest.raises(KeyboardInterrupt):
        deliveries.wait(60)
    assert len(looks) == 1
