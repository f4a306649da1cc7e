"""Fetch sessions over the wire: what each request of a session is told, and when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.log.log_results import LogRead
from kafkalite.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from kafkalite.protocol.messages.fetch import (
    FetchRequest,
    FetchResponse,
    ForgottenTopic,
    PartitionData,
)
from kafkalite.server.partition import Partition
from kafkalite.types import Uuid
from tests.server.requests import batch, fetch, fetched, name_and_id, values
from tests.server.running import FETCH, Running, served

BY_ID = 13
LONG_MS = 600_000
SIZE = len(batch(b"x"))


class Consumer:
    """Asks within one session, with the epochs that follow."""

    def __init__(self, running: Running, session_id: int, version: int = FETCH) -> None:
        self.running = running
        self.id = session_id
        self.version = version
        self.epoch = 0

    def request(
        self, *changes: FetchRequest, forget: Sequence[tuple[str | Uuid, list[int]]] = ()
    ) -> FetchRequest:
        self.epoch += 1
        request = FetchRequest(
            session_id=self.id, session_epoch=self.epoch, min_bytes=1, max_bytes=1 << 20
        )
        request.topics = [topic for change in changes for topic in change.topics]
        for topic, partitions in forget:
            name, topic_id = name_and_id(topic)
            request.forgotten_topics_data.append(
                ForgottenTopic(topic=name, topic_id=topic_id, partitions=partitions)
            )
        return request

    async def ask(self, request: FetchRequest) -> list[PartitionData]:
        """What the session is told."""
        client = await self.running.client()
        response = await client.ask(request, self.version, FetchResponse)
        assert (response.error_code, response.session_id) == (ErrorCode.NONE, self.id)
        return fetched(response)

    async def next(self, *changes: FetchRequest) -> list[PartitionData]:
        return await self.ask(self.request(*changes))


async def begin(
    running: Running, *wishes: FetchRequest, version: int = FETCH
) -> tuple[Consumer, list[PartitionData]]:
    """A session, and what its first request was told."""
    request = FetchRequest(session_epoch=0, min_bytes=1, max_bytes=1 << 20)
    request.topics = [topic for wish in wishes for topic in wish.topics]
    response = await (await running.client()).ask(request, version, FetchResponse)
    assert response.error_code == ErrorCode.NONE
    assert response.session_id > 0
    return Consumer(running, response.session_id, version), fetched(response)


def indexes(answers: list[PartitionData]) -> list[int]:
    return [data.partition_index for data in answers]


@pytest.mark.parametrize("version", [7, 12, 13, 18])
@served()
async def test_only_partitions_with_news_are_told(running: Running, version: int) -> None:
    image = await running.create("t", 3)
    topic = image.id if version >= BY_ID else "t"
    consumer, first = await begin(running, fetch(topic, {0: 0, 1: 0, 2: 0}), version=version)
    assert indexes(first) == [0, 1, 2]
    assert await consumer.next() == []
    await running.produce("t", b"x", partition=1)
    (data,) = await consumer.next()
    assert (data.partition_index, values(data), data.high_watermark) == (1, [b"x"], 1)
    (data,) = await consumer.next()
    assert values(data) == [b"x"], "its offset was not moved"
    assert await consumer.next(fetch(topic, {1: 1})) == []
    await running.produce("t", b"y", partition=1)
    await running.produce("t", b"z", partition=0)
    assert [values(data) for data in await consumer.next()] == [[b"z"], [b"y"]]


@served()
async def test_a_high_watermark_that_moved_is_told_without_records(running: Running) -> None:
    await running.create("t")
    consumer, _ = await begin(running, fetch("t", {0: 0}))
    await running.produce("t", b"x", b"y")
    (data,) = await consumer.next(fetch("t", {0: 2}))
    assert (values(data), data.high_watermark) == ([], 2)
    assert await consumer.next() == []


@served()
async def test_a_log_start_that_moved_is_told_without_records(running: Running) -> None:
    await running.create("t")
    await running.produce("t", b"x", b"y")
    consumer, _ = await begin(running, fetch("t", {0: 2}))
    assert await consumer.next() == []
    topic = DeleteRecordsTopic(
        name="t", partitions=[DeleteRecordsPartition(partition_index=0, offset=1)]
    )
    await (await running.client()).ask(
        DeleteRecordsRequest(topics=[topic], timeout_ms=1000), 2, DeleteRecordsResponse
    )
    (data,) = await consumer.next()
    assert (values(data), data.high_watermark, data.log_start_offset) == ([], 2, 1)
    assert await consumer.next() == []


@served()
async def test_partitions_take_turns_when_one_fills_the_answer(running: Running) -> None:
    await running.create("t", 3)
    for partition in range(3):
        await running.produce("t", b"x", partition=partition)
    consumer, _ = await begin(running, fetch("t", {0: 0, 1: 0, 2: 0}))
    order = []
    for _ in range(4):
        request = consumer.request()
        request.max_bytes = 1
        order += indexes(await consumer.ask(request))
    assert order == [0, 1, 2, 0]


@served()
async def test_partitions_come_and_go(running: Running) -> None:
    await running.create("t", 3)
    consumer, _ = await begin(running, fetch("t", {0: 0}))
    assert indexes(await consumer.next(fetch("t", {1: 0}))) == [1]
    await running.produce("t", b"x")
    assert indexes(await consumer.ask(consumer.request(forget=[("t", [0])]))) == []
    assert running.waiting("t", 0) == 0
    last = consumer.request(fetch("t", {2: 0}), forget=[("t", [1, 2])])
    response = await (await running.client()).ask(last, FETCH, FetchResponse)
    assert response.session_id == 0
    assert indexes(fetched(response)) == [2], "answered without a session"
    assert running.waiting("t", 1) == 0


@served()
async def test_errors_are_told_until_they_are_gone(running: Running) -> None:
    await running.create("t")
    consumer, _ = await begin(running, fetch("t", {0: 0}))
    codes = [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    answers = await consumer.next(fetch("later", {0: 0}), fetch("t", {7: 0}))
    assert [data.error_code for data in answers] == codes
    assert [data.error_code for data in await consumer.next()] == codes
    await running.create("later")
    gone, there = sorted(await consumer.next(), key=lambda data: data.error_code, reverse=True)
    assert (gone.error_code, there.error_code) == (codes[0], ErrorCode.NONE)
    request = consumer.request(fetch("t", {0: 9}), forget=[("t", [7])])
    (data,) = await consumer.ask(request)
    assert data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    (data,) = await consumer.next(fetch("t", {0: 0}))
    assert data.error_code == ErrorCode.NONE


@served()
async def test_what_the_metadata_does_not_know_ends_no_wait_and_stands_last(
    running: Running,
) -> None:
    await running.create("t")
    clock = running.simulation.clock
    began_ms = clock.now_ms()
    client = await running.client()
    request = fetch("unknown", {0: 0}, max_wait_ms=1000)
    request.topics += fetch("t", {0: 0}).topics
    answers = fetched(await client.ask(request, FETCH, FetchResponse))
    assert [data.error_code for data in answers] == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert clock.now_ms() - began_ms == 1000
    consumer, _ = await begin(running, fetch("unknown", {0: 0}), fetch("t", {0: 0}))
    assert len(await consumer.next()) == 1
    request = consumer.request()
    request.max_wait_ms = 1000
    (data,) = await consumer.ask(request)
    assert data.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert clock.now_ms() - began_ms == 2000


@served()
async def test_a_session_of_nothing_known_has_nothing_to_wait_for(running: Running) -> None:
    consumer, _ = await begin(running, fetch("unknown", {0: 0}))
    began_ms = running.simulation.clock.now_ms()
    request = consumer.request()
    request.max_wait_ms = LONG_MS
    assert len(await consumer.ask(request)) == 1
    assert running.simulation.clock.now_ms() == began_ms


# Waiting.


@served()
async def test_a_fetch_waits_for_its_sessions_partitions_together(running: Running) -> None:
    await running.create("t", 3)
    consumer, _ = await begin(running, fetch("t", {0: 0, 1: 0, 2: 0}))
    await running.produce("t", b"x")
    request = consumer.request()
    request.max_wait_ms, request.min_bytes = LONG_MS, 3 * SIZE
    client = await running.connect("reader")
    answer = client.send(request, FETCH, FetchResponse)
    await running.produce("t", b"y", partition=2)
    await running.wait_ms()
    assert not answer.done(), "two batches of three are there"
    await running.produce("t", b"z", partition=0)
    await running.wait_ms()
    assert [values(data) for data in fetched(answer.result())] == [[b"x", b"z"], [b"y"]]


@served()
async def test_a_fetch_that_ran_out_of_time_leaves_the_session_as_it_should_be(
    running: Running,
) -> None:
    await running.create("t", 2)
    consumer, _ = await begin(running, fetch("t", {0: 0, 1: 0}))
    await running.produce("t", b"x")
    request = consumer.request()
    request.max_wait_ms, request.min_bytes = 1000, 2 * SIZE
    assert indexes(await consumer.ask(request)) == [0]
    request = consumer.request(fetch("t", {0: 1}))
    request.max_wait_ms = 1000
    assert await consumer.ask(request) == []
    await running.produce("t", b"y")
    assert [values(data) for data in await consumer.next()] == [[b"y"]]


@served()
async def test_a_fetch_of_a_large_session_reads_only_what_changed(running: Running) -> None:
    await running.create("t", 100)
    consumer, _ = await begin(running, fetch("t", dict.fromkeys(range(100), 0)))
    await consumer.next()
    reads: list[int] = []
    read = Partition.read

    def counted(self: Partition, *args: Any, **kwargs: Any) -> LogRead:  # `Any`: passed on.
        reads.append(self.index)
        return read(self, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Partition, "read", counted)
        assert await consumer.next() == []
        assert reads == []
        await running.produce("t", b"x", partition=42)
        assert indexes(await consumer.next()) == [42]
        assert reads == [42]


@served()
async def test_appends_that_no_one_fetches_are_heard_of_once(running: Running) -> None:
    await running.create("t")
    for _ in range(3):
        consumer, _ = await begin(running, fetch("t", {0: 0}))
        await consumer.next()
    assert running.waiting("t") == 3, "sessions that have nothing to tell"
    await running.produce("t", b"x")
    assert running.waiting("t") == 0


@served()
async def test_a_second_request_of_a_session_ends_the_wait_of_the_first(running: Running) -> None:
    await running.create("t")
    consumer, _ = await begin(running, fetch("t", {0: 0}))
    client = await running.client()
    first, second = consumer.request(), consumer.request()
    first.max_wait_ms = LONG_MS
    answers = [client.send(each, FETCH, FetchResponse) for each in (first, second)]
    await running.wait_ms()
    for answer in answers:
        assert (answer.result().error_code, fetched(answer.result())) == (ErrorCode.NONE, [])


@served()
async def test_a_consumer_that_closes_its_session_does_not_wait_for_its_fetch(
    running: Running,
) -> None:
    """As Java's and franz-go's do behind their LeaveGroup; on one connection, on which a broker
    answers in order."""
    await running.create("t")
    consumer, _ = await begin(running, fetch("t", {0: 0}))
    client = await running.client()
    waiting, last = consumer.request(), consumer.request()
    waiting.max_wait_ms = last.max_wait_ms = LONG_MS
    last.session_epoch, last.topics = -1, []
    answers = [client.send(each, FETCH, FetchResponse) for each in (waiting, last)]
    await running.wait_ms()
    for answer in answers:
        assert (answer.result().error_code, fetched(answer.result())) == (ErrorCode.NONE, [])


@served()
async def test_a_consumer_that_closes_does_not_wait_for_its_first_fetch(running: Running) -> None:
    """As Java's, which has not heard of its session yet and names none."""
    await running.create("t")
    closing, other = [await running.connect(name) for name in ("closing", "other")]
    first, sessionless = (fetch("t", {0: 0}, max_wait_ms=LONG_MS) for _ in range(2))
    first.session_epoch = 0
    waiting, of_another = [each.send(first, FETCH, FetchResponse) for each in (closing, other)]
    await running.wait_ms()
    closing.send(sessionless, FETCH, FetchResponse)
    await running.wait_ms()
    assert not waiting.done(), "a fetch without a session closes nothing"
    close = FetchRequest(session_epoch=-1, max_wait_ms=LONG_MS, min_bytes=1)
    closing.send(close, FETCH, FetchResponse)
    await running.wait_ms()
    assert [values(data) for data in fetched(waiting.result())] == [[]]
    assert running.waiting("t") == 2, "the other client's, and the one without a session"
    assert not of_another.done()


@served()
async def test_a_session_outlives_its_connection_and_its_wait(running: Running) -> None:
    await running.create("t")
    consumer, _ = await begin(running, fetch("t", {0: 0}))
    client = await running.connect("reader")
    request = consumer.request()
    request.max_wait_ms = LONG_MS
    client.send(request, FETCH, FetchResponse)
    await running.wait_ms()
    client.close()
    await running.wait_ms()
    await running.produce("t", b"x")
    assert [values(data) for data in await consumer.next()] == [[b"x"]]


# Topics that go.


@pytest.mark.parametrize("version", [12, 13])
@served()
async def test_a_topic_that_is_deleted_and_made_anew(running: Running, version: int) -> None:
    image = await running.create("t")
    await running.create("other")
    topic = image.id if version >= BY_ID else "t"
    other = running.topic("other").id if version >= BY_ID else "other"
    consumer, _ = await begin(running, fetch(topic, {0: 0}), fetch(other, {0: 0}), version=version)
    request = consumer.request()
    request.max_wait_ms = LONG_MS
    parked = (await running.connect("reader")).send(request, version, FetchResponse)
    await running.wait_ms()
    await running.delete("t")
    await running.wait_ms()
    (data,) = fetched(parked.result())
    assert data.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert data.aborted_transactions is None
    (data,) = await consumer.next()
    assert data.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert data.aborted_transactions == []
    await running.create("t")
    (data,) = await consumer.next()
    assert data.error_code == (ErrorCode.INCONSISTENT_TOPIC_ID if version >= BY_ID else 0)


@pytest.mark.parametrize("waits", [False, True])
@served()
async def test_a_session_by_ids_knows_the_topics_that_were_there_when_it_was_asked_for(
    running: Running, waits: bool
) -> None:
    """As in Kafka, which looks the names up when the request comes."""
    image = await running.create("t")
    request = fetch(image.id, {0: 0}, max_wait_ms=LONG_MS if waits else 0)
    request.session_epoch = 0
    parked = (await running.connect("reader")).send(request, BY_ID, FetchResponse)
    await running.wait_ms()
    assert parked.done() is not waits
    await running.delete("t")
    await running.wait_ms()
    consumer = Consumer(running, parked.result().session_id, BY_ID)
    (data,) = await consumer.next()
    assert data.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@served()
async def test_an_id_that_was_never_known_is_told_so(running: Running) -> None:
    unknown = Uuid(bytes(15) + b"\x63")
    consumer, (data,) = await begin(running, fetch(unknown, {0: 0}), version=BY_ID)
    assert data.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    (data,) = await consumer.next()
    assert data.error_code == ErrorCode.UNKNOWN_TOPIC_ID


# Refusals.


async def refusal(running: Running, request: FetchRequest, version: int = FETCH) -> int:
    response = await (await running.client()).ask(request, version, FetchResponse)
    assert (response.session_id, response.responses) == (0, [])
    return response.error_code


@served()
async def test_what_a_session_refuses(running: Running) -> None:
    await running.create("t")
    consumer, _ = await begin(running, fetch("t", {0: 0}))
    consumer.epoch = 4
    code = await refusal(running, consumer.request())
    assert code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    consumer.epoch = 0
    code = await refusal(running, consumer.request(), version=13)
    assert code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    consumer.epoch = 0
    await consumer.next()
    unknown = Consumer(running, consumer.id ^ 1)
    assert await refusal(running, unknown.request()) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize("epoch", [0, -1])
@served()
async def test_a_full_request_closes_the_session_that_it_names(
    running: Running, epoch: int
) -> None:
    await running.create("t")
    consumer, _ = await begin(running, fetch("t", {0: 0}))
    request = fetch("t", {0: 0})
    request.session_id, request.session_epoch = consumer.id, epoch
    response = await (await running.client()).ask(request, FETCH, FetchResponse)
    assert (response.session_id > 0) is (epoch == 0)
    assert response.session_id != consumer.id
    code = await refusal(running, consumer.request())
    assert code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@served(max_incremental_fetch_session_cache_slots="1")
async def test_where_all_slots_are_taken_there_is_no_session(running: Running) -> None:
    await running.create("t")
    await begin(running, fetch("t", {0: 0}))
    request = fetch("t", {0: 0})
    request.session_epoch = 0
    response = await (await running.client()).ask(request, FETCH, FetchResponse)
    assert (response.error_code, response.session_id) == (ErrorCode.NONE, 0)
    assert len(fetched(response)) == 1
