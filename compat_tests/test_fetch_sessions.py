"""Fetch sessions: what each request of a session is told, as the real Kafka 4.4.0 told it.

Each line of a transcript is a request's answer: the error code, whether a session answers (`s`) or
none (`-`), and for each partition its error code, high watermark and bytes of records. One batch
has 69 bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from compat_tests.conftest import BOOTSTRAP
from kafkalite.ports.clock import RealClock
from kafkalite.ports.network import Address
from kafkalite.ports.network_sockets import SocketNetwork
from kafkalite.protocol.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafkalite.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kafkalite.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)
from kafkalite.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.testing.client import Client
from kafkalite.types import ZERO_UUID, Uuid

NAMES, IDS = 12, 13
"""Versions that name topics, and that give their ids."""
NONE, UNKNOWN_TOPIC_OR_PARTITION = 0, 3
"""Error codes."""
Offsets = Mapping[str, Mapping[int, int]]
"""Topic to partition to offset."""

BY_NAME = """
0 s a0:0/0/0 a1:0/0/0 b0:0/0/0
0 s
0 s a1:0/1/69 b0:0/1/69
0 s a1:0/1/69 b0:0/1/69
0 s
0 s a0:0/1/69 a1:0/2/69 b0:0/2/69
0 s a0:0/1/69
0 s a1:0/2/69
0 s b0:0/2/69
0 s
71 -
0 s a2:0/0/0 a9:3/-1/0 nope0:3/-1/0
0 s a9:3/-1/0 nope0:3/-1/0
0 s
0 s a2:1/-1/0
0 s a2:1/-1/0
0 s a2:0/0/0
106 -
0 s
0 - a1:0/2/138
70 -
""".strip().splitlines()

BY_ID = """
0 s a0:0/0/0 a1:0/0/0 b0:0/0/0
106 -
0 s
0 s a0:3/-1/0 a1:3/-1/0
0 s a0:103/-1/0 a1:103/-1/0
""".strip().splitlines()


class Talk:
    """One client, and what it was told."""

    def __init__(self, client: Client, prefix: str) -> None:
        self.client = client
        self.prefix = prefix
        self.ids: dict[Uuid, str] = {}
        self.session_id = 0
        self.lines: list[str] = []

    async def create(self, *names: str) -> None:
        """Topics of three partitions."""
        topics = [
            CreatableTopic(name=self.prefix + name, num_partitions=3, replication_factor=1)
            for name in names
        ]
        request = CreateTopicsRequest(topics=topics, timeout_ms=10_000)
        response = await self.client.ask(request, 7, CreateTopicsResponse)
        for topic in response.topics:
            assert topic.error_code == 0, topic
            self.ids[topic.topic_id] = topic.name.removeprefix(self.prefix)
        await self._until_told(NONE, *names)

    async def delete(self, name: str) -> None:
        topics = [DeleteTopicState(name=self.prefix + name)]
        request = DeleteTopicsRequest(topics=topics, timeout_ms=10_000)
        response = await self.client.ask(request, 6, DeleteTopicsResponse)
        assert response.responses[0].error_code == 0
        await self._until_told(UNKNOWN_TOPIC_OR_PARTITION, name)

    async def produce(self, name: str, partition: int) -> None:
        records = build_batch([Record(None, b"x")])
        data = PartitionProduceData(index=partition, records=bytes(records))
        topic = TopicProduceData(name=self.prefix + name, partition_data=[data])
        request = ProduceRequest(acks=1, timeout_ms=10_000, topic_data=[topic])
        response = await self.client.ask(request, 9, ProduceResponse)
        assert response.responses[0].partition_responses[0].error_code == 0

    async def ask(
        self,
        epoch: int,
        offsets: Offsets | None = None,
        forget: Mapping[str, Sequence[int]] | None = None,
        *,
        version: int = NAMES,
        max_bytes: int = 1 << 20,
    ) -> None:
        """A request of the session; its answer is the next line."""
        response = await self._fetch(epoch, offsets or {}, version, forget or {}, max_bytes)
        if epoch == 0:
            self.session_id = response.session_id
        assert response.session_id in (0, self.session_id)
        told = [
            f"{self.ids.get(topic.topic_id) or topic.topic.removeprefix(self.prefix)}"
            f"{data.partition_index}:{data.error_code}/{data.high_watermark}"
            f"/{len(data.records or b'')}"
            for topic in response.responses
            for data in topic.partitions
        ]
        session = "s" if response.session_id else "-"
        self.lines.append(" ".join([str(response.error_code), session, *told]))

    async def _until_told(self, code: int, *names: str) -> None:
        """Until fetches of all partitions are answered so: the real Kafka's broker learns of a
        change a moment after its controller has answered; kafkalite's has learnt of it then."""
        offsets = {name: dict.fromkeys(range(3), 0) for name in names}
        told: set[int] = set()
        while told != {code}:
            fetched = await self._fetch(-1, offsets, NAMES)
            told = {data.error_code for topic in fetched.responses for data in topic.partitions}
            assert told == {code} or BOOTSTRAP, told

    async def _fetch(
        self,
        epoch: int,
        offsets: Offsets,
        version: int,
        forget: Mapping[str, Sequence[int]] | None = None,
        max_bytes: int = 1 << 20,
    ) -> FetchResponse:
        topics = []
        for name, wishes in offsets.items():
            partitions = [
                FetchPartition(partition=p, fetch_offset=offset, partition_max_bytes=1 << 20)
                for p, offset in wishes.items()
            ]
            full_name, topic_id = self._named(name, version)
            topics.append(FetchTopic(topic=full_name, topic_id=topic_id, partitions=partitions))
        forgotten = []
        for name, indexes in (forget or {}).items():
            full_name, topic_id = self._named(name, version)
            forgotten.append(
                ForgottenTopic(topic=full_name, topic_id=topic_id, partitions=list(indexes))
            )
        request = FetchRequest(
            session_id=self.session_id if epoch > 0 else 0,
            session_epoch=epoch,
            max_bytes=max_bytes,
            topics=topics,
            forgotten_topics_data=forgotten,
        )
        return await self.client.ask(request, version, FetchResponse)

    def _named(self, name: str, version: int) -> tuple[str, Uuid]:
        if version < IDS:
            return self.prefix + name, ZERO_UUID
        return "", next(id for id, known in self.ids.items() if known == name)


async def connected(bootstrap: str, prefix: str) -> Talk:
    host, port = bootstrap.rsplit(":", 1)
    network = SocketNetwork(RealClock())
    return Talk(await Client.connect(network, Address(host, int(port))), f"{prefix}-")


def test_a_session_by_names(bootstrap: str, topic: str) -> None:
    async def talk() -> list[str]:
        to = await connected(bootstrap, topic)
        await to.create("a", "b")
        await to.ask(0, {"a": {0: 0, 1: 0}, "b": {0: 0}})
        await to.ask(1)
        await to.produce("a", 1)
        await to.produce("b", 0)
        await to.ask(2)
        await to.ask(3)
        await to.ask(4, {"a": {1: 1}, "b": {0: 1}})
        await to.produce("a", 0)
        await to.produce("a", 1)
        await to.produce("b", 0)
        await to.ask(5)
        for epoch in (6, 7, 8):
            await to.ask(epoch, max_bytes=1)
        await to.ask(9, {"a": {0: 1, 1: 2}, "b": {0: 2}})
        await to.ask(9)
        await to.ask(10, {"a": {2: 0, 9: 0}, "nope": {0: 0}})
        await to.ask(11)
        await to.ask(12, forget={"a": [9], "nope": [0]})
        await to.ask(13, {"a": {2: 50}})
        await to.ask(14)
        await to.ask(15, {"a": {2: 0}})
        await to.ask(16, version=IDS)
        await to.ask(16)
        await to.ask(17, {"a": {1: 0}}, {"a": [0, 1, 2], "b": [0]})
        await to.ask(18)
        to.client.close()
        return to.lines

    assert asyncio.run(talk()) == BY_NAME


def test_a_session_by_ids_whose_topic_is_deleted_and_made_anew(bootstrap: str, topic: str) -> None:
    async def talk() -> list[str]:
        to = await connected(bootstrap, topic)
        await to.create("a", "b")
        await to.ask(0, {"a": {0: 0, 1: 0}, "b": {0: 0}}, version=IDS)
        await to.ask(1)
        await to.ask(1, version=IDS)
        await to.delete("a")
        await to.ask(2, version=IDS)
        await to.create("a")
        await to.ask(3, version=IDS)
        to.client.close()
        return to.lines

    assert asyncio.run(talk()) == BY_ID
