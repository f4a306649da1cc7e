"""Fetch: waiting by the clock, limits, refusals, leader epochs, ids."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.fetch import (
    FetchRequest,
    FetchResponse,
    PartitionData,
    ReplicaState,
)
from kafkalite.testing.simulation import Simulation
from kafkalite.types import Uuid
from tests.server.cluster_of_two import OTHER_HOST, two_brokers
from tests.server.requests import batch, fetch, fetched, raw, values
from tests.server.running import FETCH, Running, served, simulated

LOWEST, HIGHEST = 4, 18
UNKNOWN_ID = Uuid(bytes(15) + b"\x63")
LONG_MS = 600_000


async def ask(running: Running, request: FetchRequest, version: int = FETCH) -> list[PartitionData]:
    """The answers of all partitions."""
    client = await running.client()
    return fetched(await client.ask(request, version, FetchResponse))


async def answered_at_once(running: Running, request: FetchRequest) -> list[PartitionData]:
    """The answers; the request would wait long if it waited."""
    request.max_wait_ms, request.min_bytes = LONG_MS, 1 << 20
    before_ms = running.simulation.clock.now_ms()
    answers = await ask(running, request)
    assert running.simulation.clock.now_ms() == before_ms
    return answers


# What is given.


@pytest.mark.parametrize("version", [LOWEST, 5, 7, 9, 11, 12, 13, 15, 16, 17, HIGHEST])
@served()
async def test_records_and_offsets_are_told(running: Running, version: int) -> None:
    image = await running.create("t")
    await running.produce("t", b"x", b"y")
    topic = image.id if version >= 13 else "t"
    client = await running.client()
    response = await client.ask(fetch(topic, {0: 0}), version, FetchResponse)
    assert (response.error_code, response.session_id) == (ErrorCode.NONE, 0)
    assert response.responses[0].topic_id == (image.id if version >= 13 else bytes(16))
    (data,) = fetched(response)
    assert values(data) == [b"x", b"y"]
    assert (data.high_watermark, data.last_stable_offset) == (2, 2)
    assert data.log_start_offset == (0 if version >= 5 else -1)
    assert data.aborted_transactions is None


@pytest.mark.parametrize("version", [LOWEST, HIGHEST])
@served()
async def test_read_committed_is_told_of_no_aborted_transaction(
    running: Running, version: int
) -> None:
    image = await running.create("t")
    request = fetch(image.id if version >= 13 else "t", {0: 0})
    request.isolation_level = 1
    (data,) = await ask(running, request, version)
    assert data.aborted_transactions == []


@served()
async def test_a_fetch_from_the_middle_of_a_batch_gives_that_batch_and_what_follows(
    running: Running,
) -> None:
    await running.create("t")
    await running.produce("t", b"a")
    await running.produce("t", b"b", b"c")
    await running.produce("t", b"d")
    (data,) = await ask(running, fetch("t", {0: 2}))
    assert values(data) == [b"b", b"c", b"d"]


# Waiting.


@served()
async def test_a_fetch_waits_for_max_wait_ms_and_no_longer(running: Running) -> None:
    await running.create("t")
    client = await running.client()
    answer = client.send(fetch("t", {0: 0}, max_wait_ms=LONG_MS), FETCH, FetchResponse)
    await running.wait_ms(LONG_MS - 1)
    assert not answer.done()
    await running.wait_ms(2)
    (data,) = fetched(answer.result())
    assert (values(data), data.high_watermark) == ([], 0)
    assert running.waiting("t") == 0


@served()
async def test_a_fetch_waits_until_its_partitions_together_have_min_bytes(
    running: Running,
) -> None:
    await running.create("t", 2)
    await running.produce("t", b"x")
    size = len(batch(b"x"))
    client = await running.connect("reader")
    request = fetch("t", {0: 0, 1: 0}, max_wait_ms=LONG_MS, min_bytes=3 * size)
    answer = client.send(request, FETCH, FetchResponse)
    await running.wait_ms()
    assert (running.waiting("t", 0), running.waiting("t", 1)) == (1, 1)
    await running.produce("t", b"y", partition=1)
    await running.wait_ms()
    assert not answer.done(), "two batches of three are there"
    await running.produce("t", b"z")
    await running.wait_ms()
    assert [values(data) for data in fetched(answer.result())] == [[b"x", b"z"], [b"y"]]
    assert (running.waiting("t", 0), running.waiting("t", 1)) == (0, 0)


@pytest.mark.parametrize(
    ("max_wait_ms", "min_bytes"), [(0, 1), (-1, 1), (LONG_MS, 0), (LONG_MS, -5)]
)
@served()
async def test_who_does_not_want_to_wait_does_not(
    running: Running, max_wait_ms: int, min_bytes: int
) -> None:
    await running.create("t")
    before_ms = running.simulation.clock.now_ms()
    request = fetch("t", {0: 0}, max_wait_ms=max_wait_ms, min_bytes=min_bytes)
    (data,) = await ask(running, request)
    assert values(data) == []
    assert running.simulation.clock.now_ms() == before_ms


@served()
async def test_a_fetch_of_no_partition_has_nothing_to_wait_for(running: Running) -> None:
    assert await answered_at_once(running, FetchRequest(session_epoch=-1)) == []


@served()
async def test_a_client_that_leaves_leaves_no_wait_behind(running: Running) -> None:
    await running.create("t", 2)
    client = await running.connect("reader")
    client.send(fetch("t", {0: 0, 1: 0}, max_wait_ms=LONG_MS), FETCH, FetchResponse)
    await running.wait_ms()
    assert (running.waiting("t", 0), running.waiting("t", 1)) == (1, 1)
    client.close()
    await running.wait_ms()
    assert (running.waiting("t", 0), running.waiting("t", 1)) == (0, 0)


@served()
async def test_a_topic_that_is_deleted_wakes_the_fetches_that_wait_for_it(
    running: Running,
) -> None:
    image = await running.create("t")
    client = await running.connect("reader")
    by_name = client.send(fetch("t", {0: 0}, max_wait_ms=LONG_MS), FETCH, FetchResponse)
    by_id = client.send(fetch(image.id, {0: 0}, max_wait_ms=LONG_MS), HIGHEST, FetchResponse)
    await running.wait_ms()
    await running.delete("t")
    await running.wait_ms()
    assert fetched(by_name.result())[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert fetched(by_id.result())[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# Limits.


@served()
async def test_the_first_batch_is_given_whole_above_every_limit(running: Running) -> None:
    await running.create("t", 2)
    await running.produce("t", bytes(1000))
    await running.produce("t", bytes(1000), partition=1)
    whole = len(batch(bytes(1000)))
    for limits in ({"partition_max_bytes": 1}, {"max_bytes": 1}, {"max_bytes": 0}):
        first, second = await ask(running, fetch("t", {0: 0, 1: 0}, **limits))
        assert len(raw(first)) == whole
        assert len(raw(second)) == 0, limits
        assert second.high_watermark == 1


@served()
async def test_the_first_partition_that_has_anything_is_the_one_that_gives_it_whole(
    running: Running,
) -> None:
    await running.create("t", 3)
    for partition in (1, 2):
        await running.produce("t", bytes(1000), partition=partition)
    answers = await ask(running, fetch("t", {0: 0, 2: 0, 1: 0}, max_bytes=1))
    assert [data.partition_index for data in answers] == [0, 2, 1]
    assert [len(raw(data)) > 0 for data in answers] == [False, True, False]


@served()
async def test_partitions_share_the_limit_of_the_request_in_its_order(running: Running) -> None:
    await running.create("t", 3)
    for partition in range(3):
        await running.produce("t", bytes(1000), partition=partition)
    whole = len(batch(bytes(1000)))
    answers = await ask(running, fetch("t", {1: 0, 0: 0, 2: 0}, max_bytes=whole + 500))
    assert [len(raw(data)) for data in answers] == [whole, 0, 0], "a second batch is not cut short"
    answers = await ask(running, fetch("t", {1: 0, 0: 0, 2: 0}, max_bytes=2 * whole + 500))
    assert [len(raw(data)) for data in answers] == [whole, whole, 0]


@served()
async def test_each_partition_has_a_limit_of_its_own(running: Running) -> None:
    await running.create("t", 2)
    for partition in (0, 1, 0, 1):
        await running.produce("t", bytes(1000), partition=partition)
    whole = len(batch(bytes(1000)))
    request = fetch("t", {0: 0, 1: 0}, partition_max_bytes=whole + 100)
    assert [len(raw(data)) for data in await ask(running, request)] == [whole + 100] * 2


@served(fetch_max_bytes="1500")
async def test_the_broker_limits_what_a_request_may_ask_for(running: Running) -> None:
    await running.create("t")
    for _ in range(3):
        await running.produce("t", bytes(1000))
    (data,) = await ask(running, fetch("t", {0: 0}))
    assert len(raw(data)) == 1500


# Refusals: answered at once, beside what the other partitions have.


@pytest.mark.parametrize("offset", [-1, 3, 1 << 40])
@served()
async def test_an_offset_that_the_log_does_not_have_is_out_of_range(
    running: Running, offset: int
) -> None:
    await running.create("t", 2)
    await running.produce("t", b"x", b"y")
    bad, good = await answered_at_once(running, fetch("t", {0: offset, 1: 0}))
    assert bad.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (bad.high_watermark, bad.last_stable_offset, bad.log_start_offset) == (-1, -1, -1)
    assert raw(bad) == b""
    assert good.error_code == ErrorCode.NONE


@served()
async def test_the_end_of_the_log_is_in_range(running: Running) -> None:
    await running.create("t")
    await running.produce("t", b"x", b"y")
    (data,) = await ask(running, fetch("t", {0: 2}))
    assert values(data) == []


@served()
async def test_unknown_partitions_topics_and_ids_are_told_apart(running: Running) -> None:
    image = await running.create("t")
    by_name = fetch("t", {7: 0})
    by_name.topics += fetch("unknown", {0: 0}).topics
    codes = [data.error_code for data in await answered_at_once(running, by_name)]
    assert codes == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2
    by_id = fetch(image.id, {7: 0})
    by_id.topics += fetch(UNKNOWN_ID, {0: 0}).topics
    by_id.max_wait_ms = LONG_MS
    codes = [data.error_code for data in await ask(running, by_id, HIGHEST)]
    assert codes == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID]


@pytest.mark.parametrize(("version", "checks"), [(8, False), (9, True), (12, True)])
@served()
async def test_a_leader_epoch_of_the_future_is_unknown_from_version_9_on(
    running: Running, version: int, *, checks: bool
) -> None:
    await running.create("t")
    (data,) = await ask(running, fetch("t", {0: 0}, leader_epoch=1), version)
    assert data.error_code == (ErrorCode.UNKNOWN_LEADER_EPOCH if checks else ErrorCode.NONE)
    (data,) = await ask(running, fetch("t", {0: 0}, leader_epoch=0), version)
    assert data.error_code == ErrorCode.NONE


@simulated
async def test_an_old_leader_epoch_is_fenced_and_the_new_one_told(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", [1, 2])
        waiting = await running.connect("waiting")
        parked = waiting.send(
            fetch("t", {0: 0}, max_wait_ms=LONG_MS, leader_epoch=0), FETCH, FetchResponse
        )
        await running.wait_ms()
        other.change("t", leader=2)
        other.change("t", leader=1)
        await running.wait_ms()
        assert fetched(parked.result())[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        topic_id = running.topic("t").id
        for version in (15, 16):
            request = fetch(topic_id, {0: 0}, leader_epoch=0)
            response = await waiting.ask(request, version, FetchResponse)
            (data,) = fetched(response)
            assert data.error_code == ErrorCode.FENCED_LEADER_EPOCH
            epoch = data.current_leader.leader_epoch
            assert epoch == (running.topic("t").partitions[0].leader_epoch if version >= 16 else -1)
            assert [node.node_id for node in response.node_endpoints] == (
                [1] if version >= 16 else []
            )


@pytest.mark.parametrize(
    ("epoch", "offset", "told"),
    [
        (0, 1, None),
        (0, 2, (0, 1)),
        (1, 1, (0, 1)),
        (2, 2, None),
        (2, 3, (2, 2)),
        (3, 1, ErrorCode.OFFSET_OUT_OF_RANGE),
    ],
)
@simulated
async def test_a_client_whose_log_has_parted_is_told_where(
    simulation: Simulation, epoch: int, offset: int, told: tuple[int, int] | ErrorCode | None
) -> None:
    """Who names the epoch of the last record that it has (KIP-595). Here one was written in epoch
    0, and one in epoch 2."""
    async with two_brokers(simulation) as (running, other):
        other.create("t", [1, 2])
        other.change("t", isr=[1])
        await running.produce("t", b"x")
        other.change("t", leader=2)
        other.change("t", leader=1)
        await running.produce("t", b"y")
        request = fetch("t", {0: offset}, max_wait_ms=0)
        request.topics[0].partitions[0].last_fetched_epoch = epoch
        (data,) = await ask(running, request)
        assert data.error_code == (told if isinstance(told, ErrorCode) else 0)
        parted = data.diverging_epoch
        expected = told if isinstance(told, tuple) else (-1, -1)
        assert (parted.epoch, parted.end_offset) == expected
        assert bool(len(data.records or b"")) == (told is None and offset < 2)


@simulated
async def test_a_partition_that_moves_wakes_its_fetches_and_tells_where_it_went(
    simulation: Simulation,
) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", [1, 2])
        client = await running.client()
        topic_id = running.topic("t").id
        request = fetch(topic_id, {0: 0}, max_wait_ms=LONG_MS)
        answer = client.send(request, 16, FetchResponse)
        await running.wait_ms()
        other.change("t", leader=2)
        await running.wait_ms()
        response = answer.result()
        (data,) = fetched(response)
        assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (2, 1)
        (node,) = response.node_endpoints
        assert (node.node_id, node.host, node.port) == (2, OTHER_HOST, 9092)


@simulated
async def test_a_topic_that_only_others_hold_is_led_elsewhere(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", [2])
        (data,) = await answered_at_once(running, fetch("t", {0: 0}))
        assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@served()
async def test_a_broker_that_has_no_replica_is_not_served(running: Running) -> None:
    image = await running.create("t")
    old = fetch("t", {0: 0})
    old.replica_id = 2
    new = fetch(image.id, {0: 0})
    new.replica_state = ReplicaState(replica_id=2, replica_epoch=1)
    for request, version in ((old, 12), (new, 15)):
        (data,) = await ask(running, request, version)
        assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
