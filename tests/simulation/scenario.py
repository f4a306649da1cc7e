"""One run: a broker, its clients, and what befalls them. As a program, `scenario.py SEED`, it
prints the trace."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from kafkalite.log.directory_set import LogFolderFailedError
from kafkalite.testing.checkers import ViolationError
from kafkalite.testing.simulation import Simulation, Trace, run
from kafkalite.types import TopicPartition
from tests.simulation.chaos import Chaos
from tests.simulation.consumers import Consumer, Inspector
from tests.simulation.group_calls import GroupCalls
from tests.simulation.machine import Machine
from tests.simulation.members import Member
from tests.simulation.producers import Producer
from tests.simulation.session_consumer import SessionConsumer
from tests.simulation.world import World

GROUPS = {"red": ("topic-0", "topic-1"), "blue": ("topic-0",)}
STATIC = {"red": 0, "blue": 2}
"""How many of a group's three members are static."""
DURATION_MS = 30_000
"""Of the part with faults."""
LIMIT_MS = 1_800_000


class Client(Protocol):
    """A state machine that ends when it has done what it began, once the world is ending."""

    async def run(self) -> None: ...


class _Surprises(logging.Handler):
    """Faults that the broker logged and that no disk has to answer for."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not _is_of_the_disk(error):
            self.found.append(f"{record.getMessage()}: {error!r}")

    def of_loop(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """See `asyncio`'s exception handlers."""
        error = context.get("exception")
        if not isinstance(error, BaseException) or not _is_of_the_disk(error):
            self.found.append(f"{context.get('message')}: {error!r}")


def _is_of_the_disk(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, OSError | LogFolderFailedError):
            return True
        error = error.__cause__ or error.__context__
    return False


@contextmanager
def watched() -> Iterator[None]:
    """`ViolationError` in the end when the broker was surprised."""
    surprises = _Surprises()
    logger = logging.getLogger("kafkalite")
    logger.addHandler(surprises)
    asyncio.get_running_loop().set_exception_handler(surprises.of_loop)
    try:
        yield
    finally:
        logger.removeHandler(surprises)
    if surprises.found:
        raise ViolationError(f"the broker was surprised: {surprises.found}")


async def scenario(simulation: Simulation) -> None:
    """Everything in it is chosen by the simulation's seed."""
    with watched():
        await _scenario(simulation)


async def _scenario(simulation: Simulation) -> None:
    world = World(simulation)
    machine, inspector = Machine(world), Inspector(world)
    world.topics |= {"topic-0": 2, "topic-1": 1}
    await machine.start()
    await inspector.make_topics()
    async with asyncio.TaskGroup() as readers:
        for reader in _readers(world):
            readers.create_task(reader.run())
        async with asyncio.TaskGroup() as writers:
            for writer in _writers(world):
                writers.create_task(writer.run())
            await Chaos(world, machine, inspector).run(DURATION_MS)
            world.is_ending = True
        world.is_quiet = True
    for _ in range(2):
        await inspect_groups(world, await inspector.inspect(), GROUPS)
        await machine.stop()
        await machine.start()


def _readers(world: World) -> list[Client]:
    return [
        Consumer(world, "reader-0", TopicPartition("topic-0", 0)),
        Consumer(world, "reader-1", TopicPartition("topic-1", 0)),
        SessionConsumer(world, "session-0"),
        *(
            Member(world, f"{group}-{number}", group, topics, is_static=number < STATIC[group])
            for group, topics in GROUPS.items()
            for number in range(3)
        ),
    ]


def _writers(world: World) -> list[Client]:
    zero, one = TopicPartition("topic-0", 0), TopicPartition("topic-0", 1)
    two = TopicPartition("topic-1", 0)
    return [
        Producer(world, "once-0", zero, is_idempotent=True),
        Producer(world, "once-1", two, acks=1, is_idempotent=True),
        Producer(world, "plain-0", zero, is_idempotent=False),
        Producer(world, "plain-1", one, acks=1, is_idempotent=False),
        Producer(world, "once-2", one, is_idempotent=True, roams=True),
        Producer(world, "plain-2", one, is_idempotent=False, roams=True),
    ]


async def inspect_groups(
    world: World, ends: Mapping[TopicPartition, int], groups: Mapping[str, tuple[str, ...]]
) -> None:
    """Each group has read everything of its topics, and said so."""
    for group, topics in groups.items():
        calls = GroupCalls(world, "inspector", group)
        for partition, end in ends.items():
            if partition.topic in topics:
                committed = await calls.committed(partition)
                if committed != end:
                    raise ViolationError(
                        f"{group} has position {committed} in {partition}, which ends at {end}"
                    )


def simulate(seed: int) -> Trace:
    return run(scenario, seed, limit_ms=LIMIT_MS)


if __name__ == "__main__":
    sys.stdout.write("\n".join(simulate(int(sys.argv[1])).lines))
