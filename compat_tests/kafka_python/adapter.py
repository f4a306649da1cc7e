"""kafka-python as a `Client` of the shared cases. With `group_id=None` it never asks for a
coordinator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic

from compat_tests.client_cases import LONG_POLL_MS, Acks, Codec, await_topic
from compat_tests.sample import Received, Sample

WAIT_S = 60


class KafkaPythonClient:
    """See `Client`."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def create_topic(self, topic: str, partitions: int = 1) -> None:
        with closing(KafkaAdminClient(bootstrap_servers=self._bootstrap)) as admin:
            admin.create_topics([NewTopic(topic, partitions, 1)])
        await_topic(self.topics, topic)

    def delete_topic(self, topic: str) -> None:
        with closing(KafkaAdminClient(bootstrap_servers=self._bootstrap)) as admin:
            admin.delete_topics([topic])

    def groups(self) -> set[str]:
        with closing(KafkaAdminClient(bootstrap_servers=self._bootstrap)) as admin:
            return {group["group_id"] for group in admin.list_groups()}

    def members_of(self, group: str) -> int:
        with closing(KafkaAdminClient(bootstrap_servers=self._bootstrap)) as admin:
            return len(admin.describe_groups([group])[group]["members"])

    def delete_group(self, group: str) -> None:
        with closing(KafkaAdminClient(bootstrap_servers=self._bootstrap)) as admin:
            (result,) = admin.delete_groups([group]).values()
        if result != "OK":
            raise RuntimeError(result)

    def topics(self) -> set[str]:
        with closing(self._consumer()) as consumer:
            return set(consumer.topics())

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
        producer = KafkaProducer(
            bootstrap_servers=self._bootstrap,
            acks=acks,
            compression_type=None if codec == "none" else codec,
            enable_idempotence=idempotent,
            linger_ms=5,
        )
        with closing(producer):
            futures = [
                producer.send(
                    topic,
                    key=sample.key,
                    value=sample.value,
                    headers=list(sample.headers),
                    timestamp_ms=sample.timestamp_ms,
                    partition=partition,
                )
                for sample in sent
            ]
            return [future.get(WAIT_S).offset for future in futures]

    def read(
        self, topic: str, count: int, *, at_end: Callable[[], None] | None = None
    ) -> list[Received]:
        partition = TopicPartition(topic, 0)
        received: list[Received] = []
        with closing(self._consumer(LONG_POLL_MS if at_end else 500)) as consumer:
            consumer.assign([partition])
            if at_end:
                consumer.seek_to_end(partition)
                assert not consumer.poll(200)
                at_end()
            else:
                consumer.seek_to_beginning(partition)
            while len(received) < count:
                batch = consumer.poll(WAIT_S * 1_000, max_records=count - len(received))
                assert batch, f"{len(received)} of {count} records, then nothing in {WAIT_S} s"
                received += [
                    Received(r.offset, Sample(r.key, r.value, tuple(r.headers), r.timestamp))
                    for r in batch[partition]
                ]
        return received

    def offsets(self, topic: str) -> tuple[int, int]:
        partition = TopicPartition(topic, 0)
        with closing(self._consumer()) as consumer:
            low: dict[TopicPartition, int] = consumer.beginning_offsets([partition])
            high: dict[TopicPartition, int] = consumer.end_offsets([partition])
        return low[partition], high[partition]

    def offset_for_time(self, topic: str, timestamp_ms: int) -> int | None:
        partition = TopicPartition(topic, 0)
        with closing(self._consumer()) as consumer:
            found = consumer.offsets_for_times({partition: timestamp_ms})[partition]
        return None if found is None else int(found.offset)

    def _consumer(self, fetch_wait_ms: int = 500) -> KafkaConsumer:
        return KafkaConsumer(
            bootstrap_servers=self._bootstrap, group_id=None, fetch_max_wait_ms=fetch_wait_ms
        )
