"""A produce with batches of a transaction: what must be asked of its coordinator before they are
appended.

Most are appended at once: the producer has an open transaction in the partition, or the coordinator
is here and answers at once. Else the records are copied, since their buffer is used again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from kafkalite.coordinator.transactions.events import Producer
from kafkalite.coordinator.transactions.verification import Client, Codes
from kafkalite.errors import CorruptRecordError, ErrorCode, KafkaError, ProtocolError
from kafkalite.protocol.messages.produce import (
    ProduceRequest,
    ProduceResponse,
)
from kafkalite.protocol.records.batch import HEADER_SIZE, read_header
from kafkalite.server.kept_requests import with_own_records
from kafkalite.server.partition import Partition
from kafkalite.server.purgatory import Parked
from kafkalite.server.request import RequestContext
from kafkalite.server.transaction_verification import verify
from kafkalite.types import ZERO_UUID, TimestampMs, TopicPartition

_FIRST_VERSION_WITH_ABORTABLE = 11
_FIRST_VERSION_THAT_ADDS = 12

Append = Callable[[ProduceRequest, Codes], "ProduceResponse | Parked | None"]
"""Appends all of the request, but to the partitions that have a code."""
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
    def has_a_gap(self) -> bool:
        """Whether it is not the first of a producer of which nothing is known in the partition.
        Version 2 of the protocol begins each transaction with sequence 0."""
        return (
            self.base_sequence != 0 and self.partition.log.producers.get(self.producer.id) is None
        )


def append_verified(
    ctx: RequestContext,
    request: ProduceRequest,
    *,
    append: Append,
    refuse: Refuse,
) -> ProduceResponse | Parked | None:
    """Ask about the partitions in which the producer has no open transaction, then append; or
    `refuse` when the coordinator says nothing within `request.timeout.ms`."""
    assert request.transactional_id is not None
    batches = list(_transactional(ctx, request))
    if len({batch.producer for batch in batches}) > 1:
        return _of_several(refuse(request, ErrorCode.INVALID_PRODUCER_ID_MAPPING, ""))
    first = [batch for batch in batches if not batch.is_amid_a_transaction]
    if not first:
        return append(request, {})
    asked = frozenset(batch.place for batch in first)
    client = Client.of(
        ctx.version,
        knows_abortable_from=_FIRST_VERSION_WITH_ABORTABLE,
        leaves_adding_from=_FIRST_VERSION_THAT_ADDS,
    )
    arrived: list[Codes] = []
    kept = request
    parked: Parked | None = None

    def on_codes(codes: Codes) -> None:
        if client is Client.LEAVES_ADDING:
            gaps = [batch.place for batch in first if batch.has_a_gap]
            codes = dict.fromkeys(gaps, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER) | codes
        arrived.append(codes)
        if parked is not None and not parked.done:
            _complete(parked, partial(append, kept, codes))

    transactions, producer = ctx.services.transactions, first[0].producer
    verify(transactions, request.transactional_id, producer, asked, client, on_codes)
    if arrived:
        return append(request, arrived[0])
    kept = with_own_records(request)
    clock = ctx.services.clock
    deadline = TimestampMs(clock.now_ms() + ctx.services.config.request_timeout_ms)
    late = partial(refuse, request, ErrorCode.REQUEST_TIMED_OUT, "")
    parked = Parked(clock, deadline, late)
    return parked


def _of_several(response: ProduceResponse | None) -> ProduceResponse | None:
    if response is not None:
        for topic in response.responses:
            for partition in topic.partition_responses:
                partition.error_message = (
                    "Transactional records contained more than one producer ID"
                )
    return response


def _complete(parked: Parked, append: Callable[[], ProduceResponse | Parked | None]) -> None:
    """With the answer, which may itself be one to wait for."""
    try:
        result = append()
    except (KafkaError, ProtocolError) as error:
        refusal = error

        def refuse() -> ProduceResponse:
            raise refusal

        parked.complete(refuse)
    else:
        if isinstance(result, Parked):
            result.then(parked.complete)
        else:
            parked.complete(lambda: result)


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
            if header.is_transactional:
                producer = Producer(header.producer_id, header.producer_epoch)
                yield _Batch(partition, producer, header.base_sequence)
