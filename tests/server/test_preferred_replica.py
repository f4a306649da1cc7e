"""Consumers that tell their rack: who is sent to a follower, and what is told then."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.fetch import FetchRequest, FetchResponse, PartitionData
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.replica.read_replica import RACK_AWARE
from kafkalite.testing.simulation import Simulation
from tests.server.cluster_of_two import OTHER, Other, two_brokers
from tests.server.led_partitions import follower_at
from tests.server.requests import batch, fetch, fetched, produce, produced, values
from tests.server.running import PRODUCE, Running, simulated

NEWEST = 12
"""That names topics."""


@asynccontextmanager
async def two_racks(
    simulation: Simulation, selector: str = RACK_AWARE
) -> AsyncIterator[tuple[Running, Other]]:
    """Broker 1 in `here` leads `t`, which has 2 records; broker 2 in `there` has both."""
    settings = {"replica.selector.class": selector, "broker.rack": "here"}
    async with two_brokers(simulation, settings=settings, other_rack="there") as (running, other):
        other.create("t", [1, 2])
        client = await running.client()
        request = produce("t", {0: batch(b"a", b"b")}, acks=1)
        response = await client.ask(request, PRODUCE, ProduceResponse)
        assert produced(response)[0].error_code == ErrorCode.NONE
        catch_up(running, 2)
        yield running, other


def catch_up(running: Running, end_offset: int) -> None:
    """Broker 2 has all below, as if it had asked for that offset."""
    follower_at(running.partition("t"), OTHER, end_offset)


def consumer(rack: str, offset: int = 0, *, epoch: int = -1) -> FetchRequest:
    """That would wait for ten seconds."""
    request = fetch("t", {0: offset}, max_wait_ms=10_000, leader_epoch=epoch)
    request.rack_id = rack
    return request


async def ask(running: Running, request: FetchRequest, version: int = NEWEST) -> PartitionData:
    """What is told at once."""
    client = await running.connect("consumer")
    answer = client.send(request, version, FetchResponse)
    await running.wait_ms()
    assert answer.done(), "it waits"
    return fetched(answer.result())[0]


@simulated
async def test_one_in_another_rack_is_sent_there_at_once(simulation: Simulation) -> None:
    async with two_racks(simulation) as (running, _):
        for offset in (0, 2):
            told = await ask(running, consumer("there", offset))
            assert (told.error_code, told.preferred_read_replica) == (ErrorCode.NONE, OTHER)
            assert (told.high_watermark, told.last_stable_offset) == (2, 2)
            assert told.log_start_offset == 0
            assert not told.records


@pytest.mark.parametrize(
    ("rack", "selector", "version"),
    [
        ("", RACK_AWARE, NEWEST),
        ("here", RACK_AWARE, NEWEST),
        ("elsewhere", RACK_AWARE, NEWEST),
        ("there", "org.apache.kafka.common.replica.LeaderSelector", NEWEST),
        ("there", "", NEWEST),
        ("there", RACK_AWARE, 10),
    ],
)
def test_others_read_from_the_leader(rack: str, selector: str, version: int) -> None:
    """Before version 11 nobody tells a rack."""

    @simulated
    async def check(simulation: Simulation) -> None:
        async with two_racks(simulation, selector) as (running, _):
            told = await ask(running, consumer(rack), version)
            assert told.preferred_read_replica == -1
            assert values(told) == [b"a", b"b"]

    check()


@simulated
async def test_a_follower_must_have_the_offset_be_in_sync_and_be_there(
    simulation: Simulation,
) -> None:
    async with two_racks(simulation) as (running, other):
        catch_up(running, 1)
        assert (await ask(running, consumer("there", 1))).preferred_read_replica == OTHER
        assert (await ask(running, consumer("there", 3))).preferred_read_replica == -1
        catch_up(running, 2)
        other.change("t", isr=[1])
        assert values(await ask(running, consumer("there", 1))) == [b"a", b"b"]


@simulated
async def test_what_is_wrong_with_the_request_is_told_first(simulation: Simulation) -> None:
    async with two_racks(simulation) as (running, _):
        told = await ask(running, consumer("there", epoch=9))
        assert told.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


@simulated
async def test_who_has_come_to_a_follower_is_served_there(simulation: Simulation) -> None:
    """Versions before 11 know nothing of it."""
    async with two_racks(simulation) as (running, other):
        other.change("t", leader=2)
        told = await ask(running, consumer("there"))
        assert (told.error_code, told.preferred_read_replica) == (ErrorCode.NONE, -1)
        assert (told.high_watermark, values(told)) == (2, [b"a", b"b"])
        told = await ask(running, consumer(""), 10)
        assert told.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        told = await ask(running, consumer("", epoch=0))
        assert told.error_code == ErrorCode.FENCED_LEADER_EPOCH
