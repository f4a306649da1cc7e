"""Groups whose coordinators fail over between three brokers that are killed, lose power, are cut
off and stop: nobody reads what another holds, no commit is lost, and in the end all have their
share."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import pytest

from kafkalite.testing.checkers import ViolationError
from kafkalite.testing.simulation import Simulation, run
from kafkalite.types import TopicPartition
from tests.simulation.cluster_clients import ClusterTalker, ClusterWorld
from tests.simulation.cluster_groups import (
    CountingConsumer,
    CountingMember,
    GroupsWorld,
    SlowConsumer,
    SlowMember,
)
from tests.simulation.cluster_machines import Machines
from tests.simulation.cluster_scenario import (
    IDS,
    LIMIT_MS,
    TOPICS,
    ClusterChaos,
    make_topics,
)
from tests.simulation.group_calls import GroupCalls
from tests.simulation.scenario import watched
from tests.simulation.seed_runs import seeds

SETTINGS = {"offsets.topic.num.partitions": "2", "offsets.topic.replication.factor": "3"}
CALM_MS = 20_000
"""Longer than a session, which the last coordinator counts anew when it has loaded the group, and
what those who stay then give up and take: whoever lives has a share, and counts."""


class Crowd(NamedTuple):
    """Who takes part."""

    kinds: Mapping[str, type[CountingMember | CountingConsumer]]
    """Of groups of these names."""
    members: int
    """Of each group."""
    partitions: int
    """Of each topic."""
    duration_ms: int
    """Of the part with faults."""


FEW = Crowd({"classic": CountingMember, "consumer": CountingConsumer}, 3, 2, 15_000)
MANY = Crowd({"classic": SlowMember, "consumer": SlowConsumer}, 25, 13, 6_000)


async def scenario(simulation: Simulation, crowd: Crowd = FEW) -> None:
    with watched():
        machines = Machines(simulation, IDS, SETTINGS)
        cluster, world = ClusterWorld(simulation, machines), GroupsWorld(simulation, IDS)
        world.topics |= dict.fromkeys(TOPICS, crowd.partitions)
        for id in IDS:
            await machines.start(id)
        talker = ClusterTalker(cluster, "maker", world.dice("maker"))
        await make_topics(talker, TOPICS, crowd.partitions)
        partitions = [
            TopicPartition(name, index) for name in TOPICS for index in range(crowd.partitions)
        ]
        inspectors = {
            group: GroupCalls(world, f"inspector of {group}", group) for group in crowd.kinds
        }
        for calls in inspectors.values():
            await calls.committed(partitions[0])  # From then on there is a coordinator.
        chaos = ClusterChaos(cluster, world.dice("chaos"))
        async with asyncio.TaskGroup() as members:
            for group, kind in crowd.kinds.items():
                for number in range(crowd.members):
                    member = kind(world, f"{group}-{number}", group, tuple(TOPICS))
                    members.create_task(member.run())
            await chaos.run(crowd.duration_ms)
            await chaos.make_well()
            world.is_ending = True
            await world.sleep(CALM_MS)
            world.is_quiet = True
        for group, calls in inspectors.items():
            for partition in partitions:
                if not await calls.committed(partition):
                    raise ViolationError(f"nobody in {group} came anywhere in {partition}")


@pytest.mark.parametrize("seed", seeds(default=25))
def test_groups_keep_their_promises_while_coordinators_fail_over(seed: int) -> None:
    run(scenario, seed, limit_ms=LIMIT_MS)


@pytest.mark.parametrize("seed", seeds(default=1))
def test_groups_of_many_members_keep_them_too(seed: int) -> None:
    """25 in each, who join at once."""
    run(partial(scenario, crowd=MANY), seed, limit_ms=LIMIT_MS)
