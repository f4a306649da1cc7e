"""Fetch sessions: epochs, what is due, what must be told, who goes when the slots are full."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.messages.fetch import (
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from kafkalite.replica.fetch_session import (
    MIN_EVICTION_MS,
    NO_SESSION,
    FetchSession,
    FetchSessions,
    FetchWatcher,
    SessionPartition,
    Told,
)
from kafkalite.types import ZERO_UUID, TimestampMs, Uuid

T0 = TimestampMs(1_000_000)
LATER = TimestampMs(T0 + MIN_EVICTION_MS + 1)
ID = Uuid(bytes(range(16)))


class Wait:
    """A fetch that waits at a session."""

    def __init__(self, session: FetchSession) -> None:
        self.heard: list[int | str] = []
        self.session = session
        session.fetches[self] = None

    def more(self, size_bytes: int, stable_bytes: int) -> None:
        self.heard.append(size_bytes)

    def wake(self) -> None:
        self.heard.append("wake")
        del self.session.fetches[self]

    def look_again(self) -> None:
        raise AssertionError("a wait is no watcher of a log")


def data(index: int = 0, *, high_watermark: int = 0, records: bytes = b"") -> PartitionData:
    return PartitionData(
        partition_index=index, high_watermark=high_watermark, log_start_offset=0, records=records
    )


def request(
    session_id: int,
    epoch: int,
    offsets: Mapping[int, int] | None = None,
    *,
    forget: tuple[int, ...] = (),
    topic: str = "t",
    topic_id: Uuid = ZERO_UUID,
) -> FetchRequest:
    partitions = [FetchPartition(partition=p, fetch_offset=o) for p, o in (offsets or {}).items()]
    forgotten = ForgottenTopic(topic=topic, topic_id=topic_id, partitions=list(forget))
    return FetchRequest(
        session_id=session_id,
        session_epoch=epoch,
        topics=[FetchTopic(topic=topic, topic_id=topic_id, partitions=partitions)],
        forgotten_topics_data=[forgotten] if forget else [],
    )


def create(
    sessions: FetchSessions,
    size: int = 1,
    *,
    candidate: int = 7,
    follower: bool = False,
    by_id: bool = False,
    now: TimestampMs = T0,
) -> int:
    """The id of a session of partitions 0 to `size` - 1, all empty as far as its client knows."""
    topic, topic_id = ("", ID) if by_id else ("t", ZERO_UUID)
    return sessions.create(
        [Told(topic, topic_id, FetchPartition(partition=p), data(p)) for p in range(size)],
        candidate_id=candidate,
        is_privileged=follower,
        uses_topic_ids=by_id,
        now=now,
    )


def resumed(
    sessions: FetchSessions, asked: FetchRequest, *, by_id: bool = False, now: TimestampMs = T0
) -> FetchSession:
    session = sessions.resume(asked, uses_topic_ids=by_id, now=now)
    assert session is not None
    return session


def refused(sessions: FetchSessions, asked: FetchRequest, *, by_id: bool = False) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        sessions.resume(asked, uses_topic_ids=by_id, now=T0)
    return caught.value.code


def one() -> tuple[FetchSessions, FetchSession, SessionPartition]:
    """A session of one partition, which is due."""
    sessions = FetchSessions(2)
    create(sessions)
    session = resumed(sessions, request(7, 1))
    (held,) = session.in_turn()
    return sessions, session, held


def due(session: FetchSession) -> list[int]:
    return [held.asked.partition for held in session.in_turn()]


# Requests.


def test_epochs_count_up_from_one_and_no_other_will_do() -> None:
    sessions = FetchSessions(1)
    assert create(sessions) == 7
    for epoch in (2, 5, -2):
        assert refused(sessions, request(7, epoch)) == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    for epoch in (1, 2, 3):
        resumed(sessions, request(7, epoch))
    assert refused(sessions, request(7, 3)) == ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_the_epoch_after_the_greatest_is_one() -> None:
    sessions, session, _ = one()
    session.epoch = 2**31 - 1
    resumed(sessions, request(7, 2**31 - 1))
    assert session.epoch == 1


def test_an_unknown_id_is_told() -> None:
    assert refused(FetchSessions(1), request(8, 1)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_stays_with_names_or_with_ids() -> None:
    sessions = FetchSessions(2)
    create(sessions, candidate=1)
    create(sessions, candidate=2, by_id=True)
    refusal = ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert refused(sessions, request(1, 1), by_id=True) == refusal
    assert refused(sessions, request(2, 1)) == refusal
    resumed(sessions, request(1, 1))
    resumed(sessions, request(2, 1), by_id=True)


def test_partitions_are_added_changed_and_forgotten() -> None:
    sessions = FetchSessions(1)
    create(sessions, 2)
    session = resumed(sessions, request(7, 1, {1: 5, 3: 0, 2: 0}, forget=(0, 9)))
    assert due(session) == [1, 3, 2]
    assert session.partitions["t", 1].asked.fetch_offset == 5
    assert ("t", 0) not in session.partitions


def test_a_session_by_ids_keeps_partitions_by_their_topics_id() -> None:
    sessions = FetchSessions(1)
    create(sessions, 2, by_id=True)
    asked = request(7, 1, {1: 5}, forget=(0,), topic="", topic_id=ID)
    session = resumed(sessions, asked, by_id=True)
    assert list(session.partitions) == [(ID, 1)]


def test_who_forgets_the_last_partition_has_no_session_any_more() -> None:
    sessions, _, _ = one()
    asked = request(7, 2, {1: 0}, forget=(0, 1))
    assert sessions.resume(asked, uses_topic_ids=False, now=T0) is None
    assert len(sessions) == 0
    assert refused(sessions, request(7, 3)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_removed_session_is_gone_and_an_unknown_one_no_matter() -> None:
    sessions, _, _ = one()
    sessions.remove(8)
    assert len(sessions) == 1
    sessions.remove(7)
    assert refused(sessions, request(7, 2)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_fetch_that_waits_is_woken_by_the_next_request_of_its_session_and_by_its_end() -> None:
    sessions, session, _ = one()
    first = Wait(session)
    resumed(sessions, request(7, 2))
    second = Wait(session)
    sessions.remove(7)
    assert (first.heard, second.heard) == (["wake"], ["wake"])


# What is told.


def test_only_news_must_be_told() -> None:
    _, session, held = one()
    assert not held.must_tell(data())
    assert held.must_tell(data(records=b"x"))
    assert held.must_tell(data(high_watermark=1))
    for change in (
        {"log_start_offset": 1},
        {"error_code": ErrorCode.OFFSET_OUT_OF_RANGE},
        {"preferred_read_replica": 2},
        {"diverging_epoch": EpochEndOffset(epoch=0, end_offset=0)},
    ):
        news = data()
        for name, value in change.items():
            setattr(news, name, value)
        assert held.must_tell(news), change
    session.tell(held, data(high_watermark=1))
    assert not held.must_tell(data(high_watermark=1))


def test_a_partition_is_told_again_when_its_error_has_gone() -> None:
    _, session, held = one()
    error = data()
    error.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
    session.tell(held, error)
    assert held.must_tell(data())


def test_a_follower_that_says_its_high_watermark_is_told_another_again() -> None:
    """It passed over the answer to what it had asked before."""
    _, session, held = one()
    session.tell(held, data(high_watermark=9))
    asked = held.asked
    session.put(held.topic, held.topic_id, FetchPartition(partition=asked.partition))
    assert not held.must_tell(data(high_watermark=9)), "it does not say"
    for known, is_news in ((4, True), (9, False)):
        wish = FetchPartition(partition=asked.partition, high_watermark=known)
        assert session.put(held.topic, held.topic_id, wish) is held
        assert held.must_tell(data(high_watermark=9)) is is_news


def test_partitions_that_gave_records_come_last_next_time() -> None:
    sessions = FetchSessions(1)
    create(sessions, 3)
    session = resumed(sessions, request(7, 1))
    first, second, _ = session.in_turn()
    session.tell(first, data(0, records=b"x"))
    session.tell(second, data(1, high_watermark=3))
    assert due(session) == [1, 2, 0]


# What is due.


HAPPENS: list[Callable[[FetchWatcher], None]] = [
    lambda watcher: watcher.more(10, 10),
    lambda watcher: watcher.wake(),
    lambda watcher: watcher.look_again(),
]


@pytest.mark.parametrize("happens", HAPPENS, ids=["more", "wake", "look again"])
def test_a_settled_partition_is_due_when_something_happens_to_its_log(
    happens: Callable[[FetchWatcher], None],
) -> None:
    _, session, held = one()
    watchers: dict[FetchWatcher, None] = {}
    held.settle(watchers)
    assert (due(session), list(watchers)) == ([], [held])
    happens(held)
    assert (due(session), list(watchers)) == ([0], []), "hears of one thing while unused"


def test_a_settled_partition_is_due_when_it_is_asked_otherwise() -> None:
    sessions, session, held = one()
    watchers: dict[FetchWatcher, None] = {}
    held.settle(watchers)
    resumed(sessions, request(7, 2, {0: 3}))
    assert due(session) == [0]
    held.settle(watchers)
    assert (due(session), list(watchers)) == ([], [held])


def test_a_forgotten_partition_hears_nothing_more() -> None:
    sessions, session, held = one()
    watchers: dict[FetchWatcher, None] = {}
    held.settle(watchers)
    resumed(sessions, request(7, 2, {1: 0}, forget=(0,)))
    assert (due(session), list(watchers)) == ([1], [])


def test_while_a_fetch_waits_all_is_heard() -> None:
    _, session, held = one()
    watchers: dict[FetchWatcher, None] = {}
    held.settle(watchers)
    wait = Wait(session)
    held.more(10, 10)
    held.more(20, 20)
    held.look_again()
    assert wait.heard == [10, 20]
    assert (due(session), list(watchers)) == ([0], [held])
    held.wake()
    assert wait.heard == [10, 20, "wake"]
    assert list(watchers) == []


def test_a_partition_that_is_settled_by_the_answer_it_caused_goes_on_watching() -> None:
    _, session, held = one()
    watchers: dict[FetchWatcher, None] = {}
    held.settle(watchers)

    class Answer(Wait):
        def more(self, size_bytes: int, stable_bytes: int) -> None:
            self.wake()
            held.settle(watchers)

    Answer(session)
    held.more(10, 10)
    assert (due(session), list(watchers)) == ([], [held])


def test_a_partition_whose_log_is_another_now_watches_that_one() -> None:
    _, _, held = one()
    old: dict[FetchWatcher, None] = {}
    new: dict[FetchWatcher, None] = {}
    held.settle(old)
    held.settle(new)
    assert (list(old), list(new)) == ([], [held])


def test_a_session_that_has_ended_watches_nothing() -> None:
    sessions, session, held = one()
    watchers: dict[FetchWatcher, None] = {}
    held.settle(watchers)
    sessions.remove(7)
    assert list(watchers) == []
    held.settle(watchers)
    held.watch(watchers)
    assert list(watchers) == []
    assert session.is_open is False


# Slots.


def test_without_slots_there_are_no_sessions() -> None:
    assert create(FetchSessions(0)) == NO_SESSION


def test_an_id_that_is_taken_is_not_given_twice() -> None:
    sessions = FetchSessions(3)
    assert create(sessions, candidate=2**31 - 1) == 2**31 - 1
    assert create(sessions, candidate=2**31 - 1) == 1
    assert create(sessions, candidate=2**31 - 1) == 2


def test_young_sessions_are_safe_from_consumers() -> None:
    sessions = FetchSessions(1)
    create(sessions, 1)
    assert create(sessions, 100, candidate=8) == NO_SESSION
    assert len(sessions) == 1


def test_the_one_that_is_unused_for_longest_goes_when_that_is_long() -> None:
    sessions = FetchSessions(2)
    create(sessions, 5, candidate=1)
    create(sessions, 5, candidate=2)
    resumed(sessions, request(1, 1), now=TimestampMs(T0 + 1))
    assert create(sessions, candidate=3, now=TimestampMs(LATER - 1)) == NO_SESSION
    assert create(sessions, candidate=3, now=LATER) == 3
    assert refused(sessions, request(2, 1)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    resumed(sessions, request(1, 2))


def test_an_old_session_gives_way_to_one_of_more_partitions() -> None:
    sessions = FetchSessions(2)
    create(sessions, 3, candidate=1)
    create(sessions, 2, candidate=2)
    resumed(sessions, request(1, 1), now=LATER)
    resumed(sessions, request(2, 1), now=LATER)
    assert create(sessions, 2, candidate=3, now=LATER) == NO_SESSION
    assert create(sessions, 3, candidate=3, now=LATER) == 3
    assert refused(sessions, request(2, 2)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_that_grows_is_worth_more() -> None:
    sessions = FetchSessions(1)
    create(sessions, 1)
    resumed(sessions, request(7, 1, {1: 0, 2: 0}), now=LATER)
    assert create(sessions, 3, candidate=8, now=LATER) == NO_SESSION
    assert create(sessions, 4, candidate=8, now=LATER) == 8


def test_a_follower_gets_the_slot_of_a_consumer_however_young() -> None:
    sessions = FetchSessions(2)
    create(sessions, 9, candidate=1)
    create(sessions, 1, candidate=2, follower=True)
    assert create(sessions, 1, candidate=3, follower=True) == 3
    assert refused(sessions, request(1, 1)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert create(sessions, 5, candidate=4, follower=True) == NO_SESSION, "both are young"


def test_an_old_session_of_a_follower_goes_to_a_greater_one_only() -> None:
    sessions = FetchSessions(1)
    create(sessions, 2, follower=True)
    resumed(sessions, request(7, 1), now=LATER)
    assert create(sessions, 50, candidate=8, now=LATER) == NO_SESSION, "a consumer"
    assert create(sessions, 3, candidate=9, follower=True, now=LATER) == 9
