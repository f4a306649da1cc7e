"""Groups whose coordinators fail over between three brokers that are killed, lose power, are cut
off and stop: nobody reads what another holds, no commit is lost, and in the end all have their
share."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
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
ANYWHERE_WITHIN_MS = 60_000
"""So long after that somebody must have counted each partition. A slow member of the new protocol
sleeps for 15 s (`PAUSE_MS`), is told 3.5 s after (`HEARTBEAT_MS` and the most of `pace_ms`) that it
is none any more, and joins again. Who has what it should get hears of that 3.5 s later, says that
it has given it up after 3.5 s, and the new owner hears of that after 3.5 s: 29 s by the protocol.
Then it throws dice for which partition it counts, and whether it commits, every 2 s at most."""
LOOKS_AGAIN_MS = 500


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
            for calls in inspectors.values():
                await wait_until_counted(world, calls, partitions)
            world.is_quiet = True


async def wait_until_counted(
    world: GroupsWorld, inspector: GroupCalls, partitions: Sequence[TopicPartition]
) -> None:
    """`ViolationError` when a partition is nobody's for too long."""
    until_ms = world.clock.now_ms() + ANYWHERE_WITHIN_MS
    for partition in partitions:
        while not await inspector.committed(partition):
            if world.clock.now_ms() > until_ms:
                raise ViolationError(f"nobody in {inspector.group} came anywhere in {partition}")
            await world.sleep(LOOKS_AGAIN_MS)


@pytest.mark.parametrize("seed", seeds(default=25))
def test_groups_keep_their_promises_while_coordinators_fail_over(seed: int) -> None:
    run(scenario, seed, limit_ms=LIMIT_MS)


@pytest.mark.parametrize("seed", seeds(failed_once=[101], default=0))
def test_groups_of_many_members_keep_them_too(seed: int) -> None:
    """25 in each, who join at once. 101: one who slept is given its share late."""
    run(partial(scenario, crowd=MANY), seed, limit_ms=LIMIT_MS)
