"""Producers of transactions, as real ones are: each asks again until it knows, and who begins anew
has the id alone. Now and then one is given up amid a transaction, and comes back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from kafkalite.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafkalite.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafkalite.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.testing.checkers import ViolationError
from kafkalite.testing.observations import (
    StaleWriteAnswered,
    TransactionEndAsked,
    TransactionEnded,
    TransactionSent,
)
from kafkalite.types import ProducerEpoch, ProducerId, TimestampMs, TopicPartition
from tests.server.requests import produce
from tests.simulation.world import BACKOFF_MS, Talker, World

R = TypeVar("R")
TIMEOUT_MS = 600_000
"""Longer than a run: whatever ends a transaction was asked for."""
_AGAIN = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.NOT_CONTROLLER,
}


@dataclass
class _Producer:
    """As InitProducerId or the last EndTxn has it."""

    id: int
    epoch: int
    sequences: dict[TopicPartition, int]


class TransactionalWriter:
    """Writes a value to each of its partitions in every transaction."""

    def __init__(
        self, world: World, name: str, partitions: tuple[TopicPartition, ...], *, bumps: bool
    ) -> None:
        """`bumps`: version 2 of the protocol."""
        self._world = world
        self._dice = world.dice(name)
        self._talker = Talker(world, name)
        self._partitions = partitions
        self._bumps = bumps
        self._name = name
        self._transactions = 0
        world.nodes.add(name)

    async def run(self) -> None:
        stale: _Producer | None = None
        while not self._world.is_ending:
            producer = await self._begin()
            if stale is not None:
                await self._write_stale(stale)
            for _ in range(self._dice.between(1, 6)):
                await self._transact(producer, leaves=False)
                await self._world.sleep(self._dice.between(0, 400))
            await self._transact(producer, leaves=True)
            stale = producer
        await self._begin()  # It ends what was left open.
        self._talker.hang_up()

    async def _begin(self) -> _Producer:
        find = FindCoordinatorRequest(key_type=1, key=self._name)
        await self._until_good(
            lambda: self._talker.ask(find, 3, FindCoordinatorResponse), lambda a: a.error_code
        )
        init = InitProducerIdRequest(transactional_id=self._name, transaction_timeout_ms=TIMEOUT_MS)
        given = await self._until_good(
            lambda: self._talker.ask(init, 4, InitProducerIdResponse), lambda a: a.error_code
        )
        return _Producer(
            given.producer_id, given.producer_epoch, dict.fromkeys(self._partitions, 0)
        )

    async def _transact(self, producer: _Producer, *, leaves: bool) -> None:
        """`leaves`: it stays open, maybe not with all of its values."""
        self._transactions += 1
        name = f"{self._name}/{self._transactions}"
        values = {each: f"{name} in {each}".encode() for each in self._partitions}
        self._world.tell(TransactionSent(name, values))
        for partition, value in values.items():
            if leaves and self._dice.chance(0.3):
                return
            if not self._bumps:
                await self._add(producer, partition)
            await self._until_good(
                lambda: self._send(producer, partition, value),  # noqa: B023  # It is awaited here.
                _produced,
            )
            producer.sequences[partition] += 1
        if not leaves:
            await self._end(producer, name, commits=self._dice.chance(0.7))

    async def _add(self, producer: _Producer, partition: TopicPartition) -> None:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._name,
            v3_and_below_producer_id=producer.id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=partition.topic, partitions=[partition.partition])
            ],
        )
        await self._until_good(
            lambda: self._talker.ask(request, 3, AddPartitionsToTxnResponse),
            lambda answer: (
                answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
            ),
        )

    async def _send(
        self, producer: _Producer, partition: TopicPartition, value: bytes
    ) -> ProduceResponse | None:
        now = TimestampMs(self._world.clock.now_ms())
        batch = build_batch(
            [Record(None, value, timestamp=now)],
            producer_id=ProducerId(producer.id),
            producer_epoch=ProducerEpoch(producer.epoch),
            base_sequence=producer.sequences[partition],
            is_transactional=True,
        )
        request = produce(partition.topic, {partition.partition: bytes(batch)}, acks=-1)
        request.transactional_id = self._name
        return await self._talker.ask(request, 12 if self._bumps else 11, ProduceResponse)

    async def _end(self, producer: _Producer, name: str, *, commits: bool) -> None:
        request = EndTxnRequest(
            transactional_id=self._name,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            committed=commits,
        )
        self._world.tell(TransactionEndAsked(name, commits))
        answer = await self._until_good(
            lambda: self._talker.ask(request, 5 if self._bumps else 4, EndTxnResponse),
            lambda answer: answer.error_code,
        )
        self._world.tell(TransactionEnded(name, commits))
        if self._bumps:
            producer.id, producer.epoch = answer.producer_id, answer.producer_epoch
            producer.sequences = dict.fromkeys(self._partitions, 0)

    async def _write_stale(self, stale: _Producer) -> None:
        """As the producer of before, once there is another."""
        partition = self._dice.one_of(self._partitions)
        value = f"{self._name}, stale, {self._world.token()}".encode()
        self._world.tell(TransactionSent(value.decode(), {partition: value}))
        answer = await self._send(stale, partition, value)
        if answer is not None:
            code = ErrorCode(_produced(answer))
            self._world.tell(StaleWriteAnswered(self._name, code))

    async def _until_good(
        self, ask: Callable[[], Awaitable[R | None]], code_of: Callable[[R], int]
    ) -> R:
        """The first answer without an error. `ViolationError` for one that nothing excuses."""
        while True:
            answer = await ask()
            if answer is None:
                continue
            code = ErrorCode(code_of(answer))
            if code is ErrorCode.NONE:
                return answer
            if code not in _AGAIN:
                raise ViolationError(f"{self._name}: {type(answer).__name__} gave {code.name}")
            await self._world.sleep(BACKOFF_MS)


def _produced(answer: ProduceResponse) -> int:
    return answer.responses[0].partition_responses[0].error_code
