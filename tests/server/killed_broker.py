"""A broker process that serves acks=all producers, and is killed again and again.

Producers number their records: partition `n` is to hold 0, 1, 2... and nothing else. Idempotent
ones send again what was not acknowledged, as stock clients do; a plain one goes on behind what it
finds. A group commits rising offsets meanwhile. Every second life of the broker syncs (`--fsync`).
"""

from __future__ import annotations

import asyncio
import signal
from collections import deque
from collections.abc import Callable
from pathlib import Path
from random import Random  # noqa: TID251  # seeded; where a signal strikes is chance all the same.
from typing import NamedTuple

from kafkalite.errors import ErrorCode
from kafkalite.ports.clock import RealClock
from kafkalite.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafkalite.protocol.messages.fetch import FetchResponse
from kafkalite.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafkalite.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkalite.protocol.messages.offset_commit import OffsetCommitResponse
from kafkalite.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.protocol.records.batch import crc_is_valid, iter_headers
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.record import read_records
from kafkalite.testing.client import Client
from tests.cli.serving import Served, connect, serving
from tests.server.group_requests import commit_request
from tests.server.requests import batch, fetch, fetched, produce, produced, raw

TOPIC = "numbers"
CODECS = (Compression.NONE, Compression.GZIP, Compression.NONE, Compression.ZSTD)
PARTITIONS = len(CODECS)
PLAIN = 2
"""The partition whose producer is not idempotent."""
WINDOW = 4
MOST_ACKNOWLEDGED = 100
"""Batches that are acknowledged before the signal, by all producers together."""
CLOCK = RealClock()
"""Producers whose records are older than a day are forgotten with each life, as in Kafka."""
CREATE, PRODUCE, FETCH, INIT, FIND, COMMIT, OFFSETS = 7, 9, 12, 4, 4, 9, 7
SETTINGS = ("--set", "offsets.topic.num.partitions=1")
SMALL_SEGMENTS = {
    "internal.segment.bytes": "20000",
    "index.interval.bytes": "500",
}


class Sent(NamedTuple):
    """A batch on its way."""

    first: int
    end: int
    data: bytearray


class Producer:
    """That of one partition, over all lives of the broker."""

    def __init__(self, partition: int, random: Random) -> None:
        self._partition = partition
        self._random = random
        self._id = -1
        self._waiting: deque[Sent] = deque()
        self._next = 0
        self.acknowledged = 0
        """Numbers below it are."""
        self.seen = 0
        """Numbers below it were found in the log."""

    async def begin(self, client: Client) -> None:
        """Once; a producer id is for all lives."""
        if self._partition != PLAIN:
            answer = await client.ask(
                InitProducerIdRequest(transactional_id=None), INIT, InitProducerIdResponse
            )
            assert answer.error_code == ErrorCode.NONE, answer
            self._id = answer.producer_id

    async def produce(self, client: Client, on_acknowledged: Callable[[], None]) -> None:
        """Until the connection breaks."""
        again, self._waiting = self._waiting, deque()
        if self._partition == PLAIN:
            self._next = self.acknowledged = self.seen
            again.clear()
        answers: deque[asyncio.Future[ProduceResponse]] = deque()
        while True:
            while len(answers) < WINDOW:
                sent = again.popleft() if again else self._new_batch()
                self._waiting.append(sent)
                request = produce(TOPIC, {self._partition: sent.data})
                answers.append(client.send(request, PRODUCE, ProduceResponse))
            try:
                (answer,) = produced(await answers.popleft())
            except ConnectionError:
                self._waiting.extend(again)
                await asyncio.gather(*answers, return_exceptions=True)  # None of them is missed.
                raise
            assert answer.error_code == ErrorCode.NONE, (self._partition, answer)
            first, end, _ = self._waiting.popleft()
            assert answer.base_offset == first, (self._partition, answer, first)
            self.acknowledged = end
            on_acknowledged()

    def _new_batch(self) -> Sent:
        count = self._random.randrange(1, 6)
        first, self._next = self._next, self._next + count
        values = [
            b"%d " % number + bytes(self._random.randrange(300))
            for number in range(first, first + count)
        ]
        data = batch(
            *values,
            producer_id=self._id,
            sequence=-1 if self._id < 0 else first,
            timestamp=CLOCK.now_ms(),
            compression=CODECS[self._partition],
        )
        return Sent(first, self._next, data)

    async def check(self, client: Client, *, begin_at: int | None = None) -> None:
        """All that was acknowledged is there, once and in order."""
        number = self.seen if begin_at is None else begin_at
        while True:
            request = fetch(TOPIC, {self._partition: number})
            (data,) = fetched(await client.ask(request, FETCH, FetchResponse))
            assert data.error_code == ErrorCode.NONE, data
            if number >= data.high_watermark:
                break
            records = raw(data)
            for position, header in iter_headers(records):
                assert crc_is_valid(records, position, header)
                for record in read_records(records, position, header):
                    if record.offset >= number:
                        told = bytes(record.value or b"").partition(b" ")[0]
                        assert (record.offset, int(told)) == (number, number)
                        number += 1
        assert self.acknowledged <= number <= self._next, (self._partition, number)
        self.seen = number


class Committer:
    """A group's only committer."""

    def __init__(self) -> None:
        self.acknowledged = -1
        self._next = 0

    async def commit(self, client: Client) -> None:
        """Until the connection breaks, or the coordinator is not there yet."""
        while True:
            offset, self._next = self._next, self._next + 1
            answer = await client.ask(commit_request(TOPIC, offset), COMMIT, OffsetCommitResponse)
            code = answer.topics[0].partitions[0].error_code
            if code == ErrorCode.NONE:
                self.acknowledged = offset
            else:
                assert code in _NOT_YET, answer

    async def check(self, client: Client) -> None:
        """The last one that was acknowledged, or a later one."""
        asked = OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])
        request = OffsetFetchRequest(group_id="group", topics=[asked])
        answer = await client.ask(request, OFFSETS, OffsetFetchResponse)
        for _ in range(_MOST_TRIES):
            if answer.error_code not in _NOT_YET:
                break
            answer = await client.ask(request, OFFSETS, OffsetFetchResponse)
        assert answer.error_code == ErrorCode.NONE, answer
        found = answer.topics[0].partitions[0].committed_offset
        assert self.acknowledged <= found < max(self._next, 1), (found, self.acknowledged)


_MOST_TRIES = 1_000
"""Each takes a turn of the broker's loop, and it loads some more in each."""
_NOT_YET = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
)


def kill_again_and_again(folder: Path, *, rounds: int, seed: int) -> int:
    """So often; how many records were acknowledged in all. `AssertionError` for what is wrong."""
    random = Random(seed)
    producers = [Producer(partition, random) for partition in range(PARTITIONS)]
    committer = Committer()
    for number in range(rounds + 1):
        syncs = ("--fsync",) if number % 2 else ()
        with serving("--data", "data", *SETTINGS, *syncs, folder=folder) as broker:
            if number:
                asyncio.run(_check(broker.port, producers, committer, whole=number == rounds))
            else:
                asyncio.run(_begin(broker.port, producers))
            if number == rounds:
                code, _ = broker.end(signal.SIGTERM)
                assert code == 0
                return sum(producer.acknowledged for producer in producers)
            asyncio.run(_one_life(broker, producers, committer, random))
    raise AssertionError("no round")


async def _begin(port: int, producers: list[Producer]) -> None:
    client = await connect(port)
    configs = [CreatableTopicConfig(name=k, value=v) for k, v in SMALL_SEGMENTS.items()]
    topic = CreatableTopic(
        name=TOPIC, num_partitions=PARTITIONS, replication_factor=1, configs=configs
    )
    answer = await client.ask(CreateTopicsRequest(topics=[topic]), CREATE, CreateTopicsResponse)
    assert answer.topics[0].error_code == ErrorCode.NONE, answer
    asked = FindCoordinatorRequest(coordinator_keys=["group"])
    found = await client.ask(asked, FIND, FindCoordinatorResponse)  # Makes its topic.
    assert found.coordinators[0].error_code == ErrorCode.NONE, found
    for producer in producers:
        await producer.begin(client)
    await _hang_up(client)


async def _check(
    port: int, producers: list[Producer], committer: Committer, *, whole: bool
) -> None:
    client = await connect(port)
    for producer in producers:
        await producer.check(client, begin_at=0 if whole else None)
    await committer.check(client)
    await _hang_up(client)


async def _hang_up(client: Client) -> None:
    client.close()
    await client.wait_closed()


async def _one_life(
    broker: Served, producers: list[Producer], committer: Committer, random: Random
) -> None:
    left = random.randrange(1, MOST_ACKNOWLEDGED)

    def acknowledged() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            broker.kill()

    clients = [await connect(broker.port) for _ in range(PARTITIONS + 1)]
    ends = await asyncio.gather(
        *(
            producer.produce(client, acknowledged)
            for producer, client in zip(producers, clients[1:], strict=True)
        ),
        committer.commit(clients[0]),
        return_exceptions=True,
    )
    for client in clients:
        await _hang_up(client)
    for end in ends:
        if not isinstance(end, ConnectionError):
            assert isinstance(end, BaseException)
            raise end
    assert broker.ended()[0] == -signal.SIGKILL
