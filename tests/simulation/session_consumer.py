"""A consumer that fetches as real ones do: many partitions over one fetch session (KIP-227), whose
answers have only what changed."""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from kafkalite.protocol.records.batch import iter_headers
from kafkalite.testing.checkers import ViolationError
from kafkalite.testing.observations import HighWatermarkSeen, PartitionAsked, RecordsFetched
from kafkalite.types import TopicPartition
from tests.server.requests import MIB, raw
from tests.simulation.consumers import AGAIN, EARLIEST, FETCH, Reader
from tests.simulation.world import BACKOFF_MS, Talker, World

NO_SESSION = 0
FIRST_EPOCH, FINAL_EPOCH = 0, -1
_LAST_EPOCH = 2**31 - 1
_SESSION_GONE = {ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH}


class SessionConsumer:
    """Reads all that the world has, on to the end; looks away from a partition and back."""

    def __init__(self, world: World, name: str) -> None:
        self._world = world
        self._dice = world.dice(name)
        self._talker = Talker(world, name)
        self._positions: dict[TopicPartition, int] = {}
        self._session_id = NO_SESSION
        self._epoch = FIRST_EPOCH
        self._told: dict[TopicPartition, tuple[int, int]] = {}
        """What the session has been told to fetch of each: position, and most bytes."""
        self._tokens: dict[TopicPartition, int] = {}
        self._era = 0
        world.nodes.add(name)

    async def run(self) -> None:
        while not self._world.is_quiet:
            self._choose()
            await self._fetch(max_wait_ms=self._dice.one_of([0, 100, 1_000]))
            await self._world.sleep(self._dice.between(0, 1_200))
        await self._finish()
        self._talker.hang_up()

    async def _finish(self) -> None:
        """All that is there must come, now that nobody writes any more."""
        self._choose_all()
        silent = 0
        while silent < 3:
            silent = 0 if await self._fetch(max_wait_ms=500) else silent + 1
        for partition, position in self._positions.items():
            self._world.read_to.append((partition, position))

    def _choose(self) -> None:
        """Which partitions to read: now and then one more, or one less."""
        if self._dice.chance(0.2) and len(self._positions) > 1:
            del self._positions[self._dice.one_of(list(self._positions))]
        if self._dice.chance(0.3) or not self._positions:
            self._choose_all()

    def _choose_all(self) -> None:
        for key in list(self._positions):
            if key.topic not in self._world.topics:
                del self._positions[key]
        for topic, count in self._world.topics.items():
            for index in range(count):
                self._positions.setdefault(TopicPartition(topic, index), 0)

    async def _fetch(self, *, max_wait_ms: int) -> bool:
        """Whether records came, or it is not known what would have."""
        if self._era != self._world.era:
            self._forget_session()
        self._era = self._world.era
        request = self._request(max_wait_ms)
        for partition in self._positions:
            token = self._tokens[partition] = self._world.token()
            self._world.tell(PartitionAsked(token, partition))
        answer = await self._talker.ask(request, FETCH, FetchResponse)
        if answer is None or self._era != self._world.era:
            self._forget_session()
            return True
        code = ErrorCode(answer.error_code)
        if code in _SESSION_GONE:
            self._forget_session()
            return True
        if code is not ErrorCode.NONE:
            raise ViolationError(f"a Fetch with a session gave {code.name}")
        self._session_id = answer.session_id
        self._epoch = 1 if self._epoch >= _LAST_EPOCH else self._epoch + 1
        found = False
        for topic in answer.responses:
            for data in topic.partitions:
                if self._era != self._world.era:
                    return True  # The rest of the answer is no news any more.
                found |= await self._take(TopicPartition(topic.topic, data.partition_index), data)
        return found

    def _forget_session(self) -> None:
        self._session_id, self._epoch = NO_SESSION, FIRST_EPOCH
        self._told.clear()

    def _request(self, max_wait_ms: int) -> FetchRequest:
        """All of the session's partitions that are new or have changed, and those that are gone."""
        if self._epoch == FIRST_EPOCH or self._session_id == NO_SESSION:
            self._forget_session()
        wanted = {key: (position, MIB) for key, position in self._positions.items()}
        changed = {key: each for key, each in wanted.items() if self._told.get(key) != each}
        gone = [key for key in self._told if key not in wanted]
        self._told = wanted
        topics: dict[str, FetchTopic] = {}
        for key, (position, most) in changed.items():
            topic = topics.setdefault(key.topic, FetchTopic(topic=key.topic, partitions=[]))
            topic.partitions.append(
                FetchPartition(
                    partition=key.partition, fetch_offset=position, partition_max_bytes=most
                )
            )
        return FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_bytes=50 * MIB,
            session_id=self._session_id,
            session_epoch=self._epoch,
            topics=list(topics.values()),
            forgotten_topics_data=[
                ForgottenTopic(topic=key.topic, partitions=[key.partition]) for key in gone
            ],
        )

    async def _take(self, partition: TopicPartition, data: PartitionData) -> bool:
        code = ErrorCode(data.error_code)
        if partition not in self._positions:
            raise ViolationError(f"a session gave {partition}, which is not in it")
        if code is ErrorCode.OFFSET_OUT_OF_RANGE and self._era:
            start = await Reader(self._world, self._talker, partition).offset(EARLIEST)
            if start is not None and partition in self._positions:
                self._positions[partition] = start
            return True
        if code in AGAIN:
            await self._world.sleep(BACKOFF_MS)
            return True
        if code is not ErrorCode.NONE:
            raise ViolationError(f"a session's {partition} gave {code.name}")
        position = self._positions[partition]
        seen = RecordsFetched(partition, position, data.high_watermark, raw(data))
        self._world.tell(HighWatermarkSeen(self._tokens[partition], partition, data.high_watermark))
        self._world.tell(seen)
        for _, header in iter_headers(seen.data):
            self._positions[partition] = header.next_offset
        return self._positions[partition] > position
