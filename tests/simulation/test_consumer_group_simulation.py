"""A whole broker in virtual time, and a consumer group, while one thing after the other goes wrong:
nobody reads what another holds, no commit is lost, and in the end all is read. All members speak
the new protocol (KIP-848), or they change over between it and the classic one.

One thing does not hold in Kafka either: the coordinator is lost, or its disk refuses, just after it
made a classic group of a consumer group, and before all have joined again. The record says who is
to have what; nobody knows then who still has it. So where members change over, what was held before
the broker ended is forgiven, and with a seed that is even, where disks refuse too, it is not
judged who holds what.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from kafkalite.coordinator.groups.consumer import turn
from kafkalite.coordinator.groups.consumer.reconciliation import Way, reconcile
from kafkalite.coordinator.groups.consumer.state import Member
from kafkalite.testing.checkers import ViolationError
from kafkalite.testing.group_checkers import NobodyReadsWhatAnotherHolds
from kafkalite.testing.simulation import Simulation, run
from kafkalite.types import TopicPartition
from tests.simulation.chaos import Chaos
from tests.simulation.consumer_members import ConsumerMember
from tests.simulation.consumers import Inspector
from tests.simulation.machine import Machine
from tests.simulation.migrating_members import MigratingMember
from tests.simulation.producers import Producer
from tests.simulation.scenario import LIMIT_MS, inspect_groups, watched
from tests.simulation.seed_runs import seeds
from tests.simulation.test_sabotage import MOST_SEEDS, who_sees
from tests.simulation.world import World

TOPICS = {"topic-0": 3, "topic-1": 1}
GROUP = "new"
DURATION_MS = 20_000
"""Of the part with faults."""
MakeMember = Callable[[World, str], ConsumerMember | MigratingMember]


async def scenario(
    simulation: Simulation, world: World, make: MakeMember, *, spared: frozenset[str], members: int
) -> None:
    with watched():
        machine, inspector = Machine(world), Inspector(world)
        world.topics |= TOPICS
        await machine.start()
        await inspector.make_topics()
        async with asyncio.TaskGroup() as readers:
            for number in range(members):
                readers.create_task(make(world, f"{GROUP}-{number}").run())
            async with asyncio.TaskGroup() as writers:
                for name, count in TOPICS.items():
                    for index in range(count):
                        partition = TopicPartition(name, index)
                        producer = Producer(world, f"{name}-{index}", partition, is_idempotent=True)
                        writers.create_task(producer.run())
                await Chaos(world, machine, inspector, spared=spared).run(DURATION_MS)
                world.is_ending = True
            world.is_quiet = True
        for _ in range(2):
            await inspect_groups(world, await inspector.inspect(), {GROUP: tuple(TOPICS)})
            await machine.stop()
            await machine.start()


async def of_the_new_protocol(simulation: Simulation) -> None:
    def make(world: World, name: str) -> ConsumerMember:
        return ConsumerMember(world, name, GROUP, tuple(TOPICS))

    await scenario(simulation, World(simulation), make, spared=frozenset(), members=3)


async def that_change_over(simulation: Simulation) -> None:
    def make(world: World, name: str) -> MigratingMember:
        return MigratingMember(world, name, GROUP, tuple(TOPICS))

    world = World(simulation, forgives_deaths=True)
    spared = frozenset({"_refuse_changes"})
    if simulation.seed % 2 == 0:
        spared = frozenset()
        world.checkers = [
            each for each in world.checkers if not isinstance(each, NobodyReadsWhatAnotherHolds)
        ]
    await scenario(simulation, world, make, spared=spared, members=4)


@pytest.mark.parametrize("seed", seeds())
def test_a_group_keeps_its_promises(seed: int) -> None:
    run(of_the_new_protocol, seed, limit_ms=LIMIT_MS)


@pytest.mark.parametrize("seed", seeds())
def test_a_group_that_changes_over_keeps_its_promises(seed: int) -> None:
    run(that_change_over, seed, limit_ms=LIMIT_MS)


@pytest.mark.parametrize("scenario_of", [of_the_new_protocol, that_change_over])
def test_a_coordinator_that_gives_what_is_not_free_is_found_out(
    scenario_of: Callable[[Simulation], Coroutine[None, None, None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def generous(member: Member, way: Way) -> Member:
        return reconcile(member, way._replace(is_owned=lambda topic, index: False))

    monkeypatch.setattr(turn, "reconcile", generous)
    for seed in range(1, MOST_SEEDS, 2):
        try:
            run(scenario_of, seed, limit_ms=LIMIT_MS)
        except (ViolationError, ExceptionGroup) as error:
            if NobodyReadsWhatAnotherHolds.__name__ in who_sees(error):
                return
    pytest.fail("nobody has seen it")
