"""What every book on Kafka says of acknowledgements, in a cluster of three."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.testing.simulation import Simulation
from tests.server.requests import batch, produce
from tests.server.running import PRODUCE, simulated
from tests.server.running_cluster import Cluster, three_brokers

LAG_MS = 1_000


def three(simulation: Simulation) -> AbstractAsyncContextManager[Cluster]:
    return three_brokers(
        simulation, replica_lag_time_max_ms=f"{LAG_MS}", replica_fetch_wait_max_ms="200"
    )


async def send(cluster: Cluster, records: bytearray, *, acks: int = -1) -> tuple[ErrorCode, int]:
    """To whoever leads t-0: code and base offset."""
    answer = await cluster.produce("t", records=records, acks=acks, timeout_ms=2_000)
    return ErrorCode(answer.error_code), answer.base_offset


async def make(cluster: Cluster, *replicas: int, **configs: str) -> None:
    settings = {key.replace("_", "."): value for key, value in configs.items()}
    await cluster.create("t", replicas, configs=settings)
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
        assert cluster.leader("t") == 3
        record = batch(b"once", producer_id=producer_id, sequence=sequence)
        code, offset = await send(cluster, record)
        assert (code, offset) == (ErrorCode.NONE, copies - 1)
        await cluster.wait_ms(300)
        assert await cluster.read("t") == [b"once"] * copies


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
        assert cluster.isr("t") == {2}
        assert await send(cluster, batch(b"lost")) == (ErrorCode.NONE, 1)
        await cluster.kill(2)
        await cluster.start(3)
        await cluster.wait_ms()
        assert cluster.leader("t") == 3
        assert await cluster.read("t") == [b"kept"]


@simulated
async def test_without_unclean_elections_it_waits_for_who_has_it(simulation: Simulation) -> None:
    async with three(simulation) as cluster:
        await make(cluster, 2, 3)
        await cluster.kill(3)
        assert await send(cluster, batch(b"kept")) == (ErrorCode.NONE, 0)
        await cluster.kill(2)
        await cluster.start(3)
        await cluster.wait_ms()
        assert cluster.leader("t") == -1
        await cluster.start(2)
        await cluster.wait_ms()
        assert cluster.leader("t") == 2
        await cluster.wait_ms(2 * LAG_MS)
        assert await cluster.read("t") == [b"kept"]
        assert cluster.isr("t") == {2, 3}


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
        assert await cluster.read("t") == []
        await cluster.wait_ms(3 * LAG_MS)
        assert cluster.isr("t") == {2}
        assert await cluster.read("t") == [b"x"]
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
        cluster.brokers[1]._services.controller.stop()
        await cluster.kill(2)
        cluster.files[2].crash()
        await cluster.start(2)
        await cluster.wait_ms(500)
        assert cluster.leader("t") == 2
        assert (await send(cluster, batch(b"x")))[0] is ErrorCode.NOT_LEADER_OR_FOLLOWER
        cluster.store.depose()
        await cluster.wait_ms(500)
        assert cluster.leader("t") == 1
        assert await send(cluster, batch(b"more")) == (ErrorCode.NONE, 1)
        await cluster.wait_ms(500)
        assert await cluster.read("t") == [b"kept", b"more"]
