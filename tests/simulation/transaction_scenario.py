"""One run of a cluster with transactions: three brokers, producers of both versions of the protocol
with offsets of groups, readers of what is committed, and what befalls the brokers, whichever of
them coordinates. As a program, `transaction_scenario.py SEED`, it prints the trace."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from kafkalite.testing.observations import AllCommittedSeen
from kafkalite.testing.simulation import Simulation, Trace, run
from kafkalite.types import TopicPartition
from tests.simulation.cluster_machines import Machines
from tests.simulation.cluster_scenario import (
    IDS,
    LIMIT_MS,
    ClusterChaos,
    make_topics,
    wait_in_sync,
)
from tests.simulation.committed_reader import CommittedReader
from tests.simulation.scenario import watched
from tests.simulation.transaction_world import (
    GROUP,
    TRANSACTION,
    TransactionTalker,
    TransactionWorld,
)
from tests.simulation.transactional_writers import TransactionalWriter
from tests.simulation.world import dice_of

DURATION_MS = 6_000
"""Of the part with faults."""
TOPICS = {"out-0": "2", "out-1": "2"}
"""With `min.insync.replicas`."""
PARTITIONS = tuple(TopicPartition(name, 0) for name in TOPICS)
WRITERS = 4
SETTINGS = {
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "log.retention.check.interval.ms": "700",
}


class TransactionChaos(ClusterChaos):
    """Also ends a process in the midst of what it writes."""

    def deeds(self) -> list[Callable[[], object]]:
        """See `ClusterChaos`."""
        return [*super().deeds(), self._end_amid_a_change]


async def scenario(simulation: Simulation) -> None:
    """Everything in it is chosen by the simulation's seed."""
    with watched():
        await _scenario(simulation)


async def _scenario(simulation: Simulation) -> None:
    machines = Machines(simulation, IDS, SETTINGS)
    world = TransactionWorld(simulation, machines)

    def talker(name: str) -> TransactionTalker:
        return TransactionTalker(world, name, dice_of(simulation, name))

    for id in IDS:
        await machines.start(id)
    await make_topics(talker("maker"), TOPICS, 1)
    await have_coordinators(talker("finder"))
    chaos = TransactionChaos(world, dice_of(simulation, "chaos"))
    async with asyncio.TaskGroup() as readers:
        for partition in PARTITIONS:
            reader = CommittedReader(talker(f"reader of {partition.topic}"), partition)
            readers.create_task(reader.run())
        async with asyncio.TaskGroup() as writers:
            for number in range(WRITERS):
                writer = TransactionalWriter(
                    talker(f"writer-{number}"), PARTITIONS, bumps=number % 2 == 0
                )
                writers.create_task(writer.run())
            await chaos.run(DURATION_MS)
            await chaos.make_well()
            world.is_ending = True
        await wait_in_sync(world)
        world.is_quiet = True
    world.tell(AllCommittedSeen())
    for name, logs in machines.logs().items():
        world.logs.ended(name, logs)


async def have_coordinators(talker: TransactionTalker) -> None:
    """Their topics are made while all run."""
    for type in (GROUP, TRANSACTION):
        while await talker.coordinator(type, "any") is None:
            await talker.world.sleep(100)
    await wait_in_sync(talker.world)
    talker.hang_up()


def simulate(seed: int) -> Trace:
    return run(scenario, seed, limit_ms=LIMIT_MS)


if __name__ == "__main__":
    sys.stdout.write("\n".join(simulate(int(sys.argv[1])).lines))
