"""ListOffsets: special timestamps by version, times, epochs, duplicates."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.times import LookupBudget
from kafkalite.server import turns
from kafkalite.server.apis import list_offsets as list_offsets_api
from kafkalite.server.offset_lookup import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
    UpTo,
    cost_of,
    find_offset,
)
from kafkalite.testing.clock import START_MS
from kafkalite.testing.simulation import Simulation
from kafkalite.types import READ_COMMITTED, READ_UNCOMMITTED
from tests.server.cluster_of_two import two_brokers
from tests.server.requests import batch, list_offsets, produce, produced
from tests.server.running import PRODUCE, Running, served, simulated
from tests.server.transactions import TransactionalProducer

LOWEST, HIGHEST = 1, 11
UNKNOWN_SPECIAL = -7


class Found(NamedTuple):
    code: int
    timestamp: int
    offset: int


NOTHING = Found(ErrorCode.NONE, -1, -1)


async def answers(
    running: Running, request: ListOffsetsRequest, version: int
) -> list[ListOffsetsPartitionResponse]:
    response = await (await running.client()).ask(request, version, ListOffsetsResponse)
    return [answer for topic in response.topics for answer in topic.partitions]


async def find(
    running: Running,
    timestamp: int,
    version: int = HIGHEST,
    *,
    isolation_level: int = READ_UNCOMMITTED,
) -> Found:
    """In partition 0 of `t`."""
    request = list_offsets("t", (0, timestamp))
    request.isolation_level = isolation_level
    (answer,) = await answers(running, request, version)
    assert answer.partition_index == 0
    return Found(answer.error_code, answer.timestamp, answer.offset)


async def with_three_records(running: Running) -> None:
    """In two batches; the latest time is the second record's."""
    await running.create("t", 2)
    client = await running.client()
    for records in (batch(b"a", b"b", timestamp=START_MS), batch(b"c", timestamp=START_MS - 50)):
        response = await client.ask(produce("t", {0: records}), PRODUCE, ProduceResponse)
        assert produced(response)[0].error_code == ErrorCode.NONE


@pytest.mark.parametrize("version", range(LOWEST, HIGHEST + 1))
@pytest.mark.parametrize(
    ("timestamp", "first_version", "found"),
    [
        (LATEST, 1, Found(0, -1, 3)),
        (EARLIEST, 1, Found(0, -1, 0)),
        (MAX_TIMESTAMP, 7, Found(0, START_MS + 1, 1)),
        (EARLIEST_LOCAL, 8, Found(0, -1, 0)),
        (LATEST_TIERED, 9, NOTHING),
        (EARLIEST_PENDING_UPLOAD, 11, NOTHING),
        (UNKNOWN_SPECIAL, HIGHEST + 1, NOTHING),
    ],
)
@served()
async def test_special_timestamps_by_version(
    running: Running, version: int, timestamp: int, first_version: int, found: Found
) -> None:
    await with_three_records(running)
    if version < first_version:
        found = Found(ErrorCode.UNSUPPORTED_VERSION, -1, -1)
    assert await find(running, timestamp, version) == found


@pytest.mark.parametrize("version", [LOWEST, 4, 6, HIGHEST])
@served()
async def test_the_first_record_at_or_after_a_time(running: Running, version: int) -> None:
    await with_three_records(running)
    for timestamp, found in (
        (0, Found(0, START_MS, 0)),
        (START_MS, Found(0, START_MS, 0)),
        (START_MS + 1, Found(0, START_MS + 1, 1)),
        (START_MS + 2, NOTHING),
    ):
        assert await find(running, timestamp, version) == found


@served()
async def test_an_empty_partition_has_ends_and_no_times(running: Running) -> None:
    await running.create("t")
    assert await find(running, LATEST) == Found(0, -1, 0)
    assert await find(running, EARLIEST) == Found(0, -1, 0)
    assert await find(running, MAX_TIMESTAMP) == NOTHING
    assert await find(running, 0) == NOTHING


@pytest.mark.parametrize("version", [3, 4, HIGHEST])
@served()
async def test_leader_epochs_are_told_and_fenced_from_version_4_on(
    running: Running, version: int
) -> None:
    await with_three_records(running)
    for timestamp in (LATEST, EARLIEST, START_MS):
        (answer,) = await answers(running, list_offsets("t", (0, timestamp)), version)
        assert answer.leader_epoch == (0 if version >= 4 else -1)
    ahead = list_offsets("t", (0, LATEST), leader_epoch=7)
    (answer,) = await answers(running, ahead, version)
    assert answer.error_code == (ErrorCode.UNKNOWN_LEADER_EPOCH if version >= 4 else 0)


@pytest.mark.parametrize("version", [LOWEST, HIGHEST])
@served()
async def test_a_partition_that_is_asked_twice_is_refused_once(
    running: Running, version: int
) -> None:
    await running.create("t", 2)
    request = list_offsets("t", (0, LATEST), (1, LATEST), (0, EARLIEST))
    assert [
        (answer.partition_index, answer.error_code)
        for answer in await answers(running, request, version)
    ] == [(0, ErrorCode.INVALID_REQUEST), (1, ErrorCode.NONE)]


@pytest.mark.parametrize("version", [LOWEST, HIGHEST])
@served()
async def test_what_is_not_there_is_refused_alone(running: Running, version: int) -> None:
    await running.create("t")
    request = list_offsets("t", (0, LATEST), (1, LATEST))
    request.topics += list_offsets("unknown", (0, LATEST)).topics
    codes = [answer.error_code for answer in await answers(running, request, version)]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == [ErrorCode.NONE, unknown, unknown]


@simulated
async def test_nothing_above_the_high_watermark_is_found_and_nothing_led_elsewhere(
    simulation: Simulation,
) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", [1, 2])
        client = await running.client()
        await client.ask(produce("t", {0: batch(b"x")}, acks=1), PRODUCE, ProduceResponse)
        assert await find(running, LATEST) == Found(0, -1, 0)
        assert await find(running, MAX_TIMESTAMP) == NOTHING
        assert await find(running, START_MS) == NOTHING
        other.change("t", leader=2)
        moved = Found(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1)
        assert await find(running, LATEST) == moved


@pytest.mark.parametrize(
    ("version", "code"),
    [(4, ErrorCode.LEADER_NOT_AVAILABLE), (5, ErrorCode.OFFSET_NOT_AVAILABLE)],
)
@simulated
async def test_a_new_epoch_s_end_is_told_when_it_is_known(
    simulation: Simulation, version: int, code: ErrorCode
) -> None:
    """The leader before may have told consumers of more than this one knows to be committed."""
    async with two_brokers(simulation) as (running, other):
        other.create("t", [1, 2])
        client = await running.client()
        await client.ask(produce("t", {0: batch(b"x")}, acks=1), PRODUCE, ProduceResponse)
        other.change("t", leader=1)
        assert await find(running, LATEST, version) == Found(code, -1, -1)
        assert await find(running, START_MS, version) == Found(code, -1, -1)
        assert await find(running, EARLIEST, version) == Found(ErrorCode.NONE, -1, 0)
        other.change("t", isr=[1])
        assert await find(running, LATEST, version) == Found(ErrorCode.NONE, -1, 1)


@pytest.mark.parametrize("commits", [True, False])
@served()
async def test_who_reads_what_is_committed_finds_no_time_behind_an_open_transaction(
    running: Running, commits: bool
) -> None:
    await running.create("t")
    producer = await TransactionalProducer.begin(running)

    async def write(value: bytes) -> int:
        """When."""
        await running.wait_ms(10)
        now_ms = running.simulation.clock.now_ms()
        await producer.write("t", value)
        return now_ms

    before_ms = await write(b"a")
    assert await producer.end(commits=True) is ErrorCode.NONE
    first_ms, last_ms = await write(b"b"), await write(b"c")
    found = {
        START_MS: Found(0, before_ms, 0),
        first_ms: Found(0, first_ms, 2),
        last_ms: Found(0, last_ms, 3),
        MAX_TIMESTAMP: Found(0, last_ms, 3),
    }
    for timestamp in found:
        assert await find(running, timestamp) == found[timestamp]
        stable = found[timestamp] if timestamp == START_MS else NOTHING
        assert await find(running, timestamp, isolation_level=READ_COMMITTED) == stable
    # What was aborted has times too, and so have markers: whoever reads on leaves them out.
    await running.wait_ms(10)
    assert await producer.end(commits=commits) is ErrorCode.NONE
    await running.wait_ms()
    found[MAX_TIMESTAMP] = await find(running, MAX_TIMESTAMP)
    assert found[MAX_TIMESTAMP].offset == 4
    for timestamp in found:
        assert await find(running, timestamp, isolation_level=READ_COMMITTED) == found[timestamp]


# Lookups that cost much.


@contextmanager
def at_most(cost: int) -> Iterator[None]:
    """In one turn of the loop."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(turns, "TURN_COST", cost)
        yield


@served()
async def test_many_lookups_take_several_turns_and_others_have_theirs(running: Running) -> None:
    await running.create("t", 20)
    for index in range(20):
        await running.produce("t", b"x", partition=index)
    order: list[str] = []
    many, one = await running.connect("many"), await running.connect("one")
    asked = list_offsets("t", *((index, START_MS) for index in range(20)), (3, LATEST))
    with at_most(120):
        slow = many.send(asked, HIGHEST, ListOffsetsResponse)
        slow.add_done_callback(lambda _: order.append("many"))
        quick = one.send(list_offsets("t", (0, LATEST)), HIGHEST, ListOffsetsResponse)
        quick.add_done_callback(lambda _: order.append("one"))
        await running.wait_ms()
    assert order == ["one", "many"]
    found = slow.result().topics[0].partitions
    assert [answer.partition_index for answer in found] == list(range(20))
    codes = [answer.error_code for answer in found]
    assert codes == [ErrorCode.INVALID_REQUEST if index == 3 else 0 for index in range(20)]
    assert {answer.offset for answer in found if not answer.error_code} == {0}


@served()
async def test_who_has_gone_has_nothing_looked_up(running: Running) -> None:
    await running.create("t", 20)
    client = await running.connect("gone")
    asked = list_offsets("t", *((index, START_MS) for index in range(20)))
    looked_up = 0

    def find_nothing(*_: object, up_to: UpTo) -> None:
        nonlocal looked_up
        looked_up += 1
        if looked_up == 4:
            client.close()

    with at_most(120), pytest.MonkeyPatch.context() as patch:
        patch.setattr(list_offsets_api, "find_offset", find_nothing)
        answer = client.send(asked, HIGHEST, ListOffsetsResponse)
        await running.wait_ms()
    assert isinstance(answer.exception(), ConnectionError)
    assert 4 <= looked_up < 20


@served()
async def test_what_a_lookup_reads_counts(running: Running) -> None:
    await running.create("t", 2)
    client = await running.client()
    large = batch(*[bytes(2_000)] * 5_000, compression=Compression.ZSTD)
    for index, records in ((0, large), (1, batch(b"x"))):
        await client.ask(produce("t", {index: records}), PRODUCE, ProduceResponse)
    partition = running.partition("t")
    for timestamp, least, most in ((LATEST, 50, 50), (START_MS + 4_999, 10_000, 20_000)):
        budget = LookupBudget()
        find_offset(partition, timestamp, budget, up_to=UpTo.HIGH_WATERMARK)
        assert least <= cost_of(budget) <= most
