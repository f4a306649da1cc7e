"""CreatePartitions and DescribeTopicPartitions while a broker runs. What they answer to odd
requests is in `test_admin_answers.py`."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from kafkalite.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from kafkalite.server.controller_driver import ControllerDriver
from kafkalite.testing.simulation import Simulation
from tests.server.cluster_of_two import two_brokers
from tests.server.running import Running, served, simulated, start


def grow(topic: str, count: int, *, timeout_ms: int = 1_000) -> CreatePartitionsRequest:
    wanted = CreatePartitionsTopic(name=topic, count=count, assignments=None)
    return CreatePartitionsRequest(topics=[wanted], timeout_ms=timeout_ms)


async def grown(running: Running, topic: str, count: int, version: int = 3) -> int:
    client = await running.client()
    answer = await client.ask(grow(topic, count), version, CreatePartitionsResponse)
    return answer.results[0].error_code


async def describe(
    running: Running, *topics: str, limit: int = 2_000, cursor: Cursor | None = None
) -> DescribeTopicPartitionsResponse:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=topic) for topic in topics],
        response_partition_limit=limit,
        cursor=cursor,
    )
    return await (await running.client()).ask(request, 0, DescribeTopicPartitionsResponse)


def pages(answer: DescribeTopicPartitionsResponse) -> list[tuple[str | None, list[int]]]:
    return [(t.name, [p.partition_index for p in t.partitions]) for t in answer.topics]


@pytest.mark.parametrize("version", range(4))
@served()
async def test_new_partitions_are_usable_at_once(running: Running, version: int) -> None:
    await running.create("t")
    await running.produce("t", b"old")
    assert await grown(running, "t", 3, version) == ErrorCode.NONE
    assert await running.produce("t", b"new", partition=2) == 0
    assert await running.read("t", partition=2) == [b"new"]
    assert await running.read("t") == [b"old"]


@simulated
async def test_new_partitions_survive_a_restart(simulation: Simulation) -> None:
    files = MemoryFiles()
    async with start(simulation, files) as running:
        await running.create("t")
        assert await grown(running, "t", 2) == ErrorCode.NONE
        await running.produce("t", b"x", partition=1)
    async with start(simulation, files) as running:
        assert await running.read("t", partition=1) == [b"x"]


@served()
async def test_what_takes_too_long_has_timed_out(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    await running.create("t")
    monkeypatch.setattr(ControllerDriver, "submit", lambda self, event, on_reply: None)
    client = await running.client()
    before = running.simulation.clock.now_ms()
    answer = await client.ask(grow("t", 2, timeout_ms=700), 3, CreatePartitionsResponse)
    assert answer.results[0].error_code == ErrorCode.REQUEST_TIMED_OUT
    assert 700 <= running.simulation.clock.now_ms() - before < 800


@simulated
async def test_without_the_controller_there_are_no_more_partitions(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", [1])
        assert await grown(running, "t", 2) == ErrorCode.REQUEST_TIMED_OUT


# DescribeTopicPartitions.


@served()
async def test_all_topics_page_by_page(running: Running) -> None:
    await running.create("b", 3)
    await running.create("a", 2)
    await running.create("c")
    found, cursor = [], None
    while True:
        answer = await describe(running, limit=2, cursor=cursor)
        found += pages(answer)
        cursor = answer.next_cursor
        if cursor is None:
            break
    assert found == [("a", [0, 1]), ("b", [0, 1]), ("b", [2]), ("c", [0])]


@served()
async def test_all_topics_go_on_behind_a_topic_that_is_gone(running: Running) -> None:
    await running.create("a")
    await running.create("c", 2)
    answer = await describe(running, cursor=Cursor(topic_name="b", partition_index=7))
    assert pages(answer) == [("c", [0, 1])]
    assert pages(await describe(running, cursor=Cursor(topic_name="d", partition_index=0))) == []


@served(max_request_partition_size_limit="2")
async def test_a_page_is_never_larger_than_the_broker_s_limit(running: Running) -> None:
    await running.create("t", 3)
    answer = await describe(running, "t")
    assert pages(answer) == [("t", [0, 1])]
    assert answer.next_cursor == Cursor(topic_name="t", partition_index=2)


@simulated
async def test_leaders_isr_and_partitions_without_a_leader(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", [2, 1], [1, 2])
        other.change("t", 0, leader=-1, isr=[2])
        first, second = (await describe(running, "t")).topics[0].partitions
        assert (first.error_code, first.leader_id) == (ErrorCode.NONE, -1), "as on Kafka"
        assert (first.replica_nodes, first.isr_nodes) == ([2, 1], [2])
        assert (second.error_code, second.leader_id) == (ErrorCode.NONE, 1)
        assert first.leader_epoch == 1
