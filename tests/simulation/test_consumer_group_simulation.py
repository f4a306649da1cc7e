"""A whole broker in virtual time, and a consumer group of the new protocol (KIP-848), while one
thing after the other goes wrong: no commit is lost, and in the end all is read."""

from __future__ import annotations

import asyncio

import pytest

from kafkalite.testing.simulation import Simulation, run
from kafkalite.types import TopicPartition
from tests.simulation.chaos import Chaos
from tests.simulation.consumer_members import ConsumerMember
from tests.simulation.consumers import Inspector
from tests.simulation.machine import Machine
from tests.simulation.producers import Producer
from tests.simulation.scenario import DURATION_MS, LIMIT_MS, inspect_groups, watched
from tests.simulation.seed_runs import seeds
from tests.simulation.world import World

TOPICS = {"topic-0": 3, "topic-1": 1}
GROUPS = {"new": tuple(TOPICS)}


async def scenario(simulation: Simulation) -> None:
    with watched():
        world = World(simulation)
        machine, inspector = Machine(world), Inspector(world)
        world.topics |= TOPICS
        await machine.start()
        await inspector.make_topics()
        async with asyncio.TaskGroup() as readers:
            for number in range(3):
                member = ConsumerMember(world, f"new-{number}", "new", tuple(TOPICS))
                readers.create_task(member.run())
            async with asyncio.TaskGroup() as writers:
                for name, count in TOPICS.items():
                    for index in range(count):
                        partition = TopicPartition(name, index)
                        producer = Producer(world, f"{name}-{index}", partition, is_idempotent=True)
                        writers.create_task(producer.run())
                await Chaos(world, machine, inspector).run(DURATION_MS)
                world.is_ending = True
            world.is_quiet = True
        for _ in range(2):
            await inspect_groups(world, await inspector.inspect(), GROUPS)
            await machine.stop()
            await machine.start()


@pytest.mark.parametrize("seed", seeds(default=20))
def test_a_group_keeps_its_promises(seed: int) -> None:
    run(scenario, seed, limit_ms=LIMIT_MS)
