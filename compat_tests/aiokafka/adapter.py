"""aiokafka as a `Client` of the shared cases: each call is one run of an event loop.

With `group_id=None` it never asks for a coordinator. It still sends ApiVersions v0.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import for_code

from compat_tests.client_cases import LONG_POLL_MS, Acks, Codec, await_topic
from compat_tests.sample import Received, Sample

WAIT_S = 60


class AiokafkaClient:
    """See `Client`."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def create_topic(self, topic: str, partitions: int = 1) -> None:
        async def run() -> None:
            admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
            await admin.start()
            try:
                answer = await admin.create_topics([NewTopic(topic, partitions, 1)])
                _raise(code for _, code, *_ in answer.topic_errors)
            finally:
                await admin.close()

        asyncio.run(run())
        await_topic(self.topics, topic)

    def delete_topic(self, topic: str) -> None:
        async def run() -> None:
            admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
            await admin.start()
            try:
                answer = await admin.delete_topics([topic])
                _raise(code for _, code, *_ in answer.topic_error_codes)
            finally:
                await admin.close()

        asyncio.run(run())

    def groups(self) -> set[str]:
        async def run() -> set[str]:
            admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
            await admin.start()
            try:
                return {group for group, _ in await admin.list_consumer_groups()}
            finally:
                await admin.close()

        return asyncio.run(run())

    def members_of(self, group: str) -> int:
        async def run() -> int:
            admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
            await admin.start()
            try:
                (answer,) = await admin.describe_consumer_groups([group])
                (described,) = answer.groups
                return len(described[-2 if len(described) > 6 else -1])
            finally:
                await admin.close()

        return asyncio.run(run())

    def delete_group(self, group: str) -> None:
        raise NotImplementedError("aiokafka cannot")

    def topics(self) -> set[str]:
        async def run() -> set[str]:
            async with self._consumer() as consumer:
                return set(await consumer.topics())

        return asyncio.run(run())

    def produce(
        self,
        topic: str,
        sent: Sequence[Sample],
        *,
        codec: Codec = "none",
        acks: Acks = "all",
        idempotent: bool = False,
        partition: int = 0,
    ) -> list[int]:
        async def run() -> list[int]:
            producer = AIOKafkaProducer(
                bootstrap_servers=self._bootstrap,
                acks=acks,
                compression_type=None if codec == "none" else codec,
                enable_idempotence=idempotent,
                linger_ms=5,
            )
            async with producer:
                futures = [
                    await producer.send(
                        topic,
                        key=sample.key,
                        value=sample.value,
                        headers=list(sample.headers),
                        timestamp_ms=sample.timestamp_ms,
                        partition=partition,
                    )
                    for sample in sent
                ]
                done = await asyncio.gather(*futures)
                return [-1 if one is None else one.offset for one in done]

        return asyncio.run(run())

    def read(
        self, topic: str, count: int, *, at_end: Callable[[], None] | None = None
    ) -> list[Received]:
        async def run() -> list[Received]:
            partition = TopicPartition(topic, 0)
            received: list[Received] = []
            async with self._consumer(LONG_POLL_MS if at_end else 500) as consumer:
                consumer.assign([partition])
                if at_end:
                    await consumer.seek_to_end(partition)
                    assert not await consumer.getmany(timeout_ms=200)
                    at_end()
                else:
                    await consumer.seek_to_beginning(partition)
                while len(received) < count:
                    most = count - len(received)
                    batch = await consumer.getmany(timeout_ms=WAIT_S * 1_000, max_records=most)
                    assert batch, f"{len(received)} of {count} records, then nothing"
                    received += [
                        Received(r.offset, Sample(r.key, r.value, tuple(r.headers), r.timestamp))
                        for r in batch[partition]
                    ]
            return received

        return asyncio.run(run())

    def offsets(self, topic: str) -> tuple[int, int]:
        async def run() -> tuple[int, int]:
            partition = TopicPartition(topic, 0)
            async with self._consumer() as consumer:
                low = await consumer.beginning_offsets([partition])
                high = await consumer.end_offsets([partition])
            return low[partition], high[partition]

        return asyncio.run(run())

    def offset_for_time(self, topic: str, timestamp_ms: int) -> int | None:
        async def run() -> int | None:
            partition = TopicPartition(topic, 0)
            async with self._consumer() as consumer:
                found = (await consumer.offsets_for_times({partition: timestamp_ms}))[partition]
            return None if found is None else found.offset

        return asyncio.run(run())

    def _consumer(self, fetch_wait_ms: int = 500) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            bootstrap_servers=self._bootstrap, group_id=None, fetch_max_wait_ms=fetch_wait_ms
        )


def _raise(codes: object) -> None:
    for code in codes:  # type: ignore[attr-defined] # aiokafka's answers have no types.
        if code:
            raise for_code(code)
