"""Walks through the states of a transactional id: requests of both versions of the protocol, by its
producer and by those that it had before, as the dice have it; and what each was answered.

    python -m compat_tests.transaction_walk HOST:PORT > compat_tests/transaction-walks.txt

records those of the real Kafka anew; with FIRST and COUNT behind it come other walks, for a look
that nobody keeps. Producer ids are numbered in the order in which they come. In some walks the
cluster's `transaction.version` goes from 2 to 1 and back in the midst of all.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from random import Random  # noqa: TID251  # seeded: the same walks on every broker.

from compat_tests.feature_levels import TRANSACTIONS, at_level, set_level
from compat_tests.golden import Golden, turns
from compat_tests.transaction_calls import CONCURRENT, READY_CODES, TransactionCalls

WALKS, STEPS = 12, 18
WITH_LEVELS = range(9, 12)
"""Of each dozen those in which the level changes."""
TOPIC = "walks"
UNSTABLE = 88
OPERATIONS = (
    *("init", "go on", "go on", "add", "add", "send 11", "send 12", "send 12", "add offsets"),
    *("offset 3", "offset 5", "end 3 True", "end 3 True", "end 3 False", "end 5 True"),
    *("end 5 True", "end 5 False"),
)
LEVELS = ("level 1", "level 1", "level 2")

Producer = tuple[int, int]
Told = tuple[int, ...]
"""A code, and behind it a producer where one was given."""


class Walk:
    """One id. Call `steps` once."""

    def __init__(self, golden: Golden, number: int) -> None:
        self._operations = OPERATIONS + (LEVELS if number % 12 in WITH_LEVELS else ())
        self._dice = Random(number)
        self._calls = TransactionCalls(golden, f"walk-{os.getpid()}-{number}", TOPIC)
        self._group = self._calls.id
        self._known: list[Producer] = []
        self._numbers: dict[int, int] = {}
        self._sequences: dict[tuple[Producer, int], int] = {}

    def steps(self) -> Iterator[str]:
        self._init(4, (-1, -1))
        for number in range(STEPS):
            latest = self._dice.random() < 0.75
            id, epoch = self._known[-1] if latest else self._dice.choice(self._known)
            if self._dice.random() < 0.12:
                epoch = max(0, epoch + self._dice.choice([-1, 1, 2]))
            by = self._calls.producer_id, self._calls.epoch = id, epoch
            operation = self._dice.choice(self._operations)
            partition, version = self._dice.randrange(2), self._dice.choice([2, 3, 4, 5])
            told = _settled(lambda: self._do(operation, by, partition, version, number))  # noqa: B023  # It is called at once.
            yield (
                f"{operation}, version {version}, partition {partition}, by "
                f"{self._number(id)}/{epoch}: {told}; {self._state()}"
            )

    def _do(self, operation: str, by: Producer, partition: int, version: int, step: int) -> Told:
        calls, (name, *more) = self._calls, operation.split(" ")
        match name:
            case "init":
                return self._init(version, (-1, -1))
            case "level":
                set_level(calls.golden, TRANSACTIONS, int(more[0]))
                return (0,)
            case "go":
                return self._init(max(3, version), by)
            case "add" if more:
                return (calls.add_offsets(self._group, version=min(version, 4)),)
            case "add":
                return (calls.add(version=min(version, 3), partition=partition),)
            case "offset":
                return (calls.commit_offset(self._group, step, version=int(more[0])),)
            case "send":
                calls.sequence = self._sequences.get((by, partition), 0)
                code = calls.send(version=int(more[0]), partition=partition)
                self._sequences[by, partition] = calls.sequence
                return (code,)
            case _:
                return self._end(int(more[0]), commits=more[1] == "True")

    def _init(self, version: int, expected: Producer) -> Told:
        answer = self._calls.init(version=version, expected=expected)
        return self._given(answer["error_code"], answer["producer_id"], answer["producer_epoch"])

    def _end(self, version: int, *, commits: bool) -> Told:
        code = self._calls.end(commits=commits, version=version)
        if code or version < 5:
            return (code,)
        return self._given(code, self._calls.producer_id, self._calls.epoch)

    def _given(self, code: int, id: int, epoch: int) -> Told:
        if not code:
            self._known.append((id, epoch))
        return (code, self._number(id), epoch)

    def _number(self, id: int) -> int:
        return id if id < 0 else self._numbers.setdefault(id, len(self._numbers))

    def _state(self) -> str:
        """Of the id and of its group, when what was decided is done."""
        for _ in turns("the transaction is over"):
            state = self._calls.described()
            if not state["transaction_state"].startswith("Prepare"):
                break
        topics = {each["topic"]: sorted(each["partitions"]) for each in state["topics"]}
        has_offsets = topics.keys() - {TOPIC} != set()
        for _ in turns("the offset is stable"):
            offset = self._calls.committed_offset(self._group)
            if offset[1] != UNSTABLE or has_offsets:
                break
        return (
            f"{state['transaction_state']} {self._number(state['producer_id'])}/"
            f"{state['producer_epoch']} {topics.get(TOPIC, [])} offsets={has_offsets} {offset}"
        )


def _settled(ask: Callable[[], Told]) -> Told:
    told: Told = (CONCURRENT,)
    for _ in turns("nothing is under way"):
        told = ask()
        if told[0] not in (CONCURRENT, *READY_CODES):
            break
    return told


def walks(address: str, first: int = 0, count: int = WALKS) -> Iterator[list[str]]:
    """All of them, as lines."""
    golden = Golden(address)
    golden.fresh_topics({TOPIC: {"num_partitions": 2}})
    golden.await_coordinators()
    for number in range(first, first + count):
        with at_level(golden, TRANSACTIONS, 2):
            yield [f"walk {number}", *Walk(golden, number).steps()]


if __name__ == "__main__":
    for lines in walks(sys.argv[1], *map(int, sys.argv[2:])):
        print(*lines, sep="\n")
