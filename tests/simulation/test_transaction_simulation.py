"""A whole broker in virtual time, producers of transactions of both versions of the protocol, and
readers of what is committed, while the process dies at any step: see
`testing.transaction_checkers` for what is promised. And the product broken by hand, which a checker
must see."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from kafkalite.coordinator.transactions import initialization
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.producers import BatchMetadata, ProducerState, ProducerStates
from kafkalite.protocol.records.batch import BatchHeader
from kafkalite.server.transaction_markers import Marker, MarkerWriter
from kafkalite.testing.checkers import ViolationError
from kafkalite.testing.observations import AllCommittedSeen
from kafkalite.testing.simulation import Simulation, run
from kafkalite.testing.transaction_checkers import (
    NothingIsSeenTwice,
    OnlyCommittedIsSeen,
    StaleProducersAreRefused,
    TransactionsAreWhole,
)
from kafkalite.types import TopicPartition
from tests.simulation.chaos import Chaos
from tests.simulation.committed_reader import CommittedReader
from tests.simulation.consumers import Inspector
from tests.simulation.machine import SETTINGS, Machine
from tests.simulation.scenario import LIMIT_MS, watched
from tests.simulation.seed_runs import seeds
from tests.simulation.test_sabotage import Every, Patch, who_sees
from tests.simulation.transactional_writers import TransactionalWriter
from tests.simulation.world import World

DURATION_MS = 15_000
TOPICS = {"out-0": 1, "out-1": 1}
PARTITIONS = tuple(TopicPartition(name, 0) for name in TOPICS)
SPARED = frozenset(
    {
        "_lose_power",
        "_refuse_changes",
        "_set_the_clock",
        "_make_a_topic",
        "_delete_a_topic",
        "_delete_records",
    }
)
"""Each takes back something that was promised."""
MOST_SEEDS = 20


async def scenario(simulation: Simulation) -> None:
    with watched():
        world = World(simulation)
        world.checkers = [
            OnlyCommittedIsSeen(),
            NothingIsSeenTwice(),
            TransactionsAreWhole(),
            StaleProducersAreRefused(),
        ]
        settings = {**SETTINGS, "transaction.state.log.num.partitions": "2"}
        machine, inspector = Machine(world, settings), Inspector(world)
        world.topics |= TOPICS
        await machine.start()
        await inspector.make_topics()
        async with asyncio.TaskGroup() as readers:
            for partition in PARTITIONS:
                reader = CommittedReader(world, f"reader of {partition.topic}", partition)
                readers.create_task(reader.run())
            async with asyncio.TaskGroup() as writers:
                for number in range(4):
                    writer = TransactionalWriter(
                        world, f"writer-{number}", PARTITIONS, bumps=number % 2 == 0
                    )
                    writers.create_task(writer.run())
                await Chaos(world, machine, inspector, spared=SPARED).run(DURATION_MS)
                world.is_ending = True
            world.is_quiet = True
        world.tell(AllCommittedSeen())
        await machine.stop()


@pytest.mark.parametrize("seed", seeds(default=20))
def test_transactions_keep_their_promises(seed: int) -> None:
    run(scenario, seed, limit_ms=LIMIT_MS)


def tells_of_no_abort(patch: Patch) -> None:
    patch.setattr(PartitionLog, "_aborted", lambda *asked, **how: ())


def shows_what_is_open(patch: Patch) -> None:
    patch.setattr(
        ProducerStates, "last_stable_offset", lambda states, high_watermark: high_watermark
    )


def ends_one_partition_the_other_way(patch: Patch) -> None:
    original: Any = MarkerWriter._append

    def append(writer: MarkerWriter, marker: Marker, to: TopicPartition, *more: Any) -> None:
        original(writer, marker._replace(commits=marker.commits and to.topic != "out-1"), to, *more)

    patch.setattr(MarkerWriter, "_append", append)


def forgets_duplicates(patch: Patch) -> None:
    """And takes any sequence."""

    def find(state: ProducerState, header: BatchHeader) -> BatchMetadata | None:
        return None

    patch.setattr(ProducerState, "find_duplicate", find)
    patch.setattr(ProducerStates, "_check_sequence", lambda *asked: None)


def gives_an_epoch_again(patch: Patch) -> None:
    """A producer that comes has the epoch of the one before, and so have both."""
    original: Any = initialization._bumped

    def bumped(transaction: Any, expected: Any) -> Any:
        epochs = original(transaction, expected)
        return epochs._replace(present=transaction.producer_epoch)

    patch.setattr(initialization, "_bumped", bumped)


def loses_the_abort_of_who_was_fenced(patch: Patch) -> None:
    """Every other abort commits in one partition."""
    original: Any = MarkerWriter._append
    now = Every(2)

    def append(writer: MarkerWriter, marker: Marker, to: TopicPartition, *more: Any) -> None:
        commits = marker.commits or (to.topic == "out-0" and now())
        original(writer, marker._replace(commits=commits), to, *more)

    patch.setattr(MarkerWriter, "_append", append)


CASES: list[tuple[Callable[[Patch], None], str]] = [
    (tells_of_no_abort, "OnlyCommittedIsSeen"),
    (shows_what_is_open, "OnlyCommittedIsSeen"),
    (loses_the_abort_of_who_was_fenced, "OnlyCommittedIsSeen"),
    (ends_one_partition_the_other_way, "TransactionsAreWhole"),
    (forgets_duplicates, "NothingIsSeenTwice"),
    (gives_an_epoch_again, "StaleProducersAreRefused"),
]


@pytest.mark.parametrize(
    ("sabotage", "checker"), CASES, ids=[sabotage.__name__ for sabotage, _ in CASES]
)
def test_broken_transactions_are_found_out(
    sabotage: Callable[[Patch], None], checker: str, monkeypatch: Patch
) -> None:
    sabotage(monkeypatch)
    seen: list[BaseException] = []
    for seed in range(1, MOST_SEEDS + 1):
        try:
            run(scenario, seed, limit_ms=LIMIT_MS)
        except (ViolationError, ExceptionGroup) as error:
            if checker in who_sees(error):
                return
            seen.append(error)
    pytest.fail(f"{checker} has not seen it in {MOST_SEEDS} seeds, but {seen}")
