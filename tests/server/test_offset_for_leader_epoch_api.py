"""OffsetForLeaderEpoch: where epochs end, fencing, refusals, as asked of the real Kafka 4.4.0."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafkalite.server.apis import offset_for_leader_epoch
from kafkalite.testing.simulation import Simulation
from tests.server.cluster_of_two import two_brokers
from tests.server.running import Running, served, simulated

Answer = tuple[int, int, int]
"""Error code, leader epoch, end offset."""
NOTHING = (ErrorCode.NONE, -1, -1)


def request(topic: str, *asked: tuple[int, int, int]) -> OffsetForLeaderEpochRequest:
    """`asked`: partition, current leader epoch, epoch."""
    partitions = [
        OffsetForLeaderPartition(partition=index, current_leader_epoch=current, leader_epoch=epoch)
        for index, current, epoch in asked
    ]
    return OffsetForLeaderEpochRequest(
        topics=[OffsetForLeaderTopic(topic=topic, partitions=partitions)]
    )


async def ask(
    running: Running, asked: OffsetForLeaderEpochRequest, version: int = 4
) -> list[Answer]:
    response = await (await running.client()).ask(asked, version, OffsetForLeaderEpochResponse)
    return [
        (each.error_code, each.leader_epoch, each.end_offset)
        for topic in response.topics
        for each in topic.partitions
    ]


@pytest.mark.parametrize("version", [2, 3, 4])
@served()
async def test_the_current_epoch_ends_where_the_log_does(running: Running, version: int) -> None:
    await running.create("t")
    assert await ask(running, request("t", (0, -1, 0)), version) == [(0, 0, 0)]
    await running.produce("t", b"x", b"y")
    asked = request("t", (0, -1, 0), (0, 0, 0), (0, -1, 5), (0, -1, -1), (0, -1, -7))
    told = [(0, 0, 2), (0, 0, 2), NOTHING, NOTHING, (0, -7, 0)]
    assert await ask(running, asked, version) == told


@simulated
async def test_an_old_epoch_ends_where_the_next_begins(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", [1, 2])
        other.change("t", isr=[1])
        await running.wait_ms()
        await running.produce("t", b"x", b"y")
        other.change("t", leader=2)
        other.change("t", leader=1)
        await running.wait_ms()
        assert await ask(running, request("t", (0, 2, 0))) == [(0, 0, 2)]
        assert await ask(running, request("t", (0, 2, 1))) == [(0, 0, 2)], "which nobody wrote in"
        assert await ask(running, request("t", (0, 2, 2))) == [(0, 2, 2)]
        fenced = (ErrorCode.FENCED_LEADER_EPOCH, -1, -1)
        assert await ask(running, request("t", (0, 1, 0))) == [fenced]


@served()
async def test_refusals(running: Running) -> None:
    await running.create("t")
    unknown = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)
    future = (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)
    assert await ask(running, request("nope", (0, -1, 0))) == [unknown]
    assert await ask(running, request("t", (7, -1, 0), (0, 3, 0))) == [unknown, future]


def test_a_request_that_is_refused_whole_is_refused_for_each_partition() -> None:
    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    response = offset_for_leader_epoch.refuse(request("t", (0, -1, 0), (1, -1, 0)), code, "")
    assert [each.error_code for each in response.topics[0].partitions] == [code, code]
