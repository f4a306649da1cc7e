"""Produces with large batches that their topics want in another codec: a worker recompresses these,
so that nobody else waits for it, and then they are appended.

Whatever a connection produces meanwhile waits behind: its batches are appended in the order in
which they came, as idempotent producers need it. Other connections do not wait.

Kafka differs: it recompresses on the thread of the request.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kafkalite.errors import KafkaError, ProtocolError
from kafkalite.ports.clock import Clock
from kafkalite.ports.workers import Workers
from kafkalite.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
)
from kafkalite.server.kept_requests import with_own_records
from kafkalite.server.purgatory import Parked
from kafkalite.types import ZERO_UUID

if TYPE_CHECKING:
    from kafkalite.log.validation import BatchValidator
    from kafkalite.server.replica_manager import ReplicaManager

LARGE_BYTES = 32 << 10
"""From here on a batch is a worker's: gzip takes a millisecond for so much, as it comes."""

_Append = Callable[[ProduceRequest], "ProduceResponse | Parked | None"]


class _Connection(Protocol):
    """Of a client; the same object for all its requests."""

    def close(self) -> None: ...


class _Batch(NamedTuple):
    """One that a worker is to recompress."""

    data: PartitionProduceData
    validator: BatchValidator


class _Job(NamedTuple):
    """A request that waits, with records of its own."""

    connection: _Connection
    request: ProduceRequest
    append: _Append
    parked: Parked


class Recompressions:
    """Those of one broker."""

    def __init__(
        self, tasks: asyncio.TaskGroup, workers: Workers, clock: Clock, replicas: ReplicaManager
    ) -> None:
        self._tasks = tasks
        self._workers = workers
        self._clock = clock
        self._replicas = replicas
        self.connections: dict[_Connection, deque[_Job]] = {}
        """Those of which requests wait; in their order, the first one under way."""

    def park(
        self, connection: _Connection, request: ProduceRequest, append: _Append
    ) -> Parked | None:
        """The answer, when the request has to wait, upon which `append` is called; else None."""
        jobs = self.connections.get(connection)
        if jobs is None and not self._find(request):
            return None
        parked = Parked.without_deadline(self._clock)
        job = _Job(connection, with_own_records(request), append, parked)
        if jobs is None:
            self.connections[connection] = deque([job])
            self._tasks.create_task(self._work(connection))
        else:
            jobs.append(job)
        return parked

    async def _work(self, connection: _Connection) -> None:
        jobs = self.connections[connection]
        try:
            while jobs:
                job = jobs[0]
                now = self._clock.now_ms()
                for batch in self._find(job.request):
                    records = batch.data.records
                    assert isinstance(records, memoryview)
                    made = await self._workers.run(batch.validator.recompress_early, records, now)
                    if made is not None:
                        batch.data.records = memoryview(made)
                jobs.popleft()
                _append(job)
        finally:
            del self.connections[connection]

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


def _append(job: _Job) -> None:
    """What the client is told, it is told now, or when that is committed."""
    try:
        answer = job.append(job.request)
    except ProtocolError:  # Of acks=0: closing is the only answer.
        job.parked.abandon()
        job.connection.close()
        return
    except Exception as error:  # noqa: BLE001  # The dispatcher maps it, as that of any handler.
        job.parked.complete(partial(_raise, error))
        return
    if isinstance(answer, Parked):
        answer.then(job.parked.complete)
    else:
        job.parked.complete(lambda: answer)


def _raise(error: Exception) -> None:
    raise error
