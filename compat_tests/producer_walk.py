"""Walks of three producers through one partition: batches, transactional or not, that repeat, jump
and come in other epochs, and markers by hand between them, as the dice have it; what each was
answered, and what the partition remembers then.

    python -m compat_tests.producer_walk HOST:PORT > compat_tests/producer-walks.txt

records those of the real Kafka anew; with FIRST and COUNT behind it come other walks, for a look
that nobody keeps. What coordinators say of transactions is no matter here: the broker does not ask.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from random import Random  # noqa: TID251  # seeded: the same walks on every broker.
from typing import NamedTuple

from compat_tests.golden import Fields, Golden, turns
from compat_tests.transaction_calls import TRANSACTIONAL
from compat_tests.verification import unverified

WALKS, STEPS = 12, 40
PRODUCERS = range(3)
LAST = 2**31 - 1
"""The highest sequence; 0 follows."""
TOPIC = "producer-walks"


class Odds(NamedTuple):
    """What the dice of a walk are like."""

    producers: Sequence[int]
    epochs: Sequence[int]
    markers: float
    transactional: float
    due: int
    """How often a batch has the next sequence, beside two that have not."""


WILD = Odds(PRODUCERS, (0, 0, 0, 1, 1, 2, 3), markers=0.3, transactional=0.5, due=4)
CALM = Odds((0, 0, 0, 0, 1), (*[0] * 30, 1), markers=0.1, transactional=0.9, due=25)
"""Of every other walk, in which more batches come in a row than are remembered."""


class Walk:
    """One partition, which nobody else writes to. Call `steps` once."""

    def __init__(self, golden: Golden, number: int) -> None:
        self._golden = golden
        self._dice = Random(number)
        self._partition = number % WALKS
        self._odds = CALM if number % 2 else WILD
        # Far from those that a broker gives: nobody else's, on no broker that is asked twice.
        self._ids = [(1 << 40) + os.getpid() * 1_000_000 + number * 10 + i for i in PRODUCERS]
        self._taken: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        """The first sequence and the count of each batch that was, of a producer in an epoch."""

    def steps(self) -> Iterator[str]:
        for _ in range(STEPS):
            producer = self._dice.choice(self._odds.producers)
            epoch = self._dice.choice(self._odds.epochs)
            dice = self._dice.random()
            if dice < self._odds.markers:
                said = self._mark(producer, epoch)
            elif dice < 0.95:
                said = self._send(producer, epoch)
            else:
                said = self._read()
            yield f"{said}; {self._remembered()}"

    def _send(self, producer: int, epoch: int) -> str:
        taken = self._taken[producer, epoch]
        due = sum(taken[-1]) % (LAST + 1) if taken else self._dice.choice([0, LAST - 2])
        near = [*[due] * self._odds.due, (due + 1) % (LAST + 1), max(0, due - 1)]
        sequence = self._dice.choice([*near, 0, LAST, LAST - 1, self._dice.randrange(6)])
        count, is_open = (
            self._dice.choice([1, 1, 1, 2, 3]),
            self._dice.random() < self._odds.transactional,
        )
        if taken and self._dice.random() < 0.25:
            sequence, count = self._dice.choice(taken[-7:])
        code, offset = self._produce(
            self._golden.script["batch"](
                n=count,
                pid=self._ids[producer],
                epoch=epoch,
                seq=sequence,
                attrs=TRANSACTIONAL if is_open else 0,
            ),
            TOPIC if is_open else None,
        )
        if not code and (sequence, count) not in taken:
            taken.append((sequence, count))
        kind = "transactional " if is_open else ""
        return f"{kind}{count} of {producer}/{epoch} from {sequence}: {code} {offset}"

    def _produce(self, batch: bytes, id: str | None) -> tuple[int, int]:
        """The code, and the offset."""
        _, version, fields = self._golden.script["produce"](
            batch, topic=TOPIC, part=self._partition, txn=id, version=11
        )
        answer = self._golden.call("Produce", version, fields)["responses"][0]
        told = answer["partition_responses"][0]
        return told["error_code"], told["base_offset"]

    def _mark(self, producer: int, epoch: int) -> str:
        version, commits = self._dice.choice([1, 2]), self._dice.random() < 0.5
        protocol = self._dice.choice([0, 1, 2]) if version == 2 else 0
        coordinator = self._dice.choice([0, 0, 0, 1, 2])
        marker = {
            "producer_id": self._ids[producer],
            "producer_epoch": epoch,
            "transaction_result": commits,
            "topics": [{"name": TOPIC, "partition_indexes": [self._partition]}],
            "coordinator_epoch": coordinator,
            "transaction_version": protocol,
        }
        answer = self._golden.call("WriteTxnMarkers", version, {"markers": [marker]})
        code = answer["markers"][0]["topics"][0]["partitions"][0]["error_code"]
        result = "commit" if commits else "abort"
        return f"{result} of {producer}/{epoch} by {coordinator}, protocol {protocol}: {code}"

    def _read(self) -> str:
        """What a reader of what is committed is told, from some offset on."""
        offset = self._dice.randrange(8)
        partition = {
            "partition": self._partition,
            "current_leader_epoch": -1,
            "fetch_offset": offset,
            "last_fetched_epoch": -1,
            "log_start_offset": -1,
            "partition_max_bytes": 1 << 20,
        }
        asked = {
            "max_wait_ms": 0,
            "min_bytes": 0,
            "max_bytes": 1 << 20,
            "isolation_level": 1,
            "session_id": 0,
            "session_epoch": -1,
            "topics": [{"topic": TOPIC, "partitions": [partition]}],
        }
        (told,) = self._golden.call("Fetch", 12, asked)["responses"][0]["partitions"]
        aborted = sorted(
            (self._ids.index(each["producer_id"]), each["first_offset"])
            for each in told["aborted_transactions"] or []
        )
        return f"read from {offset}: {told['error_code']} {aborted} {told['last_stable_offset']}"

    def _remembered(self) -> str:
        """Each producer's epoch, last sequence, coordinator's epoch, and where it is open."""
        asked = {"topics": [{"name": TOPIC, "partition_indexes": [self._partition]}]}
        answer = self._golden.call("DescribeProducers", 0, asked)["topics"][0]["partitions"][0]
        known: dict[int, Fields] = {
            each["producer_id"]: each for each in answer["active_producers"]
        }
        return ", ".join(
            f"{number}/{known[id]['producer_epoch']} {known[id]['last_sequence']}"
            f" {known[id]['coordinator_epoch']} {known[id]['current_txn_start_offset']}"
            for number, id in enumerate(self._ids)
            if id in known
        )


def walks(address: str, first: int = 0, count: int = WALKS) -> Iterator[str]:
    """All of them, line by line."""
    golden = Golden(address)
    golden.await_coordinators()
    with unverified(golden):
        for number in range(first, first + count):
            if number % WALKS == 0:
                golden.fresh_topics({TOPIC: {"num_partitions": WALKS + 1}})
                _await_unverified(golden)
            yield f"walk {number}"
            yield from Walk(golden, number).steps()


def _await_unverified(golden: Golden) -> None:
    """The real broker hears of the setting a moment later. Into a partition where nobody walks."""
    batch = golden.script["batch"](pid=(1 << 40) + os.getpid(), epoch=0, seq=0, attrs=TRANSACTIONAL)
    _, version, fields = golden.script["produce"](
        batch, topic=TOPIC, part=WALKS, txn=TOPIC, version=11
    )
    for _ in turns("the broker verifies nothing"):
        answer = golden.call("Produce", version, fields)["responses"][0]
        if not answer["partition_responses"][0]["error_code"]:
            break


if __name__ == "__main__":
    for line in walks(sys.argv[1], *map(int, sys.argv[2:])):
        print(line)
