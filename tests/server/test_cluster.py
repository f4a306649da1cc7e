"""What every book on Kafka says of acknowledgements, in a cluster of three."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.fetch import FetchResponse
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.testing.simulation import Simulation
from tests.server.requests import batch, fetch, fetched, produce, produced, values
from tests.server.running import FETCH, PRODUCE, simulated
from tests.server.running_cluster import RunningCluster, cluster_of

LAG_MS = 1_000


def three(simulation: Simulation) -> AbstractAsyncContextManager[RunningCluster]:
    return cluster_of(
        simulation, replica_lag_time_max_ms=f"{LAG_MS}", replica_fetch_wait_max_ms="200"
    )


async def send(
    cluster: RunningCluster, records: bytearray, *, acks: int = -1
) -> tuple[ErrorCode, int]:
    """To whoever leads t-0: code and base offset."""
    request = produce("t", {0: records}, acks=acks, timeout_ms=2_000)
    leader = cluster.partition("t").leader
    response = await cluster.ask(leader, request, PRODUCE, ProduceResponse)
    (answer,) = produced(response)
    return ErrorCode(answer.error_code), answer.base_offset


async def read(cluster: RunningCluster) -> list[bytes]:
    """All that t-0 lets consumers see."""
    leader = cluster.partition("t").leader
    response = await cluster.ask(leader, fetch("t", {0: 0}), FETCH, FetchResponse)
    return values(fetched(response)[0])


async def make(cluster: RunningCluster, *replicas: int, **configs: str) -> None:
    await cluster.running(1).create(
        "t",
        assignments=[list(replicas)],
        configs={key.replace("_", "."): value for key, value in configs.items()},
    )
    await cluster.wait_ms(300)


@pytest.mark.parametrize(("producer_id", "copies"), [(-1, 2), (7, 1)], ids=["plain", "idempotent"])
@simulated
async def test_a_leader_that_dies_before_it_answers(
    simulation: Simulation, producer_id: int, copies: int
) -> None:
    """Its followers have the record already, and the producer sends it again: there it is twice,
    unless the producer is idempotent."""
    async with three(simulation) as cluster:
        await make(cluster, 2, 3, 1)
        sequence = 0 if producer_id >= 0 else -1
        record = batch(b"once", producer_id=producer_id, sequence=sequence)
        client = await cluster.client(2, "hasty")
        client.send(produce("t", {0: record}), PRODUCE, ProduceResponse).add_done_callback(
            lambda answer: answer.exception()
        )
        client.close()
        await cluster.wait_ms(50)
        await cluster.kill(2)
        assert cluster.partition("t").leader == 3
        record = batch(b"once", producer_id=producer_id, sequence=sequence)
        code, offset = await send(cluster, record)
        assert (code, offset) == (ErrorCode.NONE, copies - 1)
        await cluster.wait_ms(300)
        assert await read(cluster) == [b"once"] * copies


@simulated
async def test_all_of_a_leader_alone_are_too_few_for_a_record_s_life(
    simulation: Simulation,
) -> None:
    """acks=all waits for those in sync. Where that is the leader alone, its death takes the record,
    if who is not in sync may lead."""
    async with three(simulation) as cluster:
        await make(cluster, 2, 3, unclean_leader_election_enable="true")
        assert await send(cluster, batch(b"kept")) == (ErrorCode.NONE, 0)
        await cluster.wait_ms(500)
        await cluster.kill(3)
        assert cluster.partition("t").isr == (2,)
        assert await send(cluster, batch(b"lost")) == (ErrorCode.NONE, 1)
        await cluster.kill(2)
        await cluster.start(3)
        await cluster.wait_ms()
        assert cluster.partition("t").leader == 3
        assert await read(cluster) == [b"kept"]


@simulated
async def test_without_unclean_elections_it_waits_for_who_has_it(simulation: Simulation) -> None:
    async with three(simulation) as cluster:
        await make(cluster, 2, 3)
        await cluster.kill(3)
        assert await send(cluster, batch(b"kept")) == (ErrorCode.NONE, 0)
        await cluster.kill(2)
        await cluster.start(3)
        await cluster.wait_ms()
        assert cluster.partition("t").leader == -1
        await cluster.start(2)
        await cluster.wait_ms()
        assert cluster.partition("t").leader == 2
        await cluster.wait_ms(2 * LAG_MS)
        assert await read(cluster) == [b"kept"]
        assert set(cluster.partition("t").isr) == {2, 3}


@simulated
async def test_min_insync_replicas_forbids_it(simulation: Simulation) -> None:
    async with three(simulation) as cluster:
        await make(cluster, 2, 3, min_insync_replicas="2")
        await cluster.kill(3)
        assert (await send(cluster, batch(b"x")))[0] is ErrorCode.NOT_ENOUGH_REPLICAS
        assert (await send(cluster, batch(b"x"), acks=1))[0] is ErrorCode.NONE
        await cluster.start(3)
        await cluster.wait_ms(2 * LAG_MS)
        assert (await send(cluster, batch(b"y")))[0] is ErrorCode.NONE


@simulated
async def test_too_few_after_the_append(simulation: Simulation) -> None:
    """Those in sync fall behind while the record waits: it is there, and not acknowledged."""
    async with three(simulation) as cluster:
        await make(cluster, 2, 3, min_insync_replicas="2")
        simulation.weather.partition({"broker-2"}, {"broker-3"})
        code, _ = await send(cluster, batch(b"x"))
        assert code is ErrorCode.REQUEST_TIMED_OUT
        simulation.weather.heal()
        simulation.network.deliver_held()


@simulated
async def test_consumers_see_what_all_in_sync_have(simulation: Simulation) -> None:
    async with three(simulation) as cluster:
        await make(cluster, 2, 3)
        simulation.weather.partition({"broker-2"}, {"broker-3"})
        assert (await send(cluster, batch(b"x"), acks=1))[0] is ErrorCode.NONE
        assert await read(cluster) == []
        await cluster.wait_ms(3 * LAG_MS)
        assert cluster.partition("t").isr == (2,)
        assert await read(cluster) == [b"x"]
        simulation.weather.heal()
        simulation.network.deliver_held()


@simulated
async def test_who_comes_back_does_not_lead_by_what_was_said_of_an_earlier_life(
    simulation: Simulation,
) -> None:
    """There is no controller when it comes back, so the metadata still has it as the leader."""
    async with three(simulation) as cluster:
        await make(cluster, 2, 1)
        assert await send(cluster, batch(b"kept")) == (ErrorCode.NONE, 0)
        await cluster.wait_ms(500)
        cluster.brokers[1]._controller.stop()
        await cluster.kill(2)
        cluster.files[2].crash()
        await cluster.start(2)
        await cluster.wait_ms(500)
        assert cluster.partition("t").leader == 2
        assert (await send(cluster, batch(b"x")))[0] is ErrorCode.NOT_LEADER_OR_FOLLOWER
        cluster.store.depose()
        await cluster.wait_ms(500)
        assert cluster.partition("t").leader == 1
        assert await send(cluster, batch(b"more")) == (ErrorCode.NONE, 1)
        await cluster.wait_ms(500)
        assert await read(cluster) == [b"kept", b"more"]
