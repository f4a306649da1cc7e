"""Judges of transactions: see `checkers`. Values are unique, so that each tells where it is from.

No reader of what is committed ever sees a record that was aborted or whose end nobody has asked
for, nor one twice; in the end it has seen all of a transaction or nothing; and who comes after
another producer of his transactional id writes alone.
"""

from __future__ import annotations

from collections import defaultdict

from kafkalite.errors import ErrorCode
from kafkalite.testing.checkers import demand
from kafkalite.testing.observations import (
    AllCommittedSeen,
    CommittedSeen,
    Observation,
    StableOffsetSeen,
    StaleWriteAnswered,
    TransactionalOffsetSent,
    TransactionEndAsked,
    TransactionEnded,
    TransactionSent,
)
from kafkalite.types import TopicPartition


class OnlyCommittedIsSeen:
    """Whoever reads what is committed sees no record of a transaction that was not to commit."""

    def __init__(self) -> None:
        self._transaction_of: dict[bytes, str] = {}
        self._may_commit: set[str] = set()

    def see(self, seen: Observation) -> None:
        """See `Checker`."""
        if isinstance(seen, TransactionSent):
            for value in seen.values.values():
                self._transaction_of[value] = seen.transaction
        elif isinstance(seen, TransactionEndAsked):
            if seen.commits:
                self._may_commit.add(seen.transaction)
        elif isinstance(seen, CommittedSeen):
            transaction = self._transaction_of.get(seen.value)
            demand(transaction is not None, f"{seen}: nobody sent it")
            demand(transaction in self._may_commit, f"{seen}: nobody asked for its commit")


class NothingIsSeenTwice:
    """A value stands at one offset, and an offset has one value."""

    def __init__(self) -> None:
        self._offsets: dict[tuple[TopicPartition, bytes], int] = {}
        self._values: dict[tuple[TopicPartition, int], bytes] = {}

    def see(self, seen: Observation) -> None:
        """See `Checker`."""
        if isinstance(seen, CommittedSeen):
            offset = self._offsets.setdefault((seen.partition, seen.value), seen.offset)
            demand(offset == seen.offset, f"{seen}: and at {offset}")
            value = self._values.setdefault((seen.partition, seen.offset), seen.value)
            demand(value == seen.value, f"{seen}: {value!r} was there before")


class TransactionsAreWhole:
    """In the end all of a transaction was seen, or nothing; and as it was said to have ended."""

    def __init__(self) -> None:
        self._sent: dict[str, TransactionSent] = {}
        self._ended: dict[str, bool] = {}
        self._seen: dict[TopicPartition, set[bytes]] = defaultdict(set)

    def see(self, seen: Observation) -> None:
        """See `Checker`."""
        if isinstance(seen, TransactionSent):
            self._sent[seen.transaction] = seen
        elif isinstance(seen, TransactionEnded):
            self._ended[seen.transaction] = seen.commits
        elif isinstance(seen, CommittedSeen):
            self._seen[seen.partition].add(seen.value)
        elif isinstance(seen, AllCommittedSeen):
            for sent in self._sent.values():
                self._judge(sent)

    def _judge(self, sent: TransactionSent) -> None:
        seen = {
            partition: value in self._seen[partition] for partition, value in sent.values.items()
        }
        demand(len(set(seen.values())) == 1, f"{sent.transaction} was seen in part: {seen}")
        ended = self._ended.get(sent.transaction)
        if ended is not None:
            demand(all(seen.values()) == ended, f"{sent.transaction}: commits={ended}, seen {seen}")


class OffsetsFollowTransactions:
    """A group has the offset of the last transaction that has committed one."""

    def __init__(self) -> None:
        self._sent: dict[str, TransactionalOffsetSent] = {}
        self._counts: dict[str, int] = {}

    def see(self, seen: Observation) -> None:
        """See `Checker`."""
        if isinstance(seen, TransactionalOffsetSent):
            self._sent[seen.transaction] = seen
        elif isinstance(seen, TransactionEnded):
            sent = self._sent.get(seen.transaction)
            if sent is not None and seen.commits:
                self._counts[sent.group] = sent.offset
        elif isinstance(seen, StableOffsetSeen):
            counts = self._counts.get(seen.group, -1)
            demand(seen.offset == counts, f"{seen}: {counts} was committed last")


class StaleProducersAreRefused:
    """Whoever had the transactional id before writes no more."""

    def see(self, seen: Observation) -> None:
        """See `Checker`."""
        if isinstance(seen, StaleWriteAnswered):
            demand(
                seen.code is not ErrorCode.NONE, f"{seen.transactional_id}: a zombie has written"
            )
