"""What was acknowledged by two replicas outlives either of them: the one that stopped cleanly
leads, though it is not in sync, and the one that lost power follows (KIP-966)."""

from __future__ import annotations

import asyncio
import re

import pytest

from kafkalite.controller import features
from kafkalite.controller.eligible_replicas import ELIGIBLE_REPLICAS
from kafkalite.testing.checkers import ViolationError
from kafkalite.testing.simulation import Simulation, run
from kafkalite.types import TopicPartition
from tests.simulation.cluster_clients import ClusterProducer, ClusterTalker, ClusterWorld
from tests.simulation.cluster_machines import Machines
from tests.simulation.cluster_scenario import IDS, judge, make_topics, wait_in_sync
from tests.simulation.scenario import watched
from tests.simulation.test_cluster_sabotage import LOST, first_of
from tests.simulation.world import dice_of

PARTITION = TopicPartition("two", 0)


async def scenario(simulation: Simulation) -> None:
    with watched():
        await _the_last_in_sync_loses_power(simulation)


async def _the_last_in_sync_loses_power(simulation: Simulation) -> None:
    machines = Machines(simulation, IDS)
    world = ClusterWorld(simulation, machines)
    for id in IDS:
        await machines.start(id)
    talkers = {
        name: ClusterTalker(world, name, dice_of(simulation, name))
        for name in ("maker", "once-two")
    }
    await make_topics(talkers["maker"], {PARTITION.topic: "2"}, 1)
    producer = ClusterProducer(talkers["once-two"], PARTITION, is_idempotent=True)
    async with asyncio.TaskGroup() as writers:
        writers.create_task(producer.run())
        await world.sleep(2_000)
        leader = machines.image.topics[PARTITION.topic].partitions[0].leader
        first, second = (id for id in IDS if id != leader)
        for id in (first, second):
            await machines.stop(id)
        machines.kill(leader, loses_power=True, loses_all=True)
        for id in (first, second):
            await machines.start(id)
        await world.sleep(5_000)
        await machines.start(leader)
        await world.sleep(2_000)
        world.is_ending = True
    await wait_in_sync(world)
    world.is_quiet = True
    assert producer.acknowledged > 0
    await judge(world, {"once-two": producer})


@pytest.mark.parametrize("seed", range(1, 3))
def test_who_stopped_cleanly_leads_where_the_last_in_sync_has_lost_records(seed: int) -> None:
    run(scenario, seed, limit_ms=600_000)


def test_without_eligible_replicas_acknowledged_records_are_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = {name: level for name, level in features.FINALIZED.items() if name != ELIGIBLE_REPLICAS}
    monkeypatch.setattr(features, "FINALIZED", kept)
    with pytest.raises(ExceptionGroup) as several:
        run(scenario, 1, limit_ms=600_000)
    first = first_of(several.value)
    assert isinstance(first, ViolationError)
    assert re.search(LOST, str(first))
