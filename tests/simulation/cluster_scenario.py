"""One run of a cluster: three brokers, their clients, and what befalls them. As a program,
`cluster_scenario.py SEED`, it prints the trace."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kafkalite.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafkalite.testing.checkers import ViolationError
from kafkalite.testing.faults import FAIR, Climate
from kafkalite.testing.record_checkers import values_in
from kafkalite.testing.simulation import Simulation, Trace, run
from kafkalite.types import TopicPartition
from tests.server.running import creatable
from tests.simulation.cluster_clients import (
    ClusterConsumer,
    ClusterProducer,
    ClusterTalker,
    ClusterWorld,
)
from tests.simulation.cluster_machines import Machines, host, name_of
from tests.simulation.cluster_topics import SHORT, Deleter, PassingTopic
from tests.simulation.scenario import watched
from tests.simulation.world import Dice, dice_of

IDS = (1, 2, 3)
TOPICS = {"one": "1", "two": "2"}
"""With `min.insync.replicas`."""
PARTITIONS = 2
DURATION_MS = 15_000
"""Of the part with faults."""
SETTLE_MS = 60_000
LIMIT_MS = 600_000
ROUGH = Climate(min_delay_ms=0, max_delay_ms=40, drop_probability=0.003, refuse_probability=0.02)
SLOW = Climate(min_delay_ms=0, max_delay_ms=800)
"""Requests are carried out after those who sent them have given up, and have sent them again."""


class Place(NamedTuple):
    """Where a replica is."""

    start_offset: int
    """A leader that was killed may not have written its own down; then its followers' are above
    it, as in Kafka."""
    high_watermark: int
    end_offset: int


class ClusterChaos:
    """What befalls the brokers, one thing after the other."""

    climates: tuple[Climate, ...] = (FAIR, ROUGH)

    def __init__(self, world: ClusterWorld, dice: Dice) -> None:
        self._world = world
        self._machines = world.machines
        self._weather = world.simulation.weather
        self._dice = dice

    async def run(self, duration_ms: int) -> None:
        clock = self._world.simulation.clock
        until_ms = clock.now_ms() + duration_ms
        deeds = self.deeds()
        while clock.now_ms() < until_ms:
            await self._world.sleep(self._dice.between(100, 1_500))
            done = self._dice.one_of(deeds)()
            if asyncio.iscoroutine(done):
                await done

    def deeds(self) -> list[Callable[[], object]]:
        """What is done, each as often as it stands there."""
        return [
            self._end_one, self._end_one, self._bring_back, self._bring_back, self._cut,
            self._heal, self._change_weather, self._depose,
        ]  # fmt: skip

    async def _end_one(self) -> None:
        """At most one is down at a time, but now and then."""
        lives = sorted(self._machines.lives)
        if not self._machines.is_loss_known():
            return
        if len(lives) < (2 if self._dice.chance(0.3) else 3):
            return
        id = self._dice.one_of(lives)
        how = self._dice.between(0, 2)
        if how == 0:
            await self._machines.stop(id)
        else:
            self._machines.kill(id, loses_power=how == 1 and self._machines.may_lose_power(id))

    def _end_amid_a_change(self) -> None:
        lives = sorted(self._machines.lives)
        if len(lives) == len(IDS) and self._machines.is_loss_known():
            self._machines.die_amid_changes(self._dice.one_of(lives), self._dice.between(1, 30))

    async def _bring_back(self) -> None:
        down = [id for id in self._machines.ids if id not in self._machines.lives]
        if down:
            await self._machines.start(self._dice.one_of(down))

    def _cut(self) -> None:
        id = self._dice.one_of(self._machines.ids)
        others = {host(each) for each in self._machines.ids if each != id}
        if self._dice.chance(0.5):
            others = {self._dice.one_of(sorted(others))}
        self._machines.say(f"broker {id} is cut off from {sorted(others)}")
        self._weather.partition({host(id)}, others)

    def _heal(self) -> None:
        self._machines.say("all are together")
        self._weather.heal()
        self._world.simulation.network.deliver_held()

    def _change_weather(self) -> None:
        self._weather.climate = self._dice.one_of(self.climates)

    def _depose(self) -> None:
        store = self._machines.store
        if store._controller is not None and len(store._candidates) > 1:
            self._machines.say("the controller is deposed")
            store.depose()

    async def make_well(self) -> None:
        """All run, and nothing is in their way."""
        self._weather.climate = FAIR
        self._heal()
        for life in self._machines.lives.values():
            life.files.spare()
        for id in self._machines.ids:
            if id not in self._machines.lives:
                await self._machines.start(id)


class WorseChaos(ClusterChaos):
    """Also what only some clients are a match for."""

    climates = (FAIR, ROUGH, SLOW)

    def deeds(self) -> list[Callable[[], object]]:
        """See `ClusterChaos`."""
        return [
            *super().deeds(), self._bring_back, self._heal, self._cut_off_clients,
            self._end_amid_a_change, self._lose_session, self._refuse_changes,
            self._set_the_clock,
        ]  # fmt: skip

    def _cut_off_clients(self) -> None:
        """What they send arrives later, when they have given up."""
        id = self._dice.one_of(self._machines.ids)
        some = {name for name in self._world.clients if self._dice.chance(0.5)}
        self._machines.say(f"broker {id} is cut off from {len(some)} clients")
        self._weather.partition({host(id)}, some)

    def _lose_session(self) -> None:
        lives = sorted(self._machines.lives)
        if lives and self._machines.is_loss_known():
            self._machines.lose_session(
                self._dice.one_of(lives), heard_after_ms=self._dice.one_of([0, 100, 2_000])
            )

    def _refuse_changes(self) -> None:
        lives = sorted(self._machines.lives)
        if lives:
            probability = self._dice.one_of([0.02, 0.2, 1.0])
            self._machines.refuse_changes(
                self._dice.one_of(lives), probability, self._dice.between(100, 3_000)
            )

    def _set_the_clock(self) -> None:
        lives = sorted(self._machines.lives)
        if lives:
            id, ms = self._dice.one_of(lives), self._dice.between(-600_000, 600_000)
            self._machines.say(f"the clock of broker {id} is set by {ms} ms")
            self._machines.lives[id].clock.jump(ms)


async def look(world: ClusterWorld) -> None:
    """At what brokers claim and have, ten times a second."""
    looks = 0
    while not world.is_quiet:
        for id, partition in world.machines.partitions():
            if partition.leader is not None:
                name = name_of(partition.topic, partition.topic_id, partition.index)
                world.leaders.leads(name, partition.leader.leader_epoch, id)
                world.in_sync.has(name, partition.leader.partition_epoch, partition.leader.isr)
        for topic in world.machines.image.topics.values():
            for index, each in enumerate(topic.partitions):
                name = name_of(topic.name, topic.id, index)
                world.in_sync.has(name, each.partition_epoch, each.isr)
        looks += 1
        if looks % 10 == 0:
            for name, logs in world.machines.logs().items():
                world.logs.looked(name, logs)
        await world.sleep(100)


async def scenario(simulation: Simulation) -> None:
    """Everything in it is chosen by the simulation's seed."""
    with watched():
        await _scenario(simulation)


async def _scenario(simulation: Simulation) -> None:
    machines = Machines(simulation, IDS)
    world = ClusterWorld(simulation, machines)

    def talker(name: str) -> ClusterTalker:
        return ClusterTalker(world, name, dice_of(simulation, name))

    for id in IDS:
        await machines.start(id)
    await make_topics(talker("maker"), TOPICS, PARTITIONS)
    await make_topics(talker("maker"), {SHORT: "1"}, 1)
    partitions = [TopicPartition(name, index) for name in TOPICS for index in range(PARTITIONS)]
    producers = {
        f"{kind}-{each}": ClusterProducer(
            talker(f"{kind}-{each}"), each, is_idempotent=kind == "once"
        )
        for kind in ("once", "plain")
        for each in partitions
    }
    short = TopicPartition(SHORT, 0)
    others_who_write: list[ClusterProducer | PassingTopic | Deleter] = [
        ClusterProducer(talker("short"), short, is_idempotent=False),
        PassingTopic(talker("passing"), len(IDS)),
        Deleter(talker("deleter")),
    ]
    chaos = WorseChaos(world, dice_of(simulation, "chaos"))
    async with asyncio.TaskGroup() as others:
        others.create_task(look(world))
        for each in (*partitions, short):
            others.create_task(ClusterConsumer(talker(f"reader-{each}"), each).run())
        async with asyncio.TaskGroup() as writers:
            for producer in (*producers.values(), *others_who_write):
                writers.create_task(producer.run())
            await chaos.run(DURATION_MS)
            await chaos.make_well()
            world.is_ending = True
        await wait_in_sync(world)
        world.is_quiet = True
    await judge(world, producers)


async def make_topics(
    talker: ClusterTalker, least_in_sync: Mapping[str, str], partitions: int
) -> None:
    """By name, with `min.insync.replicas`; on all brokers."""
    topics = [
        creatable(name, partitions, {"min.insync.replicas": least})
        for name, least in least_in_sync.items()
    ]
    for topic in topics:
        topic.replication_factor = len(IDS)
    request = CreateTopicsRequest(topics=topics, timeout_ms=5_000)
    answer = await talker.ask(IDS[1], request, 7, CreateTopicsResponse)
    assert answer is not None
    assert [each.error_code for each in answer.topics] == [0] * len(topics), answer
    talker.hang_up()


async def wait_in_sync(world: ClusterWorld) -> None:
    """All brokers run; `ViolationError` if they do not agree in time."""
    clock = world.simulation.clock
    until_ms = clock.now_ms() + SETTLE_MS
    while not _is_settled(world):
        if clock.now_ms() > until_ms:
            isr = {
                name: [each.isr for each in topic.partitions]
                for name, topic in world.machines.image.topics.items()
            }
            raise ViolationError(f"not in sync after {SETTLE_MS} ms: {isr}, {_differing(world)}")
        await world.sleep(100)


def _is_settled(world: ClusterWorld) -> bool:
    """All are in sync, have the same, and know that it is committed."""
    if any(
        set(each.isr) != set(IDS)
        for topic in world.machines.image.topics.values()
        for each in topic.partitions
    ):
        return False
    return not _differing(world)


def _differing(world: ClusterWorld) -> dict[str, dict[int, Place]]:
    """Where the replicas of a partition are, by broker, if they are not all in one place."""
    found: dict[TopicPartition, dict[int, Place]] = {}
    starts: dict[TopicPartition, int] = {}
    for id, partition in world.machines.partitions():
        log = partition.log
        place = Place(log.log_start_offset, partition.high_watermark, log.end_offset)
        found.setdefault(partition.key, {})[id] = place
        if partition.leader is not None:
            starts[partition.key] = place.start_offset
    return {
        str(name): places
        for name, places in found.items()
        if any(each.high_watermark < each.end_offset for each in places.values())
        or len({each.end_offset for each in places.values()}) > 1
        or name not in starts  # Nobody leads it.
        or any(each.start_offset < starts[name] for each in places.values())
    }


async def judge(world: ClusterWorld, producers: dict[str, ClusterProducer]) -> None:
    counts: dict[str, int] = {}
    for name, logs in world.machines.logs().items():
        world.logs.ended(name, logs)
        records = values_in(logs[0].data)
        world.kept.ended(name, records)
        numbers: dict[str, list[int]] = {}
        for _, value in sorted(records.items()):
            sender, _, number = value.decode().rpartition("-")
            counts[sender] = counts.get(sender, 0) + 1
            if sender.startswith("once"):
                numbers.setdefault(sender, []).append(int(number))
        world.order.ended(name, numbers)
    copies = sum(
        counts.get(name, 0) - producer.acknowledged for name, producer in producers.items()
    )
    if copies:
        world.machines.say(f"{copies} records stand twice")
    for producer_name, producer in producers.items():
        world.order.sent(producer_name, producer.acknowledged, counts.get(producer_name, 0))
    world.machines.say(f"{world.kept.count} records")


def simulate(seed: int) -> Trace:
    return run(scenario, seed, limit_ms=LIMIT_MS)


if __name__ == "__main__":
    sys.stdout.write("\n".join(simulate(int(sys.argv[1])).lines))
