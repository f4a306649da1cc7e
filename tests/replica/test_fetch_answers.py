"""Passes over the partitions of a fetch: what is told, in which order, and where more may come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from kafkalite.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kafkalite.replica.fetch_answers import (
    FetchPass,
    NewSession,
    SessionPass,
    WholePass,
    keep_last_wishes,
)
from kafkalite.replica.fetch_session import FetchSession, FetchWatcher, Told
from kafkalite.types import ZERO_UUID, TimestampMs, Uuid

ID = Uuid(bytes(range(16)))
UNKNOWN = 7
"""A partition that the metadata does not know."""


@dataclass(eq=False)
class Log:
    """A partition as the reader finds it."""

    topic: str
    end_offset: int = 0
    fetches: dict[FetchWatcher, None] = field(default_factory=dict)


class Reads:
    """A reader of logs in memory: a record a byte."""

    def __init__(self, logs: Mapping[int, Log]) -> None:
        self.logs = logs
        self.found: Log | None = None
        self.visible_end = 0
        self.partitions: list[Log] = []
        self.unknown: list[int] = []
        self.wishes: list[FetchPartition] = []

    def one(self, topic: str, topic_id: Uuid, asked: FetchPartition) -> PartitionData:
        self.wishes.append(asked)
        self.found = self.logs.get(asked.partition)
        if self.found is None:
            self.unknown.append(asked.partition)
            return PartitionData(partition_index=asked.partition, error_code=3, high_watermark=-1)
        self.partitions.append(self.found)
        end = self.visible_end = self.found.end_offset
        return PartitionData(
            partition_index=asked.partition,
            high_watermark=end,
            log_start_offset=0,
            records=b"r" * max(0, end - asked.fetch_offset),
        )

    def in_order(
        self, answers: list[tuple[str, Uuid, PartitionData]]
    ) -> list[FetchableTopicResponse]:
        answers.sort(key=lambda each: each[2].partition_index in self.unknown)
        return [
            FetchableTopicResponse(topic=topic, topic_id=topic_id, partitions=[data])
            for topic, topic_id, data in answers
        ]

    def response(self, responses: list[FetchableTopicResponse]) -> FetchResponse:
        return FetchResponse(responses=responses)


class Wait:
    """A fetch that waits at a session."""

    def __init__(self) -> None:
        self.missing_bytes = 0

    def more(self, size_bytes: int, stable_bytes: int) -> None:
        self.missing_bytes -= size_bytes

    def wake(self) -> None: ...

    def look_again(self) -> None: ...


def wish(index: int, offset: int = 0) -> FetchPartition:
    return FetchPartition(partition=index, fetch_offset=offset)


def request(*indexes: int, topic: str = "t", topic_id: Uuid = ZERO_UUID) -> FetchRequest:
    topics = [
        FetchTopic(topic=topic, topic_id=topic_id, partitions=[wish(index)]) for index in indexes
    ]
    return FetchRequest(topics=topics)


def told(response: FetchResponse) -> list[tuple[int, int]]:
    """Partition and bytes."""
    return [
        (data.partition_index, len(data.records or b""))
        for topic in response.responses
        for data in topic.partitions
    ]


def session(*indexes: int) -> FetchSession:
    made = FetchSession(9, is_privileged=False, uses_topic_ids=False, now=TimestampMs(0))
    for index in indexes:
        made.put("t", ZERO_UUID, wish(index))
    return made


# All that a request names.


def test_all_is_told_in_the_order_asked() -> None:
    first, second = Log("t", 1), Log("t", 2)
    each: FetchPass = WholePass(request(2, 1), None, Reads({1: first, 2: second}))
    assert told(each.response()) == [(2, 2), (1, 1)]
    assert each.response().session_id == 0
    assert [data.partition_index for data in each.told()] == [2, 1]
    assert list(each.waits_at) == [second, first]


def test_what_is_unknown_stands_last_and_is_not_waited_for() -> None:
    log = Log("t", 1)
    each = WholePass(request(UNKNOWN, 1), None, Reads({1: log}))
    assert told(each.response()) == [(1, 1), (UNKNOWN, 0)]
    assert list(each.waits_at) == [log]
    assert not WholePass(request(UNKNOWN), None, Reads({})).waits_at


def test_a_wait_for_all_leaves_the_partitions_alone() -> None:
    log = Log("t")
    each = WholePass(request(1), None, Reads({1: log}))
    each.wait()
    assert not log.fetches


@pytest.mark.parametrize(
    ("topic", "topic_id", "names", "name"),
    [
        ("t", ZERO_UUID, {}, "t"),
        ("", ID, {ID: "t"}, "t"),
        ("", ID, {}, ""),
    ],
)
def test_a_new_session_has_what_is_told_in_that_order(
    topic: str, topic_id: Uuid, names: dict[Uuid, str], name: str
) -> None:
    begun: list[Told] = []

    def begin(told: list[Told]) -> int:
        begun.extend(told)
        return 5

    asked = request(UNKNOWN, 1, topic=topic, topic_id=topic_id)
    response = WholePass(asked, NewSession(names, begin), Reads({1: Log("t", 3)})).response()
    assert response.session_id == 5
    assert [(each.topic, each.topic_id) for each in begun] == [(name, topic_id)] * 2
    assert [each.asked for each in begun] == [
        asked.topics[1].partitions[0],
        asked.topics[0].partitions[0],
    ]
    assert [each.data for each in begun] == [
        data for topic in response.responses for data in topic.partitions
    ]


# The partitions of a session.


def test_a_session_is_told_what_is_new_and_reads_no_more_than_is_due() -> None:
    logs = {1: Log("t", 2), 2: Log("t")}
    held = session(1, 2)
    first = SessionPass(held, Reads(logs)).response()
    assert first.session_id == 9
    assert told(first) == [(1, 2), (2, 0)], "the high watermark of each is news at first"
    held.put("t", ZERO_UUID, wish(1, 2))
    second = Reads(logs)
    assert told(SessionPass(held, second).response()) == []
    assert len(second.wishes) == 2
    third = Reads(logs)
    assert told(SessionPass(held, third).response()) == []
    assert third.wishes == [], "both are settled"
    assert set(held.partitions.values()) == {*logs[1].fetches, *logs[2].fetches}


def test_what_a_session_has_told_and_the_client_not_fetched_is_read_again() -> None:
    logs = {1: Log("t", 2)}
    held = session(1)
    for _ in range(3):
        assert told(SessionPass(held, Reads(logs)).response()) == [(1, 2)]


def test_a_session_learns_the_name_of_its_topic() -> None:
    held = FetchSession(9, is_privileged=False, uses_topic_ids=True, now=TimestampMs(0))
    partition = held.put("", ID, wish(1))
    response = SessionPass(held, Reads({1: Log("t")})).response()
    assert partition.topic == response.responses[0].topic == "t"


def test_a_session_waits_where_something_is_known() -> None:
    held = session(1)
    assert list(SessionPass(held, Reads({1: Log("t")})).waits_at) == [held]
    assert not SessionPass(session(UNKNOWN), Reads({})).waits_at
    one_is_settled = session(1)
    logs = {1: Log("t")}
    SessionPass(one_is_settled, Reads(logs)).response()
    SessionPass(one_is_settled, Reads(logs)).response()
    one_is_settled.put("t", ZERO_UUID, wish(UNKNOWN))
    assert list(SessionPass(one_is_settled, Reads(logs)).waits_at) == [one_is_settled]


def test_what_did_not_fit_is_due_although_nothing_of_it_is_told() -> None:
    """A follower sees more than what is committed."""
    log, held = Log("t", 0), session(1)
    SessionPass(held, Reads({1: log})).response()

    class Behind(Reads):
        def one(self, topic: str, topic_id: Uuid, asked: FetchPartition) -> PartitionData:
            data = super().one(topic, topic_id, asked)
            self.visible_end = 5
            return data

    SessionPass(held, Behind({1: log})).response()
    third = Reads({1: log})
    SessionPass(held, third).response()
    assert third.wishes, "it was not settled"


def test_a_session_that_waits_hears_of_every_append() -> None:
    log = Log("t", 1)
    held = session(1)
    wait = Wait()
    held.fetches[wait] = None
    each = SessionPass(held, Reads({1: log}))
    assert [data.partition_index for data in each.told()] == [1]
    each.wait()
    for _ in range(2):
        for watcher in list(log.fetches):
            watcher.more(4, 4)
    assert wait.missing_bytes == -8


# Wishes.


@pytest.mark.parametrize("topic_id", [ZERO_UUID, ID])
def test_of_a_partition_that_is_asked_twice_the_last_wish_counts(topic_id: Uuid) -> None:
    def topic(name: str, *partitions: FetchPartition) -> FetchTopic:
        return FetchTopic(topic=name, topic_id=topic_id, partitions=list(partitions))

    asked = FetchRequest(
        topics=[
            topic("a", wish(0, 1), wish(1)),
            topic("b", wish(0)),
            topic("a", wish(0, 2), wish(2)),
            topic("c", wish(5)),
        ]
    )
    keep_last_wishes(asked)
    assert asked.topics == [
        topic("a", wish(0, 2), wish(1)),
        topic("b", wish(0)),
        topic("a", wish(2)),
        topic("c", wish(5)),
    ]


@pytest.mark.parametrize("indexes", [(0,), (0, 1)])
def test_wishes_that_differ_are_left_as_they_are(indexes: tuple[int, ...]) -> None:
    asked = request(*indexes)
    before = asked.topics
    keep_last_wishes(asked)
    assert asked.topics is before
