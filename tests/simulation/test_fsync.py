"""With `kafkalite.fsync` a loss of power takes nothing that was acknowledged, seen or committed."""

from __future__ import annotations

import asyncio

import pytest

from kafkalite.log.log_sync import LogSync
from kafkalite.server.partition import Partition
from kafkalite.testing.checkers import KeptThroughPowerLoss, TopicsStay, ViolationError
from kafkalite.testing.group_checkers import CommitsAreKept
from kafkalite.testing.record_checkers import AcknowledgedRecordsSurvive, ReadsAreStable
from kafkalite.testing.simulation import Simulation, run
from kafkalite.types import TopicPartition
from tests.simulation.chaos import Chaos
from tests.simulation.consumers import Consumer, Inspector
from tests.simulation.machine import SETTINGS, Machine
from tests.simulation.members import Member
from tests.simulation.producers import Producer
from tests.simulation.seed_runs import seeds
from tests.simulation.test_sabotage import who_sees
from tests.simulation.world import World

ZERO, ONE = TopicPartition("topic-0", 0), TopicPartition("topic-0", 1)
SPARED = frozenset({"_refuse_changes", "_cut_off", "_storm", "_set_the_clock", "_restart"})
KEPT = (AcknowledgedRecordsSurvive, ReadsAreStable, TopicsStay, CommitsAreKept)


async def power_goes_and_comes(simulation: Simulation, settings: dict[str, str]) -> None:
    world = World(simulation)
    world.checkers = [
        KeptThroughPowerLoss(checker) if isinstance(checker, KEPT) else checker
        for checker in world.checkers
    ]
    machine, inspector = Machine(world, {**SETTINGS, **settings}), Inspector(world)
    world.topics |= {"topic-0": 2}
    await machine.start()
    await inspector.make_topics()
    async with asyncio.TaskGroup() as readers:
        for partition in (ZERO, ONE):
            consumer = Consumer(world, f"reader-{partition.partition}", partition)
            readers.create_task(consumer.run())
        member = Member(world, "red-0", "red", ("topic-0",), is_static=False)
        readers.create_task(member.run())
        async with asyncio.TaskGroup() as writers:
            for name, partition, is_idempotent in (
                ("once-0", ZERO, True),
                ("plain-0", ZERO, False),
                ("once-1", ONE, True),
                ("plain-1", ONE, False),
            ):
                producer = Producer(world, name, partition, is_idempotent=is_idempotent)
                writers.create_task(producer.run())
            await Chaos(world, machine, inspector, spared=SPARED).run(15_000)
            world.is_ending = True
        world.is_quiet = True
    await inspector.inspect()


def simulate(seed: int, **settings: str) -> None:
    keys = {key.replace("_", "."): value for key, value in settings.items()}
    run(lambda simulation: power_goes_and_comes(simulation, keys), seed, limit_ms=1_800_000)


@pytest.mark.parametrize("seed", seeds(default=20))
def test_nothing_is_lost_with_the_power(seed: int) -> None:
    simulate(seed, kafkalite_fsync="true")


def someone_sees_a_loss(**settings: str) -> bool:
    """In one of the seeds."""
    for seed in range(1, 21):
        try:
            simulate(seed, **settings)
        except (ViolationError, ExceptionGroup) as error:
            if KeptThroughPowerLoss.__name__ in who_sees(error):
                return True
    return False


def test_without_it_something_is() -> None:
    assert someone_sees_a_loss()


def test_a_broker_that_answers_too_soon_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = property(lambda partition: partition.log.end_offset)
    monkeypatch.setattr(Partition, "settled_end", everything)
    assert someone_sees_a_loss(kafkalite_fsync="true")


def test_a_sync_that_does_nothing_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LogSync, "run", lambda sync: None)
    assert someone_sees_a_loss(kafkalite_fsync="true")
