"""Producers of transactions, as real ones are: each asks again until it knows, and who begins anew
has the id alone. Now and then one is given up amid a transaction, and comes back."""

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
from kafkalite.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
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
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.testing.observations import (
    StableOffsetSeen,
    StaleWriteAnswered,
    TransactionalOffsetSent,
    TransactionEndAsked,
    TransactionEnded,
    TransactionSent,
)
from kafkalite.types import ProducerEpoch, ProducerId, TimestampMs, TopicPartition
from tests.server.requests import produce, produced
from tests.simulation.transaction_world import GROUP, TRANSACTION, TransactionTalker

TIMEOUT_MS = 600_000
"""Longer than a run: whatever ends a transaction was asked for."""


@dataclass
class Writing:
    """A producer, as InitProducerId or the last EndTxn has it."""

    id: int
    epoch: int
    sequences: dict[TopicPartition, int]


class TransactionalWriter:
    """Writes a value to each of its partitions in every transaction, and commits the transaction's
    number as an offset of a group of its own."""

    def __init__(
        self, talker: TransactionTalker, partitions: tuple[TopicPartition, ...], *, bumps: bool
    ) -> None:
        """`bumps`: version 2 of the protocol."""
        self._talker = talker
        self._world = talker.world
        self._dice = talker.dice
        self._name = talker.name
        self._partitions = partitions
        self._bumps = bumps
        self._transactions = 0

    async def run(self) -> None:
        stale: Writing | None = None
        while not self._world.is_ending:
            producer = await self.begin()
            await self._look_at_offset()
            if stale is not None:
                await self.write_stale(stale, self._dice.one_of(self._partitions))
            for _ in range(self._dice.between(1, 6)):
                await self._transact(producer, leaves=False)
                await self._world.sleep(self._dice.between(0, 1_000))
            await self._transact(producer, leaves=True)
            stale = producer
        await self.begin()  # It ends what was left open.
        self._talker.hang_up()

    async def begin(self) -> Writing:
        """As another producer of the id; what the one before left open is over then."""
        request = InitProducerIdRequest(
            transactional_id=self._name, transaction_timeout_ms=TIMEOUT_MS
        )
        given = await self._talker.ask_coordinator(
            TRANSACTION, self._name, request, 4, InitProducerIdResponse, lambda a: a.error_code
        )
        return Writing(given.producer_id, given.producer_epoch, dict.fromkeys(self._partitions, 0))

    async def _transact(self, producer: Writing, *, leaves: bool) -> None:
        """`leaves`: it stays open, maybe not with all of its values."""
        name = await self.write(
            producer,
            commits_offset=self._dice.chance(0.5),
            leaves=leaves and self._dice.chance(0.5),
        )
        if not leaves:
            await self.end(producer, name, commits=self._dice.chance(0.7))
            await self._look_at_offset()

    async def write(
        self, producer: Writing, *, commits_offset: bool = True, leaves: bool = False
    ) -> str:
        """All of a transaction but its end; maybe not all, if it `leaves`. Its name."""
        self._transactions += 1
        name = f"{self._name}/{self._transactions}"
        values = {each: f"{name} in {each}".encode() for each in self._partitions}
        self._world.tell(TransactionSent(name, values))
        if commits_offset:
            self._world.tell(TransactionalOffsetSent(name, self._name, self._transactions))
            await self._commit_offset(producer, self._transactions)
        for partition, value in values.items():
            if leaves and self._dice.chance(0.3):
                break
            if not self._bumps:
                await self._add(producer, partition)
            await self._talker.ask_leader(
                partition,
                lambda: self._request(producer, partition, value),  # noqa: B023  # It is awaited here.
                self._produce_version,
                ProduceResponse,
                _produced,
            )
            producer.sequences[partition] += 1
        return name

    async def _add(self, producer: Writing, partition: TopicPartition) -> None:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._name,
            v3_and_below_producer_id=producer.id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=partition.topic, partitions=[partition.partition])
            ],
        )
        await self._talker.ask_coordinator(
            TRANSACTION,
            self._name,
            request,
            3,
            AddPartitionsToTxnResponse,
            lambda answer: (
                answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
            ),
        )

    @property
    def _produce_version(self) -> int:
        return 12 if self._bumps else 11

    def _request(
        self, producer: Writing, partition: TopicPartition, value: bytes
    ) -> ProduceRequest:
        batch = build_batch(
            [Record(None, value, timestamp=TimestampMs(self._world.simulation.clock.now_ms()))],
            producer_id=ProducerId(producer.id),
            producer_epoch=ProducerEpoch(producer.epoch),
            base_sequence=producer.sequences[partition],
            is_transactional=True,
        )
        request = produce(
            partition.topic, {partition.partition: bytes(batch)}, acks=-1, timeout_ms=1_000
        )
        request.transactional_id = self._name
        return request

    async def _commit_offset(self, producer: Writing, offset: int) -> None:
        if not self._bumps:
            adds = AddOffsetsToTxnRequest(
                transactional_id=self._name,
                producer_id=producer.id,
                producer_epoch=producer.epoch,
                group_id=self._name,
            )
            await self._talker.ask_coordinator(
                TRANSACTION, self._name, adds, 3, AddOffsetsToTxnResponse, lambda a: a.error_code
            )
        partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        request = TxnOffsetCommitRequest(
            transactional_id=self._name,
            group_id=self._name,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            topics=[
                TxnOffsetCommitRequestTopic(name=self._partitions[0].topic, partitions=[partition])
            ],
        )
        await self._talker.ask_coordinator(
            GROUP,
            self._name,
            request,
            5 if self._bumps else 3,
            TxnOffsetCommitResponse,
            lambda answer: answer.topics[0].partitions[0].error_code,
        )

    async def _look_at_offset(self) -> None:
        self._world.tell(StableOffsetSeen(self._name, await self.stable_offset()))

    async def stable_offset(self) -> int:
        """Of its group, once none is on its way; -1: none."""
        topic = OffsetFetchRequestTopics(name=self._partitions[0].topic, partition_indexes=[0])
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group_id=self._name, topics=[topic])],
            require_stable=True,
        )
        answer = await self._talker.ask_coordinator(
            GROUP, self._name, request, 8, OffsetFetchResponse, _fetched
        )
        return answer.groups[0].topics[0].partitions[0].committed_offset

    async def end(self, producer: Writing, name: str, *, commits: bool) -> None:
        """Until the broker says that it has ended so."""
        request = self._end_request(producer, name, commits=commits)
        answer = await self._talker.ask_coordinator(
            TRANSACTION,
            self._name,
            request,
            self._end_version,
            EndTxnResponse,
            lambda answer: answer.error_code,
        )
        self._world.tell(TransactionEnded(name, commits))
        if self._bumps:
            producer.id, producer.epoch = answer.producer_id, answer.producer_epoch
            producer.sequences = dict.fromkeys(self._partitions, 0)

    async def ask_to_end(self, producer: Writing, name: str, *, commits: bool) -> None:
        """Once, whatever becomes of it."""
        request = self._end_request(producer, name, commits=commits)
        id = await self._talker.coordinator(TRANSACTION, self._name)
        assert id is not None
        await self._talker.ask(id, request, self._end_version, EndTxnResponse)

    @property
    def _end_version(self) -> int:
        return 5 if self._bumps else 4

    def _end_request(self, producer: Writing, name: str, *, commits: bool) -> EndTxnRequest:
        self._world.tell(TransactionEndAsked(name, commits))
        return EndTxnRequest(
            transactional_id=self._name,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            committed=commits,
        )

    async def write_stale(self, stale: Writing, partition: TopicPartition) -> ErrorCode | None:
        """As the producer of before, once there is another. None when nobody knows what became of
        it."""
        value = f"{self._name}, stale, {self._world.token()}".encode()
        self._world.tell(TransactionSent(value.decode(), {partition: value}))
        found = self._talker.leader_of(partition)
        if found is None:
            return None
        request = self._request(stale, partition, value)
        answer = await self._talker.ask(found[0], request, self._produce_version, ProduceResponse)
        if answer is None:
            return None
        code = ErrorCode(_produced(answer))
        self._world.tell(StaleWriteAnswered(self._name, code))
        return code


def _produced(answer: ProduceResponse) -> int:
    return produced(answer)[0].error_code


def _fetched(answer: OffsetFetchResponse) -> int:
    (group,) = answer.groups
    return group.error_code or group.topics[0].partitions[0].error_code
