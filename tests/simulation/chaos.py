"""All that goes wrong, one thing after the other, as the dice have it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kafkalite.testing.faults import FAIR, ROUGH, Climate
from kafkalite.types import TopicPartition
from tests.simulation.consumers import Inspector
from tests.simulation.machine import Machine
from tests.simulation.world import BROKER, World

OTHER_TOPICS = {"topic-2": 1, "topic-3": 2, "topic-4": 3}
"""These come and go; with their numbers of partitions."""
LONGER_THAN_A_SESSION_MS = 12_000
MILD = Climate(max_delay_ms=30)
HURRICANE = Climate(max_delay_ms=300, drop_probability=0.15, refuse_probability=0.2)


class Chaos:
    """Breaks things for a while, and leaves all in good order."""

    def __init__(
        self,
        world: World,
        machine: Machine,
        inspector: Inspector,
        *,
        spared: frozenset[str] = frozenset(),
    ) -> None:
        """`spared`: what does not happen, by the names of the methods."""
        self._spared = spared
        self._world = world
        self._machine = machine
        self._inspector = inspector
        self._dice = world.dice("chaos")

    async def run(self, duration_ms: int) -> None:
        until_ms = self._world.clock.now_ms() + duration_ms
        while self._world.clock.now_ms() < until_ms:
            await self._world.sleep(self._dice.between(100, 3_000))
            happenings: list[Callable[[], Awaitable[None]]] = [
                self._kill,
                self._kill_amid_a_change,
                self._kill_unheard,
                self._lose_power,
                self._restart,
                self._refuse_changes,
                self._set_the_clock,
                self._cut_off,
                self._storm,
                self._make_a_topic,
                self._make_a_topic,
                self._delete_a_topic,
                self._delete_records,
            ]
            happen = self._dice.one_of(
                [each for each in happenings if each.__name__ not in self._spared]
            )
            self._world.say(happen.__name__)
            await happen()
            await self._inspector.check_topics()
        self._world.simulation.weather.climate = FAIR

    async def _kill(self) -> None:
        self._machine.kill()
        await self._start()

    async def _kill_unheard(self) -> None:
        """What it answers does not arrive, and then it dies: nobody knows what it did."""
        silent = self._world.simulation.weather.silent
        silent.add(BROKER.host)
        await self._world.sleep(self._dice.between(100, 1_000))
        self._machine.kill()
        silent.clear()
        await self._start()

    async def _start(self) -> None:
        await self._world.sleep(self._dice.between(0, 2_000))
        await self._machine.start()

    async def _kill_amid_a_change(self) -> None:
        """Maybe while it stops, maybe while it starts."""
        process = self._machine.process
        process.files.die_within(self._dice.between(1, 30))
        if self._dice.chance(0.5):
            await self._machine.stop()
        await self._world.sleep(self._dice.between(100, 1_000))
        if process.is_running:
            self._machine.kill()
        await self._start()

    async def _lose_power(self) -> None:
        clients = self._world.nodes
        simulation = self._world.simulation
        if self._dice.chance(0.5):
            self._machine.process.files.die_within(self._dice.between(1, 10))
            await self._world.sleep(500)
        simulation.weather.partition({BROKER.host}, clients)
        self._machine.lose_power()
        await self._start()
        await self._inspector.after_power_loss()
        self._heal()

    def _heal(self) -> None:
        self._world.simulation.weather.heal()
        self._world.simulation.network.deliver_held()

    async def _restart(self) -> None:
        await self._machine.stop()
        await self._start()

    async def _refuse_changes(self) -> None:
        files = self._machine.process.files
        files.refusal_probability = self._dice.one_of([0.02, 0.2, 1.0])
        await self._world.sleep(self._dice.between(100, 3_000))
        if self._dice.chance(0.3):
            await self._machine.stop()
            await self._start()
        files.refusal_probability = 0.0

    async def _set_the_clock(self) -> None:
        self._machine.process.clock.jump(self._dice.between(-1_000_000, 1_000_000))

    async def _cut_off(self) -> None:
        some = {name for name in sorted(self._world.nodes) if self._dice.chance(0.5)}
        self._world.simulation.weather.partition({BROKER.host}, some)
        await self._world.sleep(self._dice.one_of([500, 3_000, LONGER_THAN_A_SESSION_MS]))
        self._heal()

    async def _storm(self) -> None:
        weather = self._world.simulation.weather
        weather.climate = self._dice.one_of([FAIR, MILD, ROUGH, HURRICANE])

    async def _make_a_topic(self) -> None:
        missing = [name for name in OTHER_TOPICS if name not in self._world.topics]
        if missing:
            name = self._dice.one_of(missing)
            self._world.topics[name] = OTHER_TOPICS[name]
            await self._inspector.make_topics()

    async def _delete_a_topic(self) -> None:
        names = [name for name in OTHER_TOPICS if name in self._world.topics]
        if names:
            await self._inspector.delete_topic(self._dice.one_of(names))

    async def _delete_records(self) -> None:
        topic = self._dice.one_of(list(self._world.topics))
        partition = TopicPartition(topic, self._dice.between(0, self._world.topics[topic] - 1))
        share = self._dice.one_of([0.0, 0.3, 0.9, 1.0])
        await self._inspector.delete_records(partition, share)
