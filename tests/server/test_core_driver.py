"""The driver over a toy core and a journal whose appends and commits the test controls."""

from __future__ import annotations

import pytest

from kafkalite.core import Send
from kafkalite.errors import ErrorCode, InvariantError, KafkaError
from kafkalite.server import core_driver
from kafkalite.server.core_driver import LOAD_AGAIN_MS, MANY_RECORDS, BatchRefused
from kafkalite.types import BrokerId
from tests.server.toy_core import (
    NO_FILES,
    Add,
    Alarm,
    Ask,
    Driven,
    Fail,
    Load,
    Many,
    Tell,
)


def test_a_coordinators_replies_wait_for_the_high_watermark() -> None:
    driven = Driven(at_once=True)
    driven.submit(Add(1, "a"))
    driven.submit(Add(2, "b"))
    assert driven.core.total == 3, "applied at once"
    assert driven.replies == {}
    driven.commit(1)
    assert driven.replies == {"a": 1}
    driven.commit(2)
    assert driven.replies == {"a": 1, "b": 3}
    driven.commit(0)
    driven.submit(Ask("c"))
    assert driven.replies["c"] == 3, "the high watermark does not fall"


def test_a_read_does_not_show_what_may_still_be_lost() -> None:
    driven = Driven(at_once=True)
    driven.submit(Ask("first"))
    assert driven.replies == {"first": 0}
    driven.submit(Add(5, "add"))
    driven.submit(Ask("read"))
    driven.submit(Fail(KafkaError(ErrorCode.UNKNOWN_MEMBER_ID), "refused"))
    assert set(driven.replies) == {"first"}
    assert driven.driver.parked == 3
    driven.commit()
    assert list(driven.replies) == ["first", "add", "read", "refused"], "in their order"
    assert driven.replies["read"] == 5
    assert driven.replies["refused"] is ErrorCode.UNKNOWN_MEMBER_ID


def test_what_a_reply_asks_for_is_answered_after_those_who_waited_before() -> None:
    driven = Driven(at_once=True)
    driven.driver.submit(Add(1, "a"), lambda body: driven.submit(Ask("asked by a")))
    driven.submit(Ask("b"))
    driven.commit()
    assert list(driven.replies) == ["b", "asked by a"]


def test_over_a_slow_store_one_append_is_in_flight_and_events_wait_their_turn() -> None:
    driven = Driven(at_once=False)
    driven.submit(Add(1, "a"))
    driven.submit(Add(2, "b"))
    driven.submit(Ask("c"))
    assert len(driven.journal.pending) == 1
    assert driven.core.total == 0, "nothing is applied before it is written"
    driven.commit()
    driven.journal.done()
    assert driven.replies == {"a": 1}
    driven.commit()
    driven.journal.done()
    assert driven.replies == {"a": 1, "b": 3, "c": 3}


def test_what_needs_no_records_is_answered_when_an_append_of_none_is_done() -> None:
    driven = Driven(at_once=False, confirms=True)
    driven.submit(Ask("a"))
    driven.submit(Ask("b"))
    assert driven.replies == {}
    driven.journal.done()
    assert driven.replies == {"a": 0}
    driven.journal.done(KafkaError(ErrorCode.NOT_CONTROLLER))
    assert driven.replies["b"] is ErrorCode.NOT_CONTROLLER


@pytest.mark.parametrize("error", [KafkaError(ErrorCode.STALE_BROKER_EPOCH), ZeroDivisionError()])
def test_neither_is_refused_before_it_what_the_core_raises(error: Exception) -> None:
    driven = Driven(at_once=False, confirms=True)
    driven.submit(Fail(error, "a"))
    driven.submit(Fail(error, "b"))
    assert driven.replies == {}
    driven.journal.done()
    assert list(driven.replies) == ["a"]
    assert driven.replies["a"] is not ErrorCode.NOT_CONTROLLER
    driven.journal.done(KafkaError(ErrorCode.NOT_CONTROLLER))
    assert driven.replies["b"] is ErrorCode.NOT_CONTROLLER


def test_an_event_is_made_when_its_turn_comes_and_after_the_end_never() -> None:
    driven = Driven(at_once=False)
    made: list[int] = []

    def make() -> Add:
        made.append(driven.core.total)
        return Add(10, None)

    driven.submit(Add(1, "a"))
    driven.driver.submit_late(make)
    assert made == []
    driven.journal.done()
    assert made == [1]
    driven.journal.done()
    assert driven.core.total == 11
    driven.driver.close(KafkaError(ErrorCode.NOT_CONTROLLER))
    driven.driver.submit_late(make)
    assert (made, [*driven.driver._queue]) == ([1], [])


def test_a_failed_append_ends_the_driver() -> None:
    driven = Driven(at_once=False)
    driven.submit(Alarm(10))
    driven.submit(Add(1, "a"))
    driven.submit(Add(2, "b"))
    driven.journal.done(KafkaError(ErrorCode.NOT_CONTROLLER))
    assert driven.replies == dict.fromkeys("ab", ErrorCode.NOT_CONTROLLER)
    assert [error.code for error in driven.failures] == [ErrorCode.NOT_CONTROLLER]
    assert driven.core.total == 0
    assert driven.clock.waiting == 0
    driven.submit(Ask("later"))
    assert driven.replies["later"] is ErrorCode.NOT_CONTROLLER


def test_who_did_not_ask_for_what_failed_may_be_told_something_else() -> None:
    driven = Driven(at_once=False, bystanders=ErrorCode.NOT_COORDINATOR)
    driven.submit(Add(1, "parked"))
    driven.journal.done()
    driven.submit(Add(2, "fails"))
    driven.submit(Add(3, "queued"))
    driven.journal.done(KafkaError(ErrorCode.MESSAGE_TOO_LARGE))
    assert driven.replies == {
        "parked": ErrorCode.NOT_COORDINATOR,
        "queued": ErrorCode.NOT_COORDINATOR,
        "fails": ErrorCode.MESSAGE_TOO_LARGE,
    }
    assert [error.code for error in driven.failures] == [ErrorCode.MESSAGE_TOO_LARGE]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_batch_that_is_refused_for_itself_refuses_its_event_alone(*, at_once: bool) -> None:
    driven = Driven(at_once=at_once)
    refusal = BatchRefused(ErrorCode.MESSAGE_TOO_LARGE)
    driven.submit(Add(1, "before"))
    if not at_once:
        driven.journal.done()
    driven.journal.refusal = refusal
    driven.submit(Add(2, "refused"))
    driven.submit(Add(3, "after"))
    if not at_once:
        driven.journal.done()
    driven.commit()
    assert driven.replies == {"before": 1, "refused": ErrorCode.MESSAGE_TOO_LARGE, "after": 4}
    assert list(driven.replies) == ["before", "refused", "after"], "in their order"
    assert driven.failures == []
    driven.clock.advance(5)
    if not at_once:
        driven.journal.done()
    assert driven.core.total == 11, "what is settled has its timers"


def test_who_waits_for_what_is_refused_is_answered_by_the_core() -> None:
    driven = Driven(at_once=True)
    driven.submit(Tell("told"))
    driven.journal.refusal = BatchRefused(ErrorCode.MESSAGE_TOO_LARGE)
    driven.submit(Add(2, "refused"))
    assert driven.replies["told"] == ((2,), ErrorCode.MESSAGE_TOO_LARGE)


def test_closing_refuses_who_is_parked_and_who_waits() -> None:
    driven = Driven(at_once=True)
    driven.submit(Add(1, "parked"))
    reason = KafkaError(ErrorCode.NOT_COORDINATOR)
    driven.driver.close(reason)
    driven.driver.close(KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))
    assert driven.replies == {"parked": ErrorCode.NOT_COORDINATOR}
    driven.commit()
    driven.driver.submit(Add(1))
    assert driven.core.total == 1, "nothing is decided any more"
    assert driven.failures == []


def test_an_append_that_ends_after_closing_changes_nothing() -> None:
    driven = Driven(at_once=False)
    driven.submit(Add(1, "a"))
    driven.driver.close(KafkaError(ErrorCode.NOT_COORDINATOR))
    driven.journal.done()
    assert driven.core.total == 0


def test_events_submitted_within_a_reply_come_after() -> None:
    driven = Driven(at_once=True)
    driven.commit(10)
    order: list[object] = []

    def first(body: object) -> None:
        driven.driver.submit(Add(10, "inner"), order.append)
        order.append(body)

    driven.driver.submit(Add(1, "outer"), first)
    assert order == [1, 11]


def test_timers_are_set_anew_cancelled_and_fire_as_events() -> None:
    driven = Driven(at_once=True)
    driven.submit(Alarm(10))
    driven.submit(Alarm(20))
    driven.clock.advance(15)
    assert driven.core.total == 0
    driven.clock.advance(5)
    assert driven.core.total == 100
    driven.submit(Alarm(10))
    driven.submit(Alarm(None))
    driven.submit(Alarm(None))
    driven.clock.advance(100)
    assert driven.core.total == 100
    assert driven.clock.waiting == 0


def test_sends_go_out() -> None:
    driven = Driven(at_once=True)
    driven.driver.submit(Tell())
    assert driven.sends == [Send(BrokerId(2), "hello", "token")]


def test_sends_wait_for_the_commit_of_what_caused_them() -> None:
    driven = Driven(at_once=True)
    driven.submit(Add(1, "not committed"))
    driven.driver.submit(Tell())
    assert driven.sends == []
    driven.commit()
    assert driven.sends == [Send(BrokerId(2), "hello", "token")]


def test_a_driver_that_is_closed_sends_nothing_more() -> None:
    driven = Driven(at_once=True)
    driven.submit(Add(1, "not committed"))
    driven.driver.submit(Tell())
    driven.driver.close(KafkaError(ErrorCode.NOT_COORDINATOR))
    assert driven.sends == []


def test_one_bad_event_does_not_end_the_core(caplog: pytest.LogCaptureFixture) -> None:
    driven = Driven(at_once=True)
    driven.submit(Fail(ZeroDivisionError("a bug"), "bad"))
    driven.submit(Add(1, "good"))
    driven.commit()
    assert driven.replies == {"bad": ErrorCode.UNKNOWN_SERVER_ERROR, "good": 1}
    assert "a bug" in caplog.text


@pytest.mark.parametrize("in_ms", [None, 5])
def test_what_cannot_be_loaded_yet_is_decided_on_later(
    in_ms: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    """By a timer that would not fire again, or by word of the store that comes once."""
    driven = Driven(at_once=True)
    driven.submit(Load([NO_FILES, NO_FILES], in_ms))
    driven.clock.advance(5)
    driven.clock.advance(LOAD_AGAIN_MS)
    assert driven.core.total == 0
    driven.clock.advance(LOAD_AGAIN_MS)
    assert driven.core.total == 1_000
    assert caplog.messages == [f"part of the code cannot be loaded: {NO_FILES}"] * 2
    driven.clock.advance(9 * LOAD_AGAIN_MS)
    assert driven.core.total == 1_000


def test_who_waits_for_what_cannot_be_loaded_is_told_and_asks_again() -> None:
    driven = Driven(at_once=True)
    driven.submit(Load([NO_FILES], token="a"))
    assert driven.replies == {"a": ErrorCode.UNKNOWN_SERVER_ERROR}
    driven.clock.advance(LOAD_AGAIN_MS)
    assert driven.core.total == 0, "nobody asked again"


def test_a_timer_that_is_set_anew_stands_for_the_one_before() -> None:
    """Which fires while the first append is under way, and is decided on after the second event."""
    driven = Driven(at_once=False)
    driven.submit(Load([NO_FILES], in_ms=5))
    driven.submit(Add(1))
    driven.submit(Load([], in_ms=9 * LOAD_AGAIN_MS))
    driven.clock.advance(5)
    driven.journal.done()
    driven.clock.advance(LOAD_AGAIN_MS)
    assert not driven.journal.pending
    driven.clock.advance(9 * LOAD_AGAIN_MS)
    driven.journal.done()
    assert driven.core.total == 1_001


def test_a_broken_invariant_does() -> None:
    driven = Driven(at_once=True)
    with pytest.raises(InvariantError):
        driven.submit(Fail(InvariantError("damaged"), "bad"))


def test_the_queue_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_driver, "MAX_QUEUED", 2)
    driven = Driven(at_once=False)
    for token in "abcd":
        driven.submit(Add(1, token))
    assert driven.replies == {"d": ErrorCode.REQUEST_TIMED_OUT}
    driven.driver.submit(Add(1))  # What the driver's owner tells it is never turned away.
    for _ in range(4):
        driven.journal.done()
        driven.commit()
    assert driven.core.total == 4


@pytest.mark.parametrize("at_once", [True, False])
def test_many_records_are_decided_appended_and_applied_in_a_turn_each(at_once: bool) -> None:
    driven = Driven(at_once=at_once)
    driven.submit(Many("many"))
    driven.submit(Ask("later"))
    assert driven.journal.end == 0
    driven.clock.advance(0)
    assert driven.journal.end == MANY_RECORDS
    driven.commit()
    if not at_once:
        driven.journal.done()
    assert driven.core.total == 0
    assert driven.replies == {}
    driven.clock.advance(0)
    assert driven.replies == dict.fromkeys(["many", "later"], MANY_RECORDS)
    assert driven.clock.waiting == 0


@pytest.mark.parametrize("turns", [0, 1])
def test_closing_amid_the_turns_of_many_records(turns: int) -> None:
    driven = Driven(at_once=True)
    driven.submit(Many("many"))
    for _ in range(turns):
        driven.clock.advance(0)
    driven.driver.close(KafkaError(ErrorCode.NOT_COORDINATOR))
    assert driven.replies == {"many": ErrorCode.NOT_COORDINATOR}
    assert driven.clock.waiting == 0
    driven.clock.advance(0)
    assert (driven.core.total, driven.failures) == (0, [])


def test_many_records_that_are_not_appended() -> None:
    driven = Driven(at_once=False)
    driven.submit(Many("many"))
    driven.clock.advance(0)
    driven.journal.done(KafkaError(ErrorCode.NOT_CONTROLLER))
    assert driven.replies == {"many": ErrorCode.NOT_CONTROLLER}
    assert len(driven.failures) == 1
