"""What follows from one event, as far as it is known: rules write into it what they decide."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from kafkalite.coordinator.groups.events import Body, Event
from kafkalite.coordinator.groups.log_record import JournalRecord, Record, TransactionEnded
from kafkalite.coordinator.groups.settings import GroupSettings
from kafkalite.core import CancelTimer, Outcome, Reply, SetTimer
from kafkalite.protocol.messages.classic_group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kafkalite.types import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    ProducerEpoch,
    ProducerId,
    TimestampMs,
    TopicPartition,
)

GroupOutcome = Outcome[Event, JournalRecord]


class Rebalanced(NamedTuple):
    """A rebalance has begun: members of a classic group are to join again, or the epoch of a
    consumer group has risen."""

    group_id: str
    reason: str
    """As a person reads it."""
    at_ms: TimestampMs


class Draft:
    """An outcome in the making, and what decisions depend on beside the groups."""

    def __init__(self, now: TimestampMs, settings: GroupSettings) -> None:
        self.now = now
        self.settings = settings
        self._records: list[JournalRecord] = []
        self._replies: list[Reply] = []
        self._timers: list[SetTimer[Event] | CancelTimer] = []
        self.rebalances: list[Rebalanced] = []
        """What began with this event; only told."""

    def write(self, *records: Record) -> None:
        """Records that are made already."""
        self._records += records

    def write_group(self, group_id: str, value: GroupMetadataValue | None) -> None:
        """The group's record; None: a tombstone."""
        self._records.append(Record(GroupMetadataKey(group=group_id), value))

    def write_offset(
        self,
        group_id: str,
        partition: TopicPartition,
        value: OffsetCommitValue | None,
        *,
        producer_id: ProducerId = NO_PRODUCER_ID,
        producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH,
    ) -> None:
        """A committed offset; None: a tombstone. In a transaction of that producer, if there is
        one."""
        key = OffsetCommitKey(group=group_id, topic=partition.topic, partition=partition.partition)
        self._records.append(Record(key, value, producer_id, producer_epoch))

    def end_transaction(self, ended: TransactionEnded) -> None:
        """A marker: no other record goes with it."""
        self._records.append(ended)

    def reply(self, token: Hashable | None, body: Body) -> None:
        """To whoever holds `token`; to nobody if it is None."""
        if token is not None:
            self._replies.append(Reply(token, body))

    def rebalance(self, group_id: str, reason: str) -> None:
        """One has begun, for that reason."""
        self.rebalances.append(Rebalanced(group_id, reason, self.now))

    def set_timer(self, key: Hashable, delay_ms: int, event: Event) -> None:
        """In place of the timer of that key, if there is one."""
        self._timers.append(SetTimer(key, TimestampMs(self.now + delay_ms), event))

    def cancel_timer(self, key: Hashable) -> None:
        """No harm where there is none."""
        self._timers.append(CancelTimer(key))

    def outcome(self) -> GroupOutcome:
        """All of it."""
        return Outcome(
            records=tuple(self._records),
            replies=tuple(self._replies),
            timers=tuple(self._timers),
        )
