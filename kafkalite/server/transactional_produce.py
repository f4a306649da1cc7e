"""A produce with batches of a transaction: what must be asked of its coordinator before they are
appended.

Most are appended at once: the producer has an open transaction in the partition, or the coordinator
is here and answers at once. Else the records are copied, since their buffer is used again, and what
the connection produces meanwhile waits behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kafkalite.coordinator.transactions.events import Producer
from kafkalite.coordinator.transactions.verification import Client, Refusal, Refusals
from kafkalite.errors import CorruptRecordError, ErrorCode, KafkaError
from kafkalite.log.verifications import Verification
from kafkalite.protocol.messages.produce import (
    ProduceRequest,
    ProduceResponse,
)
from kafkalite.protocol.records.batch import HEADER_SIZE, read_header
from kafkalite.server.partition import Partition
from kafkalite.server.produce_appender import Refused, Unfit
from kafkalite.server.produce_order import KeptProduce
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.server.transaction_verification import verify
from kafkalite.types import NO_PRODUCER_ID, ZERO_UUID, TimestampMs, TopicPartition

_FIRST_VERSION_WITH_ABORTABLE = 11
_FIRST_VERSION_THAT_ADDS = 12

Append = Callable[[ProduceRequest, Refused], "ProduceResponse | Parked | None"]
"""Appends all of the request, but to the partitions that are refused."""
Refuse = Callable[[ProduceRequest, ErrorCode, str], ProduceResponse | None]
"""The same code for every partition."""


class _Batch(NamedTuple):
    partition: Partition
    producer: Producer
    base_sequence: int

    @property
    def place(self) -> TopicPartition:
        return TopicPartition(self.partition.topic, self.partition.index)

    @property
    def is_amid_a_transaction(self) -> bool:
        producers = self.partition.log.producers
        return producers.is_in_transaction(self.producer.id, self.producer.epoch)

    @property
    def is_fenced(self) -> bool:
        """Whether the coordinator need not be asked."""
        return self.partition.log.producers.is_fenced(*self.producer)

    @property
    def has_a_gap(self) -> bool:
        """Whether it is not the first of a producer of which nothing is known in the partition.
        Version 2 of the protocol begins each transaction with sequence 0."""
        return (
            self.base_sequence != 0 and self.partition.log.producers.get(self.producer.id) is None
        )


class _Asked(NamedTuple):
    """A batch whose transaction is asked about."""

    batch: _Batch
    client: Client
    verification: Verification

    @staticmethod
    def of(batch: _Batch, client: Client, now: TimestampMs) -> _Asked:
        (id, epoch), bumps_epoch = batch.producer, client is Client.LEAVES_ADDING
        verification = batch.partition.log.producers.verifications.begin(
            id, epoch, batch.base_sequence, now, bumps_epoch=bumps_epoch
        )
        return _Asked(batch, client, verification)

    def refusal(self) -> ErrorCode:
        """What the log has against it when the coordinator has nothing: to be asked right before
        the append, which refuses what is led elsewhere by then, and what is internal."""
        batch = self.batch
        partition = batch.partition
        if batch.is_amid_a_transaction or partition.leader is None or partition.is_internal:
            return ErrorCode.NONE
        if self.client is Client.LEAVES_ADDING and batch.has_a_gap:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        verifications = batch.partition.log.producers.verifications
        return verifications.refusal(batch.producer.id, self.verification, batch.base_sequence)


def append_verified(
    ctx: RequestContext, append: Append, refuse: Refuse, request: ProduceRequest
) -> ProduceResponse | Parked | None:
    """Ask about the partitions in which the producer has no open transaction, then append; or
    `refuse` when the coordinator says nothing within `request.timeout.ms`."""
    assert request.transactional_id is not None
    batches = list(_transactional(ctx, request))
    if len({batch.producer for batch in batches}) > 1:
        return _of_several(refuse(request, ErrorCode.INVALID_PRODUCER_ID_MAPPING, ""))
    first: dict[TopicPartition, _Batch] = {}
    for batch in batches:
        if not batch.is_amid_a_transaction:
            first.setdefault(batch.place, batch)
    transactions = ctx.services.transactions
    client = Client.of(
        ctx.version,
        knows_abortable_from=_FIRST_VERSION_WITH_ABORTABLE,
        leaves_adding_from=_FIRST_VERSION_THAT_ADDS,
    )
    if not first or not (transactions.verifies_partitions or client is Client.LEAVES_ADDING):
        return append(request, {})
    now = ctx.services.clock.now_ms()
    asked = [_Asked.of(batch, client, now) for batch in first.values() if not batch.is_fenced]
    fenced: Refused = {
        place: Unfit(Refusal(ErrorCode.INVALID_PRODUCER_EPOCH), by_log=False)
        for place, batch in first.items()
        if batch.is_fenced
    }
    if not asked:
        return append(request, fenced)
    arrived: list[Refused] = []
    waiting: _Waiting | None = None

    def on_refusals(told: Refusals) -> None:
        refused = fenced.copy()
        for each in asked:
            place = each.batch.place
            if why := told.get(place):
                refused[place] = Unfit(why, by_log=False)
            elif code := each.refusal():
                refused[place] = Unfit(Refusal(code), by_log=True)
        if waiting is None:
            arrived.append(refused)
        else:
            waiting.go_on(lambda kept: append(kept, refused))

    verify(
        transactions,
        request.transactional_id,
        batches[0].producer,
        frozenset(each.batch.place for each in asked),
        client,
        on_refusals,
    )
    if arrived:
        return append(request, arrived[0])
    waiting = _Waiting(ctx, request, refuse)
    return waiting.kept.parked


class _Waiting:
    """A request whose coordinator has not answered yet."""

    def __init__(self, ctx: RequestContext, request: ProduceRequest, refuse: Refuse) -> None:
        services = ctx.services

        def late(kept: ProduceRequest) -> ProduceResponse | None:
            return refuse(kept, ErrorCode.REQUEST_TIMED_OUT, "")

        self._order = services.produce_order
        self._order.hold(ctx.connection)
        self.kept = KeptProduce.of(ctx.connection, request, late, services.clock)
        deadline = services.clock.now_ms() + services.config.request_timeout_ms
        self._timer = services.clock.call_at(deadline, lambda: self.go_on(late))
        self._is_over = False

    def go_on(self, append: Callable[[ProduceRequest], ProduceResponse | Parked | None]) -> None:
        """Once: the answer has come, or does not come any more."""
        if not self._is_over:
            self._is_over = True
            self._timer.cancel()
            self._order.go_on(self.kept._replace(append=append))


def _of_several(response: ProduceResponse | None) -> ProduceResponse | None:
    if response is not None:
        for topic in response.responses:
            for partition in topic.partition_responses:
                partition.error_message = (
                    "Transactional records contained more than one producer ID"
                )
    return response


def _transactional(ctx: RequestContext, request: ProduceRequest) -> Iterator[_Batch]:
    """Batches of transactions, of partitions that are here: the append refuses the others."""
    replicas = ctx.services.replicas
    for topic in request.topic_data:
        for data in topic.partition_data:
            records = data.records
            if not isinstance(records, memoryview) or len(records) < HEADER_SIZE:
                continue
            try:
                header = read_header(records)
                if topic.topic_id != ZERO_UUID:
                    partition = replicas.find_by_id(topic.topic_id, data.index)
                else:
                    partition = replicas.find(topic.name, data.index)
            except (KafkaError, CorruptRecordError):
                continue
            # One without a producer ends with no transaction: nothing is asked about it.
            if header.is_transactional and header.producer_id > NO_PRODUCER_ID:
                producer = Producer(header.producer_id, header.producer_epoch)
                yield _Batch(partition, producer, header.base_sequence)
