"""Short ways to ask about transactions, for tests of a whole broker."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from kafkalite.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from kafkalite.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafkalite.protocol.messages.fetch import FetchResponse, PartitionData
from kafkalite.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafkalite.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkalite.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kafkalite.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from kafkalite.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkalite.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from kafkalite.protocol.records.batch import iter_headers
from kafkalite.protocol.records.record import Record, build_batch, read_records
from kafkalite.types import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    ProducerEpoch,
    ProducerId,
    TimestampMs,
)
from tests.server.requests import fetch, produce, raw
from tests.server.running import FETCH, Running

ID = "mine"
TIMEOUT_MS = 60_000
LATEST = -1


async def find_coordinator(running: Running, id: str = ID) -> None:
    """Have `__transaction_state` made."""
    request = FindCoordinatorRequest(key_type=1, key=id)
    response = await (await running.client()).ask(request, 3, FindCoordinatorResponse)
    assert response.error_code == ErrorCode.NONE, response


async def init(
    running: Running, id: str = ID, *, timeout_ms: int = TIMEOUT_MS, version: int = 5
) -> InitProducerIdResponse:
    request = InitProducerIdRequest(transactional_id=id, transaction_timeout_ms=timeout_ms)
    return await (await running.client()).ask(request, version, InitProducerIdResponse)


@dataclass
class TransactionalProducer:
    """A client that writes transactions: version 1 of the protocol as older clients do, or 2."""

    running: Running
    id: str
    producer_id: int
    epoch: int
    bumps: bool = False
    sequence: int = 0

    @classmethod
    async def begin(
        cls,
        running: Running,
        id: str = ID,
        *,
        timeout_ms: int = TIMEOUT_MS,
        bumps: bool = False,
    ) -> TransactionalProducer:
        """Initialized, after as many tries as that takes."""
        await find_coordinator(running, id)
        while True:
            given = await init(running, id, timeout_ms=timeout_ms)
            if given.error_code != ErrorCode.CONCURRENT_TRANSACTIONS:
                break
            await running.wait_ms(20)
        assert given.error_code == ErrorCode.NONE, given
        return cls(running, id, given.producer_id, given.producer_epoch, bumps)

    async def add(self, topic: str, *partitions: int, version: int = 3) -> ErrorCode:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=topic, partitions=list(partitions or (0,)))
            ],
        )
        client = await self.running.client()
        response = await client.ask(request, version, AddPartitionsToTxnResponse)
        (result,) = response.results_by_topic_v3_and_below
        return ErrorCode(result.results_by_partition[0].partition_error_code)

    async def send(self, topic: str, *contents: bytes, partition: int = 0) -> ErrorCode:
        """One batch, of which version 2 of the protocol adds the partition."""
        request = self.request(topic, *contents, partition=partition)
        client = await self.running.client()
        response = await client.ask(request, 12 if self.bumps else 11, ProduceResponse)
        code = ErrorCode(response.responses[0].partition_responses[0].error_code)
        if code is ErrorCode.NONE:
            self.sequence += len(contents)
        return code

    def request(
        self, topic: str, *contents: bytes, partition: int = 0, acks: int = -1
    ) -> ProduceRequest:
        """One batch, not sent yet."""
        now = TimestampMs(self.running.simulation.clock.now_ms())
        batch = build_batch(
            [Record(None, value, timestamp=now) for value in contents],
            producer_id=ProducerId(self.producer_id),
            producer_epoch=ProducerEpoch(self.epoch),
            base_sequence=self.sequence,
            is_transactional=True,
        )
        request = produce(topic, {partition: bytes(batch)}, acks=acks)
        request.transactional_id = self.id
        return request

    async def write(self, topic: str, *contents: bytes, partition: int = 0) -> None:
        """As clients do: add, and send."""
        if not self.bumps:
            assert await self.add(topic, partition) is ErrorCode.NONE
        assert await self.send(topic, *contents, partition=partition) is ErrorCode.NONE

    async def end(self, *, commits: bool, version: int | None = None) -> ErrorCode:
        """EndTxn; under version 2 the producer goes on as it is told."""
        request = EndTxnRequest(
            transactional_id=self.id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commits,
        )
        if version is None:
            version = 5 if self.bumps else 4
        response = await (await self.running.client()).ask(request, version, EndTxnResponse)
        if response.error_code == ErrorCode.NONE and version >= 5:
            self.producer_id, self.epoch = response.producer_id, response.producer_epoch
            self.sequence = 0
        return ErrorCode(response.error_code)

    async def add_offsets(self, group: str = "group") -> ErrorCode:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            group_id=group,
        )
        client = await self.running.client()
        response = await client.ask(request, 3, AddOffsetsToTxnResponse)
        return ErrorCode(response.error_code)

    async def commit_offset(
        self, topic: str, offset: int, *, group: str = "group", version: int | None = None
    ) -> ErrorCode:
        if version is None:
            version = 5 if self.bumps else 3
        partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        topics = TxnOffsetCommitRequestTopic(name=topic, partitions=[partition])
        if version >= 6:
            topics = TxnOffsetCommitRequestTopic(
                topic_id=self.running.topic(topic).id, partitions=[partition]
            )
        request = TxnOffsetCommitRequest(
            transactional_id=self.id,
            group_id=group,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            topics=[topics],
        )
        client = await self.running.client()
        response = await client.ask(request, version, TxnOffsetCommitResponse)
        return ErrorCode(response.topics[0].partitions[0].error_code)


async def read_committed(running: Running, topic: str, offset: int = 0) -> PartitionData:
    request = fetch(topic, {0: offset})
    request.isolation_level = READ_COMMITTED
    response = await (await running.client()).ask(request, FETCH, FetchResponse)
    return response.responses[0].partitions[0]


async def seen(running: Running, topic: str, offset: int = 0) -> list[bytes]:
    """The values that a consumer of what is committed shows: without those of the transactions
    that it was told were aborted."""
    data = await read_committed(running, topic, offset)
    assert data.error_code == ErrorCode.NONE
    coming = sorted(data.aborted_transactions or (), key=lambda each: each.first_offset)
    aborted: set[int] = set()
    found: list[bytes] = []
    records = raw(data)
    for position, header in iter_headers(records):
        while coming and coming[0].first_offset <= header.last_offset:
            aborted.add(coming.pop(0).producer_id)
        each = read_records(records, position, header)
        if header.is_control:
            aborted.discard(header.producer_id)
        elif header.producer_id not in aborted or not header.is_transactional:
            found += [bytes(record.value or b"") for record in each]
    return found


async def latest(running: Running, topic: str, *, committed: bool) -> int:
    asked = ListOffsetsPartition(partition_index=0, timestamp=LATEST, current_leader_epoch=-1)
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=READ_COMMITTED if committed else READ_UNCOMMITTED,
        topics=[ListOffsetsTopic(name=topic, partitions=[asked])],
    )
    response = await (await running.client()).ask(request, 6, ListOffsetsResponse)
    return response.topics[0].partitions[0].offset


async def committed_offset(
    running: Running, *, group: str = "group", topic: str = "topic", stable: bool = True
) -> tuple[int, ErrorCode]:
    """Of partition 0, and the code."""
    request = OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(
                group_id=group,
                topics=[OffsetFetchRequestTopics(name=topic, partition_indexes=[0])],
            )
        ],
        require_stable=stable,
    )
    response = await (await running.client()).ask(request, 8, OffsetFetchResponse)
    answer = response.groups[0].topics[0].partitions[0]
    return answer.committed_offset, ErrorCode(answer.error_code)
