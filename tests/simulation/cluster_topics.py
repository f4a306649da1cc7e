"""What else happens to topics of a cluster: one comes and goes, with all that is in it, and from
another the oldest records are deleted, while replicas follow."""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.metadata.image import TopicImage
from kafkalite.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafkalite.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from kafkalite.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.testing.checkers import ViolationError
from kafkalite.types import TopicPartition
from tests.server.requests import batch, produce, produced
from tests.server.running import CREATE, creatable
from tests.simulation.cluster_clients import BACKOFF_MS, RETRIABLE, ClusterTalker
from tests.simulation.cluster_machines import PASSING, name_of

SHORT = "short"
"""Of it records are deleted."""
_PRODUCE, _DELETE, _DELETE_RECORDS = 13, 6, 2
"""Produce and DeleteTopics by id: what arrives late is not for another topic of that name."""
_GONE = (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


class PassingTopic:
    """Makes it, writes some records, and deletes it."""

    def __init__(self, talker: ClusterTalker, replicas: int) -> None:
        self._talker = talker
        self._replicas = replicas
        self._count = 0

    async def run(self) -> None:
        world = self._talker.world
        while not world.is_ending:
            topic = world.machines.image.topics.get(PASSING)
            if topic is None:
                await self._make()
                continue
            for _ in range(self._talker.dice.between(0, 8)):
                await self._write(topic)
            if not world.is_ending:
                await self._delete(topic)
        self._talker.hang_up()

    async def _make(self) -> None:
        wanted = creatable(PASSING, 1)
        wanted.replication_factor = self._replicas
        request = CreateTopicsRequest(topics=[wanted], timeout_ms=1_000)
        await self._talker.ask_any(request, CREATE, CreateTopicsResponse)
        await self._talker.world.sleep(BACKOFF_MS)  # Whatever it was told, the metadata has it.

    async def _delete(self, topic: TopicImage) -> None:
        self._talker.world.kept.gone(name_of(PASSING, topic.id, 0))
        request = DeleteTopicsRequest(
            topics=[DeleteTopicState(name=None, topic_id=topic.id)], timeout_ms=1_000
        )
        await self._talker.ask_any(request, _DELETE, DeleteTopicsResponse)
        await self._talker.world.sleep(self._talker.dice.between(0, 500))

    async def _write(self, topic: TopicImage) -> None:
        talker, world = self._talker, self._talker.world
        found = talker.leader_of(TopicPartition(PASSING, 0))
        if found is None:
            await world.sleep(BACKOFF_MS)
            return
        self._count += 1
        value = f"passing-{self._count}".encode()
        request = produce(topic.id, {0: batch(value)}, timeout_ms=1_000)
        response = await talker.ask(found[0], request, _PRODUCE, ProduceResponse)
        if response is None:
            return
        (answer,) = produced(response)
        code = ErrorCode(answer.error_code)
        if code is ErrorCode.NONE:
            world.kept.acknowledged(name_of(PASSING, topic.id, 0), answer.base_offset, value)
        elif code in RETRIABLE or code in _GONE:
            await world.sleep(BACKOFF_MS)
        else:
            raise ViolationError(f"{talker.name}: {code.name}")


class Deleter:
    """Deletes what is oldest in `SHORT`."""

    def __init__(self, talker: ClusterTalker) -> None:
        self._talker = talker

    async def run(self) -> None:
        talker, world = self._talker, self._talker.world
        partition = TopicPartition(SHORT, 0)
        while not world.is_ending:
            await world.sleep(talker.dice.between(300, 3_000))
            found, end = talker.leader_of(partition), world.kept.end_of(partition)
            if found is None:
                continue
            below = talker.dice.between(0, end)
            world.kept.deleted(partition, below)
            asked = DeleteRecordsPartition(partition_index=0, offset=below)
            request = DeleteRecordsRequest(
                topics=[DeleteRecordsTopic(name=SHORT, partitions=[asked])], timeout_ms=1_000
            )
            await talker.ask(found[0], request, _DELETE_RECORDS, DeleteRecordsResponse)
        talker.hang_up()
