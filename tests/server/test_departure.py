"""A broker that stops in good order: others lead first what it leads."""

from __future__ import annotations

import pytest

from kafkalite.server.departure import WITHIN_MS
from kafkalite.testing.simulation import Simulation
from tests.server.running import simulated
from tests.server.running_cluster import Cluster, three_brokers


async def stopped_in(cluster: Cluster, id: int) -> int:
    """Milliseconds that its stop took."""
    before_ms = cluster.simulation.clock.now_ms()
    await cluster.stop(id)
    return cluster.simulation.clock.now_ms() - before_ms


async def shared(cluster: Cluster, *replicas: list[int]) -> None:
    await cluster.create("t", *replicas)


@pytest.mark.parametrize("id", [1, 2])
@simulated
async def test_others_lead_before_it_goes(simulation: Simulation, id: int) -> None:
    """The controller itself, or another one."""
    async with three_brokers(simulation) as cluster:
        await shared(cluster, [id, 3], [3, id])
        watched: list[tuple[int, int]] = []
        session = cluster.store.open_session(99, lambda event: None)  # type: ignore[arg-type]
        session.watch(
            lambda image, _: watched.append((image.partition("t", 0).leader, len(image.brokers)))  # type: ignore[union-attr]
        )
        assert await stopped_in(cluster, id) < WITHIN_MS
        led_before_it_was_gone = (3, 3) in watched
        assert led_before_it_was_gone
        assert -1 not in {leader for leader, _ in watched}
        assert cluster.image("t", 0).isr == (3,)
        assert cluster.image("t", 1).isr == (3,)
        session.close()


@simulated
async def test_what_nobody_else_keeps_is_not_waited_for(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        await shared(cluster, [2])
        assert await stopped_in(cluster, 2) < 100


@simulated
async def test_the_last_broker_stops_at_once(simulation: Simulation) -> None:
    async with three_brokers(simulation) as cluster:
        await shared(cluster, [1, 2, 3])
        for id in (2, 3, 1):
            assert await stopped_in(cluster, id) < 100


@simulated
async def test_a_controller_that_does_not_answer_is_not_waited_for_for_ever(
    simulation: Simulation,
) -> None:
    async with three_brokers(simulation) as cluster:
        await shared(cluster, [2, 3])
        simulation.weather.partition({"broker-2"}, {"broker-1", "broker-3"})
        assert WITHIN_MS <= await stopped_in(cluster, 2) < WITHIN_MS + 4_000
        simulation.weather.heal()
        simulation.network.deliver_held()
        assert cluster.image("t").leader == 3


@simulated
async def test_it_can_be_switched_off(simulation: Simulation) -> None:
    async with three_brokers(simulation, controlled_shutdown_enable="false") as cluster:
        await shared(cluster, [2, 3])
        simulation.weather.partition({"broker-2"}, {"broker-1", "broker-3"})
        assert await stopped_in(cluster, 2) < WITHIN_MS
        simulation.weather.heal()
        simulation.network.deliver_held()
        assert cluster.image("t").leader == 3
