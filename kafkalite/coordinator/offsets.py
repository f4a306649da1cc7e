"""Committed offsets: what each group has read, by topic and partition. Recorded state.

Offsets of a transaction count once it commits, unless a later commit has come between. Shared by
all kinds of groups. Source: Kafka's `OffsetMetadataManager`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kafkalite.protocol.messages.classic_group_records import OffsetCommitKey, OffsetCommitValue
from kafkalite.types import NO_PRODUCER_ID, ProducerId, TopicPartition


class Pending(NamedTuple):
    """A commit in an open transaction."""

    value: OffsetCommitValue
    sequence: int
    """Grows with each commit that is applied while any transaction is open."""


class CommittedOffsets:
    """The offsets of the groups of one coordinator. `apply` and `end_transaction` alone write."""

    def __init__(self) -> None:
        self._offsets: dict[str, dict[TopicPartition, OffsetCommitValue]] = {}
        """Group id -> partition -> its last commit. No group is there without one."""
        self._pending: dict[ProducerId, dict[str, dict[TopicPartition, Pending]]] = {}
        """Of open transactions, in the same way."""
        self._sequences: dict[tuple[str, TopicPartition], int] = {}
        """Of the commits that have come to count since the oldest transaction that is open."""
        self._sequence = 0

    def of_group(self, group_id: str) -> dict[TopicPartition, OffsetCommitValue]:
        """What the group has committed; not to be changed."""
        return self._offsets.get(group_id, {})

    def groups(self) -> Iterator[str]:
        """Groups that have committed offsets."""
        yield from self._offsets

    def pending_of_group(self, group_id: str) -> dict[TopicPartition, None]:
        """Partitions that an open transaction has an offset of the group for, in a fixed order."""
        return {
            partition: None
            for table in self._pending.values()
            for partition in table.get(group_id, ())
        }

    def has_open_transactions(self, group_id: str) -> bool:
        """Whether an open transaction has committed offsets of the group, taken back or not."""
        return any(group_id in table for table in self._pending.values())

    def pending_groups(self) -> Iterator[str]:
        """Groups that open transactions have committed offsets for, each once."""
        yield from {group_id: None for table in self._pending.values() for group_id in table}

    def apply(
        self,
        key: OffsetCommitKey,
        value: OffsetCommitValue | None,
        producer_id: ProducerId = NO_PRODUCER_ID,
    ) -> None:
        """A commit, in a producer's transaction or not; None: the offset is forgotten, whoever
        committed it."""
        partition = TopicPartition(key.topic, key.partition)
        if value is None:
            offsets = self._offsets.get(key.group, {})
            offsets.pop(partition, None)
            if not offsets:
                self._offsets.pop(key.group, None)
            for table in self._pending.values():
                table.get(key.group, {}).pop(partition, None)
            return
        if producer_id != NO_PRODUCER_ID:
            self._sequence += 1
            pending = self._pending.setdefault(producer_id, {}).setdefault(key.group, {})
            pending[partition] = Pending(value, self._sequence)
            return
        of_group = self._offsets.get(key.group)
        if of_group is None:
            of_group = self._offsets[key.group] = {}
        of_group[partition] = value
        if self._pending:
            self._sequence += 1
            self._sequences[key.group, partition] = self._sequence

    def end_transaction(self, producer_id: ProducerId, *, committed: bool) -> None:
        """Its offsets count from now on, or never did."""
        table = self._pending.pop(producer_id, {})
        for group_id, pending in table.items() if committed else ():
            for partition, offset in pending.items():
                if self._sequences.get((group_id, partition), 0) < offset.sequence:
                    self._offsets.setdefault(group_id, {})[partition] = offset.value
                    self._sequences[group_id, partition] = offset.sequence
        if not self._pending:
            self._sequences.clear()
