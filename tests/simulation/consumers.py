"""Those who read without a group: consumers that wander over a partition they were assigned, and
the inspector, who reads everything while nobody writes."""

from __future__ import annotations

from collections.abc import Iterable

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafkalite.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from kafkalite.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kafkalite.protocol.messages.fetch import FetchResponse, PartitionData
from kafkalite.protocol.messages.list_offsets import ListOffsetsResponse
from kafkalite.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafkalite.protocol.records.batch import iter_headers
from kafkalite.testing.checkers import ViolationError
from kafkalite.testing.observations import (
    DeletionSent,
    HighWatermarkSeen,
    PartitionAsked,
    PartitionInspected,
    PowerLost,
    RecordsDeleted,
    RecordsFetched,
    TopicDeleted,
    TopicSeen,
)
from kafkalite.testing.record_checkers import values_in
from kafkalite.types import TopicPartition, Uuid
from tests.server.requests import MIB, fetch, list_offsets, raw
from tests.simulation.world import BACKOFF_MS, Talker, World

FETCH, FETCH_BY_ID = 12, 18
LIST_OFFSETS, METADATA, CREATE_TOPICS = 6, 12, 7
DELETE_TOPICS, DELETE_RECORDS = 5, 2
LATEST, EARLIEST = -1, -2
AGAIN = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.OFFSET_NOT_AVAILABLE,
}


class Reader:
    """Asks for records and offsets of one partition, and tells what it saw."""

    def __init__(self, world: World, talker: Talker, partition: TopicPartition) -> None:
        self._world = world
        self._talker = talker
        self._dice = world.dice(f"reader of {partition}")
        self.partition = partition
        self._era_seen = 0

    async def fetch(
        self, offset: int, *, max_wait_ms: int = 0, min_bytes: int = 1, max_bytes: int = MIB
    ) -> RecordsFetched | None:
        """What is there from `offset` on. None: nothing is known, ask again. `OffsetGoneError`
        where that is no wonder."""
        topic, index = self.partition.topic, self.partition.partition
        by_id = self._dice.chance(0.5) and topic in self._world.topic_ids
        request = fetch(
            self._world.topic_ids[topic] if by_id else topic,
            {index: offset},
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            partition_max_bytes=max_bytes,
        )
        token = self._world.token()
        era = self._world.era
        self._world.tell(PartitionAsked(token, self.partition))
        answer = await self._talker.ask(request, FETCH_BY_ID if by_id else FETCH, FetchResponse)
        if answer is None or self._world.era != era:
            return None
        data = answer.responses[0].partitions[0]
        if not await self._is_good(data, offset):
            return None
        self._world.tell(HighWatermarkSeen(token, self.partition, data.high_watermark))
        seen = RecordsFetched(self.partition, offset, data.high_watermark, raw(data))
        self._world.tell(seen)
        return seen

    async def _is_good(self, data: PartitionData, offset: int) -> bool:
        code = ErrorCode(data.error_code)
        if code is ErrorCode.NONE:
            return True
        if code is ErrorCode.OFFSET_OUT_OF_RANGE and (
            self._world.era > self._era_seen or offset < self._world.deleted.get(self.partition, 0)
        ):
            self._era_seen = self._world.era
            raise OffsetGoneError
        if code not in AGAIN:
            raise ViolationError(f"Fetch from {self.partition} gave {code.name}")
        await self._world.sleep(BACKOFF_MS)
        return False

    async def start(self) -> int:
        """The earliest offset."""
        while (offset := await self.offset(EARLIEST)) is None:
            pass
        return offset

    async def offset(self, timestamp: int, *, is_told: bool = True) -> int | None:
        """The earliest or latest offset."""
        topic, index = self.partition.topic, self.partition.partition
        token = self._world.token()
        era = self._world.era
        if is_told:
            self._world.tell(PartitionAsked(token, self.partition))
        answer = await self._talker.ask(
            list_offsets(topic, (index, timestamp)), LIST_OFFSETS, ListOffsetsResponse
        )
        if answer is None or self._world.era != era:
            return None
        data = answer.topics[0].partitions[0]
        if data.error_code in AGAIN:
            await self._world.sleep(BACKOFF_MS)
            return None
        if data.error_code:
            raise ViolationError(f"ListOffsets of {self.partition} gave {data.error_code}")
        if is_told and timestamp == LATEST:
            self._world.tell(HighWatermarkSeen(token, self.partition, data.offset))
        return data.offset


class OffsetGoneError(Exception):
    """Where the reader was, the log has ended, or begins later, since."""


class Consumer:
    """Reads on, reads again, and looks how far it could."""

    def __init__(self, world: World, name: str, partition: TopicPartition) -> None:
        self._world = world
        self._dice = world.dice(name)
        self._talker = Talker(world, name)
        self._reader = Reader(world, self._talker, partition)
        self._position = 0
        world.nodes.add(name)

    async def run(self) -> None:
        dice = self._dice
        while not self._world.is_ending:
            if dice.chance(0.1):
                self._position = dice.between(0, self._position)
            elif dice.chance(0.1):
                await self._reader.offset(LATEST)
            try:
                seen = await self._reader.fetch(
                    self._position,
                    max_wait_ms=dice.one_of([0, 100, 1_000]),
                    min_bytes=dice.one_of([1, 1, 500]),
                    max_bytes=dice.one_of([50, 300, MIB]),
                )
            except OffsetGoneError:
                self._position, seen = await self._reader.start(), None
            if seen is not None:
                for _, header in iter_headers(seen.data):
                    self._position = header.next_offset
            await self._world.sleep(dice.between(0, 1_200))
        self._talker.hang_up()


class Inspector:
    """Sees to topics, and reads everything. No fault but those of the weather come to it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._talker = Talker(world, "inspector")

    async def check_topics(self) -> None:
        """Tell which are there."""
        topics = await self._see_topics()
        for name in self._world.topics:
            self._world.tell(TopicSeen(name, topics.get(name)))

    async def _see_topics(self) -> dict[str, Uuid]:
        """Of the world's topics, those that are there."""
        names = [MetadataRequestTopic(name=name) for name in self._world.topics]
        request = MetadataRequest(topics=names, allow_auto_topic_creation=False)
        while (answer := await self._talker.ask(request, METADATA, MetadataResponse)) is None:
            pass
        return {str(topic.name): topic.topic_id for topic in answer.topics if not topic.error_code}

    async def make_topics(self) -> None:
        """Those that there should be and are not."""
        while True:
            there = await self._see_topics()
            missing = [name for name in self._world.topics if name not in there]
            for name, topic_id in there.items():
                self._world.tell(TopicSeen(name, topic_id))
            if not missing:
                return
            request = CreateTopicsRequest(
                topics=[
                    CreatableTopic(
                        name=name,
                        num_partitions=self._world.topics[name],
                        replication_factor=1,
                        configs=[CreatableTopicConfig(name="segment.ms", value="3000")],
                    )
                    for name in missing
                ],
                timeout_ms=1_000,
            )
            answer = await self._talker.ask(request, CREATE_TOPICS, CreateTopicsResponse)
            for topic in answer.topics if answer else ():
                if topic.error_code == ErrorCode.NONE:
                    self._world.tell(TopicSeen(topic.name, topic.topic_id))
            await self._world.sleep(BACKOFF_MS)

    async def delete_topic(self, name: str) -> None:
        """Return when it is gone."""
        del self._world.topics[name]
        self._world.tell(TopicDeleted(name))
        request = DeleteTopicsRequest(topic_names=[name], timeout_ms=1_000)
        gone = (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        while True:
            answer = await self._talker.ask(request, DELETE_TOPICS, DeleteTopicsResponse)
            if answer is not None and answer.responses[0].error_code in gone:
                break
            await self._world.sleep(BACKOFF_MS)
        self._world.tell(TopicDeleted(name))

    async def delete_records(self, partition: TopicPartition, share: float) -> None:
        """Below some offset: that share of all there are."""
        reader = Reader(self._world, self._talker, partition)
        start, end = await reader.start(), await self._end(reader)
        offset = start + int((end - start) * share)
        self._world.tell(DeletionSent(partition, offset))
        asked = DeleteRecordsPartition(partition_index=partition.partition, offset=offset)
        topic = DeleteRecordsTopic(name=partition.topic, partitions=[asked])
        request = DeleteRecordsRequest(topics=[topic], timeout_ms=1_000)
        answer = await self._talker.ask(request, DELETE_RECORDS, DeleteRecordsResponse)
        if answer is None:
            return
        (result,) = answer.topics[0].partitions
        if result.error_code == ErrorCode.NONE:
            self._world.tell(RecordsDeleted(partition, result.low_watermark))
        elif result.error_code not in AGAIN:
            raise ViolationError(f"DeleteRecords of {partition} gave {result.error_code}")

    async def after_power_loss(self) -> None:
        """Tell what is left, and make again what is gone."""
        topics = await self._see_topics()
        ends: dict[TopicPartition, int] = {}
        for partition in self._partitions(topics):
            reader = Reader(self._world, self._talker, partition)
            ends[partition] = await self._end(reader, is_told=False)
        self._world.tell(PowerLost(ends, topics))
        for partition in ends:
            await self._inspect(partition)
        await self.make_topics()

    async def inspect(self) -> dict[TopicPartition, int]:
        """Read everything. Where partitions end."""
        await self.check_topics()
        ends = {
            partition: await self._inspect(partition)
            for partition in self._partitions(self._world.topics)
        }
        for partition, position in self._world.read_to:
            if position != ends[partition]:
                raise ViolationError(
                    f"{partition} ends at {ends[partition]}, and who read on came to {position}"
                )
        return ends

    def _partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        return [
            TopicPartition(name, index)
            for name in topics
            for index in range(self._world.topics[name])
        ]

    async def _end(self, reader: Reader, *, is_told: bool = True) -> int:
        while (offset := await reader.offset(LATEST, is_told=is_told)) is None:
            pass
        return offset

    async def _inspect(self, partition: TopicPartition) -> int:
        """Its end."""
        reader = Reader(self._world, self._talker, partition)
        start = await reader.start()
        end = await self._end(reader)
        records: dict[int, bytes] = {}
        position = start
        while position < end:
            seen = await reader.fetch(position)
            if seen is None:
                continue
            before = position
            for _, header in iter_headers(seen.data):
                position = header.next_offset
            if position == before:
                raise ViolationError(f"{partition} ends at {end} and gives nothing at {position}")
            records |= {o: value for o, value in values_in(seen.data).items() if o >= start}
        self._world.tell(PartitionInspected(partition, start, end, records))
        return end
