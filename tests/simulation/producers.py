"""A producer that does what real ones do: it sends again what was not answered, in the same order,
and begins anew with another producer id where its old one has no future."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkalite.protocol.messages.produce import PartitionProduceResponse, ProduceResponse
from kafkalite.testing.checkers import ViolationError
from kafkalite.testing.observations import ProducerIdGiven, RecordsAcknowledged, RecordsSent
from kafkalite.types import NO_PRODUCER_ID, TopicPartition
from tests.server.requests import batch, produce
from tests.simulation.world import BACKOFF_MS, Talker, World

PRODUCE, PRODUCE_BY_ID, INIT_PRODUCER_ID = 9, 13, 4
MOST_IN_FLIGHT = 5
"""What an idempotent producer may have under way, since a broker knows the last five batches."""
_AGAIN = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_CONTROLLER,
}
_ANEW = {
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.INVALID_PRODUCER_EPOCH,
}


@dataclass(eq=False)
class _Batch:
    values: tuple[bytes, ...]
    sequence: int
    first_life: int
    """Of the broker, in which it was made."""
    answer: asyncio.Future[ProduceResponse] | None = None
    era: int = 0
    """Of the world, when it was last sent."""


class Producer:
    """Sends to one partition until the world ends, and then until all it sent is acknowledged."""

    def __init__(
        self,
        world: World,
        name: str,
        partition: TopicPartition,
        *,
        acks: int = -1,
        is_idempotent: bool,
        roams: bool = False,
    ) -> None:
        """One that roams goes to another of the world's partitions now and then."""
        self._world = world
        self._dice = world.dice(name)
        self._talker = Talker(world, name)
        self._partition = partition
        self._acks = acks
        self._is_idempotent = is_idempotent
        self._roams = roams
        self._producer_id = int(NO_PRODUCER_ID)
        self._may_lose_its_place = False
        """A disk refused a batch since the id was given. The broker may have taken the next one: it
        lets a producer that it does not know begin with any sequence."""
        self._era_of_id = 0
        """Of the world, when the id was given."""
        self._next_sequence = 0
        self._sent = 0
        self._in_flight: deque[_Batch] = deque()
        self.name = name
        world.nodes.add(name)

    async def run(self) -> None:
        most = MOST_IN_FLIGHT if self._is_idempotent else 1
        while self._in_flight or not self._world.is_ending:
            if self._roams:
                self._roam()
            if self._is_idempotent and self._producer_id < 0:
                await self._begin()
                continue
            if self._is_idempotent and not self._in_flight and self._dice.chance(0.05):
                self._producer_id = int(NO_PRODUCER_ID)  # As if it had been started again.
                continue
            if not self._world.is_ending:
                for _ in range(self._dice.between(1, most)):
                    if len(self._in_flight) < most:
                        self._make()
            await self._settle()
            await self._world.sleep(self._dice.between(0, 1_600))
        self._talker.hang_up()

    def _roam(self) -> None:
        """Away from a topic that is gone, in the midst of things; and elsewhere for a change."""
        topics = self._world.topics
        is_gone = self._partition.topic not in topics
        if is_gone or (not self._in_flight and self._dice.chance(0.1)):
            topic = self._dice.one_of(list(topics))
            self._partition = TopicPartition(topic, self._dice.between(0, topics[topic] - 1))
            self._in_flight.clear()
            self._producer_id = int(NO_PRODUCER_ID)

    async def _begin(self) -> None:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        answer = await self._talker.ask(request, INIT_PRODUCER_ID, InitProducerIdResponse)
        if answer is None:
            return
        if answer.error_code in _AGAIN:
            await self._world.sleep(BACKOFF_MS)
        elif answer.error_code:
            raise ViolationError(f"{self.name}: InitProducerId gave {answer.error_code}")
        else:
            self._world.tell(ProducerIdGiven(answer.producer_id, answer.producer_epoch))
            self._producer_id, self._next_sequence = answer.producer_id, 0
            self._era_of_id = self._world.era
            self._may_lose_its_place = False

    def _make(self) -> None:
        count = self._dice.between(1, 4)
        padding = b"." * self._dice.between(0, 200)
        values = tuple(f"{self.name}/{self._sent + n} ".encode() + padding for n in range(count))
        self._sent += count
        self._in_flight.append(_Batch(values, self._next_sequence, self._world.lives))
        self._next_sequence += count

    async def _settle(self) -> None:
        """Send what is not under way, and take the answers, the oldest first."""
        client = await self._talker.client()
        if client is None:
            return
        for each in self._in_flight:
            if each.answer is None:
                self._world.tell(
                    RecordsSent(self._partition, self.name, each.values, self._is_idempotent)
                )
                records = batch(
                    *each.values,
                    timestamp=self._world.clock.now_ms(),
                    producer_id=self._producer_id,
                    sequence=each.sequence if self._is_idempotent else -1,
                )
                topic = self._partition.topic
                by_id = self._dice.chance(0.5) and topic in self._world.topic_ids
                request = produce(
                    self._world.topic_ids[topic] if by_id else topic,
                    {self._partition.partition: records},
                    acks=self._acks,
                    timeout_ms=2_000,
                )
                each.era = self._world.era
                each.answer = client.send(
                    request, PRODUCE_BY_ID if by_id else PRODUCE, ProduceResponse
                )
        clock, was_calm = self._world.clock, self._world.is_ending
        while self._in_flight:
            waited = self._in_flight[0].answer
            assert waited is not None
            try:
                answer = await clock.wait(waited, clock.now_ms() + 5_000)
            except (OSError, TimeoutError) as error:
                if was_calm and isinstance(error, TimeoutError):
                    raise ViolationError("no answer to Produce, with nothing in its way") from error
                await self._again()
                return
            if not await self._take(answer.responses[0].partition_responses[0]):
                return

    async def _take(self, answer: PartitionProduceResponse) -> bool:
        """The answer to the oldest batch. Whether the next one's can be taken."""
        code = ErrorCode(answer.error_code)
        if code is ErrorCode.NONE:
            settled = self._in_flight.popleft()
            if settled.era == self._world.era:  # Else it is no news.
                self._world.tell(
                    RecordsAcknowledged(
                        self._partition, self.name, answer.base_offset, settled.values
                    )
                )
            return True
        if code in _AGAIN:
            self._may_lose_its_place |= code is ErrorCode.KAFKA_STORAGE_ERROR
            await self._again()
        elif code in _ANEW and self._is_idempotent:
            if not self._has_excuse(self._in_flight[0]):
                raise ViolationError(f"{self.name}: {code.name}, and nothing had happened")
            self._hang_up()
            self._in_flight.clear()  # Whether these were kept, nobody knows.
            self._producer_id = int(NO_PRODUCER_ID)
        else:
            raise ViolationError(f"{self.name}: Produce gave {code.name}")
        return False

    def _has_excuse(self, batch: _Batch) -> bool:
        """A broker may have lost this producer's place: with the power, by a disk that refused, or
        in a restart, since snapshots have the last of each producer's batches alone."""
        return (
            self._world.era > self._era_of_id
            or self._may_lose_its_place
            or self._world.lives > batch.first_life
        )

    async def _again(self) -> None:
        """On a new connection, in the same order."""
        self._hang_up()
        await self._world.sleep(BACKOFF_MS)

    def _hang_up(self) -> None:
        """What was answered, and not looked at, is no news."""
        self._talker.hang_up()
        for each in self._in_flight:
            answer, each.answer = each.answer, None
            if answer is not None and not answer.cancel() and not answer.cancelled():
                answer.exception()
