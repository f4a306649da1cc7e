"""A cluster of three brokers in virtual time, producers of transactions of both versions of the
protocol, which commit offsets of groups in them, and readers of what is committed, while brokers
die, lose power, are cut off and hand over: see `testing.transaction_checkers` for what is promised.
And the product broken by hand, which a checker must see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkalite.coordinator.groups import commits
from kafkalite.coordinator.groups.draft import Draft
from kafkalite.coordinator.groups.offset_events import EndTransactionalOffsets
from kafkalite.coordinator.transactions import initialization
from kafkalite.log.producers import BatchMetadata, ProducerState, ProducerStates
from kafkalite.log.segments import SegmentList
from kafkalite.protocol.records.batch import BatchHeader
from kafkalite.server.transaction_markers import Marker, MarkerWriter
from kafkalite.testing.checkers import ViolationError
from kafkalite.types import TopicPartition
from tests.simulation.seed_runs import seeds, trace_of_a_process
from tests.simulation.test_sabotage import Every, Patch, who_sees
from tests.simulation.transaction_scenario import simulate

MOST_SEEDS = 20
PROGRAM = Path(__file__).with_name("transaction_scenario.py")


@pytest.mark.parametrize("seed", seeds())
def test_transactions_keep_their_promises(seed: int) -> None:
    try:
        simulate(seed)
    except BaseException as error:
        error.add_note(f"The same again: python -m tests.simulation.transaction_scenario {seed}")
        raise


def test_the_same_seed_gives_the_same_trace_in_any_process() -> None:
    one, same = (
        trace_of_a_process(PROGRAM, 5, hash_seed=1),
        trace_of_a_process(PROGRAM, 5, hash_seed=2),
    )
    assert one == same
    assert len(one.splitlines()) > 300


def tells_of_no_abort(patch: Patch) -> None:
    patch.setattr(SegmentList, "aborted", lambda *asked: ())


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


def counts_offsets_of_what_is_aborted(patch: Patch) -> None:
    original: Any = commits.end_transaction

    def end(draft: Draft, event: EndTransactionalOffsets) -> None:
        original(draft, event._replace(commits=True))

    patch.setattr(commits, "end_transaction", end)


CASES: list[tuple[Callable[[Patch], None], str]] = [
    (tells_of_no_abort, "OnlyCommittedIsSeen"),
    (shows_what_is_open, "OnlyCommittedIsSeen"),
    (loses_the_abort_of_who_was_fenced, "OnlyCommittedIsSeen"),
    (ends_one_partition_the_other_way, "TransactionsAreWhole"),
    (forgets_duplicates, "NothingIsSeenTwice"),
    (counts_offsets_of_what_is_aborted, "OffsetsFollowTransactions"),
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
            simulate(seed)
        except (ViolationError, ExceptionGroup) as error:
            if checker in who_sees(error):
                return
            seen.append(error)
    pytest.fail(f"{checker} has not seen it in {MOST_SEEDS} seeds, but {seen}")
