"""The end of a transaction on three brokers, with the death of its coordinator after each step:
whatever any of the three appends, or hears of what is committed; enumerated, none left out. So too
with the death of another broker that leads what the transaction has written to. Another takes over,
whoever reads what is committed sees all of it or nothing, as it was told, and the producer of
before writes no more."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from kafkalite.coordinator.partitioner import partition_for
from kafkalite.errors import ErrorCode
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.partition_log import PartitionLog
from kafkalite.metadata.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from kafkalite.server import partition as partition_module
from kafkalite.server.partition import Partition
from kafkalite.testing.observations import AllCommittedSeen, CommittedSeen, Observation
from kafkalite.testing.simulation import Simulation, run
from kafkalite.types import NO_LEADER
from tests.coordinator.transactions.turned_decisions import turn_decisions
from tests.simulation.cluster_machines import Machines
from tests.simulation.cluster_scenario import IDS, LIMIT_MS, make_topics
from tests.simulation.committed_reader import CommittedReader
from tests.simulation.scenario import watched
from tests.simulation.transaction_scenario import (
    PARTITIONS,
    SETTINGS,
    TOPICS,
    have_coordinators,
)
from tests.simulation.transaction_world import TransactionTalker, TransactionWorld
from tests.simulation.transactional_writers import TransactionalWriter
from tests.simulation.world import dice_of

ID = "other"
"""What coordinates it, what has the offsets of its group, and what leads `out-1`, are three."""
SETTLE_MS = 4_000
"""Longer than a dead broker's session."""


@dataclass(frozen=True)
class Case:
    bumps: bool
    commits: bool
    asks_again: bool
    """Or else the producer is gone with its coordinator."""
    victim: str = TRANSACTION_STATE
    """Who dies leads the partition of this topic that the transaction writes to."""


class Seen:
    """The values that readers saw."""

    def __init__(self) -> None:
        self.values: set[bytes] = set()

    def see(self, seen: Observation) -> None:
        if isinstance(seen, CommittedSeen):
            self.values.add(seen.value)


class Steps:
    """Of all three brokers: counted, and after that of number `deadly` one of them is dead."""

    def __init__(self, deadly: int, die: Callable[[], None]) -> None:
        self.taken = 0
        self._deadly = deadly
        self._die = die

    def take(self) -> None:
        self.taken += 1
        if self.taken == self._deadly:
            self._die()

    @contextmanager
    def watched(self) -> Iterator[None]:
        def counting(original: Any, place: Callable[[Any], object]) -> Any:
            def called(it: Any, *args: Any, **settings: Any) -> Any:
                before = place(it)
                result = original(it, *args, **settings)
                if place(it) != before:
                    self.take()
                return result

            return called

        with pytest.MonkeyPatch.context() as patch:
            # What is appended and not sent to anybody yet is a step of its own.
            patch.setattr(partition_module, "append_as_leader", counting(append_as_leader, _end))
            for name in ("append", "followed", "fetched_by"):
                patch.setattr(Partition, name, counting(getattr(Partition, name), _place))
            yield


def _end(log: PartitionLog) -> int:
    return log.end_offset


def _place(partition: Partition) -> tuple[int, int]:
    """What a step changes: the end of the log, or how much of it is known to be committed."""
    return partition.log.end_offset, partition.high_watermark


def live(case: Case, deadly: int = 0) -> tuple[int, bool]:
    """One transaction, whose coordinator dies after the `deadly`-th step of its end, if there are
    so many. How many there were, and whether readers see it."""
    found: list[tuple[int, bool]] = []

    async def main(simulation: Simulation) -> None:
        with watched():
            found.append(await _live(simulation, case, deadly))

    run(main, seed=1, limit_ms=LIMIT_MS)
    return found[0]


async def _live(simulation: Simulation, case: Case, deadly: int) -> tuple[int, bool]:
    machines = Machines(simulation, IDS, SETTINGS)
    world, seen = TransactionWorld(simulation, machines), Seen()
    world.checkers.append(seen)

    def talker(name: str) -> TransactionTalker:
        return TransactionTalker(world, name, dice_of(simulation, name))

    world.is_ending = True  # Metadata of clients is never old.
    for id in IDS:
        await machines.start(id)
    await make_topics(talker("maker"), TOPICS, 1)
    await have_coordinators(talker("finder"))
    writer = TransactionalWriter(talker(ID), PARTITIONS, bumps=case.bumps)
    producer = await writer.begin()
    name = await writer.write(producer)
    stale = replace(producer, sequences=dict(producer.sequences))
    victim = leader(machines, case.victim)
    assert (victim == leader(machines, TRANSACTION_STATE)) is (case.victim == TRANSACTION_STATE)
    steps = Steps(deadly, lambda: machines.kill(victim))
    with steps.watched():
        if case.asks_again:
            await writer.end(producer, name, commits=case.commits)
        else:
            await writer.ask_to_end(producer, name, commits=case.commits)
        await world.sleep(SETTLE_MS)
    if deadly:
        assert victim not in machines.lives
        assert leader(machines, case.victim) not in (victim, NO_LEADER)
    await writer.begin()
    for partition in PARTITIONS:
        assert await writer.write_stale(stale, partition) is ErrorCode.INVALID_PRODUCER_EPOCH
    world.is_quiet = True
    for partition in PARTITIONS:
        await CommittedReader(talker(f"reader of {partition.topic}"), partition).run()
    world.tell(AllCommittedSeen())
    is_seen = bool(seen.values)
    assert await writer.stable_offset() == (1 if is_seen else -1)
    return steps.taken, is_seen


def leader(machines: Machines, topic: str) -> int:
    """Of the topic's partition that the transaction writes to."""
    partitions = machines.image.topics[topic].partitions
    return partitions[partition_for(ID, len(partitions))].leader


CASES = [
    Case(bumps, commits, asks_again)
    for bumps, commits, asks_again in itertools.product((True, False), repeat=3)
]
CASES += [
    Case(bumps=True, commits=True, asks_again=True, victim="out-1"),
    Case(bumps=False, commits=True, asks_again=True, victim=CONSUMER_OFFSETS),
]


@pytest.mark.timeout(100)  # A cluster's life for each of some 25 steps.
@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_was_decided_is_finished_by_those_who_live(case: Case) -> None:
    count, is_seen = live(case)
    assert is_seen is case.commits
    outcomes = [live(case, deadly)[1] for deadly in range(1, count + 1)]
    if case.asks_again or not case.commits:
        assert set(outcomes) == {case.commits}
    else:
        decided = outcomes.index(True)
        assert 0 < decided < count, "it dies before the decision is kept, and after"
        assert all(outcomes[decided:]), "what was decided once stays so"


def test_it_would_notice_a_coordinator_that_turns_a_decision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turn_decisions(monkeypatch)
    with pytest.raises(Exception, match=r"was seen in part|commits=True"):
        test_what_was_decided_is_finished_by_those_who_live(CASES[0])
