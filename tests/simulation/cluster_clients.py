"""Producers and consumers of a cluster, which look for the leader as it moves, and send again what
was not answered."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from kafkalite.errors import ErrorCode, ProtocolError
from kafkalite.metadata.image import PartitionImage
from kafkalite.protocol.messages.fetch import FetchResponse
from kafkalite.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkalite.protocol.messages.produce import PartitionProduceResponse, ProduceResponse
from kafkalite.protocol.schema import Request, Response
from kafkalite.testing.checkers import ViolationError
from kafkalite.testing.client import Client
from kafkalite.testing.cluster_checkers import (
    AcknowledgedAreKept,
    HighWatermarksRise,
    LogsAgree,
    OnceAndInOrder,
    OneIsrAnEpoch,
    OneLeaderAnEpoch,
)
from kafkalite.testing.record_checkers import values_in
from kafkalite.testing.simulation import Simulation
from kafkalite.types import TopicPartition
from tests.server.requests import batch, fetch, fetched, produce, produced, raw
from tests.simulation.cluster_machines import Machines, address
from tests.simulation.world import Dice

R = TypeVar("R", bound=Response)

TIMEOUT_MS = 2_000
BACKOFF_MS = 100
_PRODUCE, _FETCH, _INIT = 9, 12, 4
RETRIABLE = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
}


class ClusterWorld:
    """What everybody shares."""

    def __init__(self, simulation: Simulation, machines: Machines) -> None:
        self.simulation = simulation
        self.machines = machines
        self.clients: list[str] = []
        """Their nodes."""
        self.kept = AcknowledgedAreKept()
        self.leaders = OneLeaderAnEpoch()
        self.in_sync = OneIsrAnEpoch()
        self.high_watermarks = HighWatermarksRise()
        self.logs = LogsAgree()
        self.order = OnceAndInOrder()
        self.is_ending = False
        """Nothing bad happens any more; producers finish what they have begun."""
        self.is_quiet = False
        """Nobody writes any more; consumers stop."""

    async def sleep(self, ms: int) -> None:
        await self.simulation.sleep(ms)


class NotSentError(OSError):
    """There was no connection to be had."""


class Connections:
    """Those of one client to brokers: made where they are missing, given up on trouble."""

    def __init__(self, simulation: Simulation, name: str) -> None:
        self._clock = simulation.clock
        self._node = simulation.network.node(name)
        self._name = name
        self._clients: dict[int, Client] = {}

    async def ask(
        self, id: int, request: Request, version: int, response: type[R], timeout_ms: int
    ) -> R:
        """The answer; `NotSentError`; or `OSError` or `TimeoutError`: nobody knows what became of
        it."""
        until_ms = self._clock.now_ms() + timeout_ms
        if id not in self._clients:
            connecting = Client.connect(self._node, address(id), self._name)
            try:
                self._clients[id] = await self._clock.wait(connecting, until_ms)
            except (OSError, TimeoutError) as error:
                raise NotSentError(str(error)) from error
        try:
            asking = self._clients[id].send(request, version, response)
            return await self._clock.wait(asking, until_ms)
        except ProtocolError as error:
            raise ViolationError(f"an answer that cannot be read: {error}") from error
        except (OSError, TimeoutError):
            client = self._clients.pop(id, None)
            if client is not None:  # Else another request of the same client has met it too.
                client.close()
            raise

    def hang_up(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients.clear()


class ClusterTalker:
    """One client of a cluster."""

    def __init__(self, world: ClusterWorld, name: str, dice: Dice) -> None:
        self.world = world
        self.dice = dice
        self.name = name
        self._connections = Connections(world.simulation, name)
        self.hang_up = self._connections.hang_up
        world.clients.append(name)

    async def ask(self, id: int, request: Request, version: int, response: type[R]) -> R | None:
        """None when nobody knows what became of it."""
        try:
            return await self._connections.ask(id, request, version, response, TIMEOUT_MS)
        except (OSError, TimeoutError) as error:
            if not isinstance(error, NotSentError):
                self.world.machines.say(f"{self.name} has no answer")
            await self.world.sleep(BACKOFF_MS)
            return None

    async def ask_any(self, request: Request, version: int, response: type[R]) -> R | None:
        """As `ask`, of a broker that runs, if one does."""
        lives = sorted(self.world.machines.lives)
        if not lives:
            await self.world.sleep(BACKOFF_MS)
            return None
        return await self.ask(self.dice.one_of(lives), request, version, response)

    def leader_of(self, partition: TopicPartition) -> tuple[int, PartitionImage] | None:
        """The leader as the metadata has it, or now and then somebody else: metadata of clients is
        old."""
        image = self.world.machines.image.partition(partition.topic, partition.partition)
        if image is None or image.leader < 0:
            return None
        if self.dice.chance(0.03) and not self.world.is_ending:
            return self.dice.one_of(image.replicas), image
        return image.leader, image


class ClusterProducer:
    """One batch after the other, each until it is acknowledged, with acks=all."""

    def __init__(
        self, talker: ClusterTalker, partition: TopicPartition, *, is_idempotent: bool
    ) -> None:
        self._talker = talker
        self._partition = partition
        self._is_idempotent = is_idempotent
        self._producer_id = -1
        self._sequence = 0
        self.acknowledged = 0

    async def run(self) -> None:
        world, dice = self._talker.world, self._talker.dice
        while not world.is_ending:
            if self._is_idempotent and self._producer_id < 0:
                await self._begin()
                continue
            count = dice.between(1, 3)
            numbers = range(self.acknowledged, self.acknowledged + count)
            values = [f"{self._talker.name}-{number}".encode() for number in numbers]
            while not await self._send(values):
                pass
            self.acknowledged += count
            self._sequence += count
            await world.sleep(dice.between(0, 400))
        self._talker.hang_up()

    async def _begin(self) -> None:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        answer = await self._talker.ask_any(request, _INIT, InitProducerIdResponse)
        if answer is not None and answer.error_code == 0:
            self._producer_id = answer.producer_id

    async def _send(self, values: list[bytes]) -> bool:
        """Whether it was acknowledged."""
        talker = self._talker
        found = talker.leader_of(self._partition)
        if found is None:
            await talker.world.sleep(BACKOFF_MS)
            return False
        records = batch(
            *values,
            producer_id=self._producer_id,
            sequence=self._sequence if self._is_idempotent else -1,
        )
        request = produce(
            self._partition.topic, {self._partition.partition: records}, timeout_ms=1_000
        )
        response = await talker.ask(found[0], request, _PRODUCE, ProduceResponse)
        if response is None:
            return False
        (answer,) = produced(response)
        if answer.error_code == ErrorCode.NONE:
            for offset, value in enumerate(values, answer.base_offset):
                talker.world.kept.acknowledged(self._partition, offset, value)
            return True
        if answer.error_code not in RETRIABLE and not self._is_of_the_past(answer, found[0]):
            raise ViolationError(f"{talker.name}: {ErrorCode(answer.error_code).name}: {values}")
        await talker.world.sleep(BACKOFF_MS)
        return False

    def _is_of_the_past(self, answer: PartitionProduceResponse, id: int) -> bool:
        """Whether a broker that does not know yet that others lead misses what was sent to them."""
        topic, index = self._partition.topic, self._partition.partition
        image = self._talker.world.machines.image.partition(topic, index)
        return answer.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and (
            image is None or image.leader != id
        )


class ClusterConsumer:
    """Reads one partition, from its leader, from the beginning and again."""

    def __init__(self, talker: ClusterTalker, partition: TopicPartition) -> None:
        self._talker = talker
        self._partition = partition
        self._offset = 0

    async def run(self) -> None:
        world = self._talker.world
        while not world.is_quiet:
            await self.read()
            await world.sleep(self._talker.dice.between(0, 200))
        self._talker.hang_up()

    async def read(self) -> bool:
        """One fetch. Whether there was nothing more."""
        talker, world = self._talker, self._talker.world
        found = talker.leader_of(self._partition)
        if found is None:
            await world.sleep(BACKOFF_MS)
            return False
        id, image = found
        request = fetch(
            self._partition.topic,
            {self._partition.partition: self._offset},
            max_wait_ms=200,
            leader_epoch=image.leader_epoch,
        )
        response = await talker.ask(id, request, _FETCH, FetchResponse)
        if response is None:
            return False
        (data,) = fetched(response)
        if data.error_code != ErrorCode.NONE:
            start = world.kept.start_of(self._partition)
            if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and self._offset < start:
                self._offset = start
                return False
            is_behind = id != image.leader and data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
            if data.error_code not in RETRIABLE and not is_behind:
                raise ViolationError(f"{talker.name}: {ErrorCode(data.error_code).name}")
            await world.sleep(BACKOFF_MS)
            return False
        # A follower may answer too, and is behind.
        if id == image.leader and world.machines.leads(id, self._partition):
            world.high_watermarks.told(self._partition, image.leader_epoch, data.high_watermark)
        values = values_in(raw(data))
        for offset, value in values.items():
            if offset >= self._offset:
                world.kept.read(self._partition, offset, value)
        self._offset = max([self._offset, *(offset + 1 for offset in values)])
        return not values and self._offset >= data.high_watermark


async def gather(*runs: ClusterProducer | ClusterConsumer) -> None:
    async with asyncio.TaskGroup() as group:
        for each in runs:
            group.create_task(each.run())
