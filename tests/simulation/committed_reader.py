"""A consumer of what is committed in one partition, which tells each value that it would show."""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.fetch import FetchResponse, PartitionData
from kafkalite.protocol.records.batch import iter_headers
from kafkalite.protocol.records.record import read_records
from kafkalite.testing.checkers import ViolationError
from kafkalite.testing.observations import CommittedSeen
from kafkalite.types import READ_COMMITTED, TopicPartition
from tests.server.requests import fetch, fetched, raw
from tests.server.running import FETCH
from tests.simulation.cluster_clients import BACKOFF_MS
from tests.simulation.transaction_world import TransactionTalker

_AGAIN = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
}


class CommittedReader:
    """Reads on, and now and then again; in the end to the end, which must come."""

    def __init__(self, talker: TransactionTalker, partition: TopicPartition) -> None:
        self._talker = talker
        self._world = talker.world
        self._dice = talker.dice
        self._partition = partition
        self._position = 0

    async def run(self) -> None:
        while not await self._fetch() or not self._world.is_quiet:
            if not self._world.is_ending and self._dice.chance(0.1):
                self._position = self._dice.between(0, self._position)
            await self._world.sleep(self._dice.between(0, 800))
        self._talker.hang_up()

    async def _fetch(self) -> bool:
        """Whether it has come to the end of all that there is."""
        found = self._talker.leader_of(self._partition)
        if found is None:
            await self._world.sleep(BACKOFF_MS)
            return False
        id, image = found
        request = fetch(
            self._partition.topic,
            {self._partition.partition: self._position},
            max_wait_ms=self._dice.one_of([0, 100, 1_000]),
            partition_max_bytes=self._dice.one_of([50, 300, 1 << 20]),
            leader_epoch=image.leader_epoch,
        )
        request.isolation_level = READ_COMMITTED
        answer = await self._talker.ask(id, request, FETCH, FetchResponse)
        if answer is None:
            return False
        (data,) = fetched(answer)
        code = ErrorCode(data.error_code)
        # A follower may answer too, and is behind.
        is_behind = id != image.leader and code is ErrorCode.OFFSET_OUT_OF_RANGE
        if code in _AGAIN or is_behind:
            await self._world.sleep(BACKOFF_MS)
            return False
        if code:
            raise ViolationError(f"Fetch from {self._partition} gave {code.name}")
        self._take(data)
        return id == image.leader and self._position == data.high_watermark

    def _take(self, data: PartitionData) -> None:
        """As consumers do: without the transactions that the answer says were aborted."""
        coming = sorted(data.aborted_transactions or (), key=lambda each: each.first_offset)
        aborted: set[int] = set()
        records = raw(data)
        for position, header in iter_headers(records):
            while coming and coming[0].first_offset <= header.last_offset:
                aborted.add(coming.pop(0).producer_id)
            if header.is_control:
                aborted.discard(header.producer_id)
            elif header.producer_id not in aborted:
                for record in read_records(records, position, header):
                    if record.offset >= self._position:
                        value = bytes(record.value or b"")
                        self._world.tell(CommittedSeen(self._partition, record.offset, value))
            self._position = header.next_offset
