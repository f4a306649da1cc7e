"""Produces with large batches that their topics want in another codec: a worker recompresses these,
so that nobody else waits for it, and then they are appended. What the same connection produces
meanwhile waits behind: see `produce_order.py`.

Kafka differs: it recompresses on the thread of the request.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from kafkalite.errors import KafkaError
from kafkalite.ports.clock import Clock
from kafkalite.ports.workers import Workers
from kafkalite.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
)
from kafkalite.server.produce_order import Append, Connection, KeptProduce, ProduceOrder
from kafkalite.server.purgatory import Parked
from kafkalite.types import ZERO_UUID

if TYPE_CHECKING:
    from kafkalite.log.validation import BatchValidator
    from kafkalite.server.replica_manager import ReplicaManager

LARGE_BYTES = 32 << 10
"""From here on a batch is a worker's: gzip takes a millisecond for so much, as it comes."""


class _Batch(NamedTuple):
    """One that a worker is to recompress."""

    data: PartitionProduceData
    validator: BatchValidator


class Recompressions:
    """Those of one broker."""

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        workers: Workers,
        clock: Clock,
        replicas: ReplicaManager,
        order: ProduceOrder,
    ) -> None:
        self._tasks = tasks
        self._workers = workers
        self._clock = clock
        self._replicas = replicas
        self._order = order

    def append(
        self, connection: Connection, append: Append, request: ProduceRequest
    ) -> ProduceResponse | Parked | None:
        """As `append`, which is called at once, or once nothing of the request is a worker's any
        more."""
        if not self._find(request):
            return append(request)
        kept = KeptProduce.of(connection, request, append, self._clock)
        self._order.hold(connection)
        self._tasks.create_task(self._work(kept))
        return kept.parked

    async def _work(self, kept: KeptProduce) -> None:
        now = self._clock.now_ms()
        for batch in self._find(kept.request):
            records = batch.data.records
            assert isinstance(records, memoryview)
            made = await self._workers.run(batch.validator.recompress_early, records, now)
            if made is not None:
                batch.data.records = memoryview(made)
        self._order.go_on(kept)

    def _find(self, request: ProduceRequest) -> list[_Batch]:
        """What of the request is a worker's. What is not here is the handler's to refuse."""
        replicas = self._replicas
        found = []
        for topic in request.topic_data:
            for data in topic.partition_data:
                records = data.records
                if not isinstance(records, memoryview) or len(records) < LARGE_BYTES:
                    continue
                try:
                    if topic.topic_id != ZERO_UUID:
                        partition = replicas.find_by_id(topic.topic_id, data.index)
                    else:
                        partition = replicas.find(topic.name, data.index)
                except KafkaError:
                    continue
                validator = partition.log.validator
                if validator.has_other_codec(records):
                    found.append(_Batch(data, validator))
        return found
