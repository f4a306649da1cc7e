"""A coordinator that is driven by hand: what it decides is applied, as its driver would."""

from __future__ import annotations

from typing import NamedTuple

from kafkalite.coordinator.transactions.coordinator import TransactionCoordinator
from kafkalite.coordinator.transactions.events import (
    AddPartitions,
    EndTransaction,
    Event,
    InitProducerId,
    MarkersWritten,
    NeedProducerId,
    Producer,
    ProducerIdGiven,
    ProducerIdNeeded,
    TransactionEnding,
    WriteMarkers,
)
from kafkalite.coordinator.transactions.records import Record
from kafkalite.coordinator.transactions.state import Transaction, TransactionState
from kafkalite.core import CancelTimer, SetTimer
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.types import ProducerEpoch, ProducerId, TimestampMs, TopicPartition

ID = "mine"
NOW = TimestampMs(1_000_000)
TIMEOUT_MS = 60_000
PARTITION = TopicPartition("topic", 0)
OTHER = TopicPartition("topic", 1)


def producer(id: int = 7, epoch: int = 0) -> Producer:
    return Producer(ProducerId(id), ProducerEpoch(epoch))


class Decided(NamedTuple):
    """What one event has come to."""

    reply: object
    """A body, an error's code, or None."""
    records: tuple[Record, ...]
    markers: tuple[WriteMarkers, ...]
    timers: dict[object, SetTimer[Event] | None]


class World:
    def __init__(self, core: TransactionCoordinator | None = None) -> None:
        self.core = core or TransactionCoordinator(protocol_version=2)
        self.now = NOW
        self.next_id = 7
        self.log: list[Record] = []
        self.ids_wanted: list[NeedProducerId] = []
        """By the last decision, and by nobody who waits."""

    @property
    def transaction(self) -> Transaction:
        return self.core.transactions[ID]

    @property
    def state(self) -> TransactionState:
        return self.transaction.state

    def decide(self, event: Event) -> Decided:
        try:
            outcome = self.core.decide(event, self.now)
        except KafkaError as error:
            return Decided(error.code, (), (), {})
        for record in outcome.records:
            self.log.append(record)
            self.core.apply(record)
        replies: list[object] = [
            reply.body.code if isinstance(reply.body, KafkaError) else reply.body
            for reply in outcome.replies
        ]
        sent = [send.request for send in outcome.sends]
        assert all(isinstance(each, WriteMarkers | NeedProducerId) for each in sent)
        self.ids_wanted = [each for each in sent if isinstance(each, NeedProducerId)]
        return Decided(
            replies[0] if replies else None,
            outcome.records,
            tuple(each for each in sent if isinstance(each, WriteMarkers)),
            {
                timer.key: None if isinstance(timer, CancelTimer) else timer
                for timer in outcome.timers
            },
        )

    def init(
        self, expected: Producer | None = None, *, timeout_ms: int = TIMEOUT_MS
    ) -> Producer | ErrorCode:
        """With a fresh producer id if one is wanted."""
        event = InitProducerId(1, ID, timeout_ms, expected)
        reply = self.decide(event).reply
        if isinstance(reply, ProducerIdNeeded):
            reply = self.decide(event._replace(fresh_id=self.fresh_id())).reply
        if isinstance(reply, ProducerIdGiven):
            return reply.producer
        assert isinstance(reply, ErrorCode), reply
        return reply

    def fresh_id(self) -> ProducerId:
        self.next_id += 1
        return ProducerId(self.next_id - 1)

    def add(self, by: Producer, *partitions: TopicPartition, version: int = 0) -> Decided:
        added = frozenset(partitions or (PARTITION,))
        return self.decide(AddPartitions(1, ID, by, added, version))

    def end(self, by: Producer, *, commits: bool, version: int = 0) -> Producer | ErrorCode:
        event = EndTransaction(1, ID, by, commits, version)
        reply = self.decide(event).reply
        if isinstance(reply, ProducerIdNeeded):
            reply = self.decide(event._replace(fresh_id=self.fresh_id())).reply
        if isinstance(reply, TransactionEnding):
            return reply.producer
        assert isinstance(reply, ErrorCode), reply
        return reply

    def write_markers(self) -> None:
        """The last markers are written."""
        self.decide(MarkersWritten(ID, self.present))

    @property
    def present(self) -> Producer:
        """As the record has it."""
        return Producer(self.transaction.producer_id, self.transaction.producer_epoch)

    def begun(self, *, version: int = 0) -> Producer:
        """A producer with an open transaction."""
        by = self.init()
        assert isinstance(by, Producer), by
        self.add(by, version=version)
        return by
