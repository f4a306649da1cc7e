"""confluent-kafka (librdkafka) as a `Client` of the shared cases.

A consumer must have a `group.id`, but with `assign` at explicit offsets and without auto-commit it
never needs the group: librdkafka may look for a coordinator in the background, and reads without
one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from confluent_kafka import (
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from compat_tests.client_cases import LONG_POLL_MS, Acks, Codec, await_topic
from compat_tests.sample import Received, Sample

WAIT_S = 60.0


class ConfluentClient:
    """See `Client`."""

    def __init__(self, bootstrap: str, client_id: str = "rdkafka") -> None:
        """`client_id`: by default librdkafka's own."""
        self._common: dict[str, str | int | float | bool] = {
            "bootstrap.servers": bootstrap,
            "client.id": client_id,
        }

    def create_topic(self, topic: str, partitions: int = 1) -> None:
        admin = AdminClient(self._common)
        admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(WAIT_S)
        await_topic(self.topics, topic)

    def delete_topic(self, topic: str) -> None:
        admin = AdminClient(self._common)
        admin.delete_topics([topic])[topic].result(WAIT_S)

    def groups(self) -> set[str]:
        admin = AdminClient(self._common)
        listed = admin.list_consumer_groups().result(WAIT_S)
        assert not listed.errors, listed.errors
        return {group.group_id for group in listed.valid}

    def members_of(self, group: str) -> int:
        admin = AdminClient(self._common)
        return len(admin.describe_consumer_groups([group])[group].result(WAIT_S).members)

    def delete_group(self, group: str) -> None:
        admin = AdminClient(self._common)
        admin.delete_consumer_groups([group])[group].result(WAIT_S)

    def topics(self) -> set[str]:
        return set(AdminClient(self._common).list_topics(timeout=WAIT_S).topics)

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
        settings = {"compression.type": codec, "acks": acks, "enable.idempotence": idempotent}
        producer = Producer({**self._common, **settings, "linger.ms": 5})
        offsets: dict[int, int] = {}

        def report(index: int) -> Callable[[KafkaError | None, Message], None]:
            def on_delivery(error: KafkaError | None, message: Message) -> None:
                assert error is None, error
                offset = message.offset()
                offsets[index] = -1 if offset is None else offset

            return on_delivery

        for i, sample in enumerate(sent):
            producer.produce(
                topic,
                key=sample.key,
                value=sample.value,
                headers=list(sample.headers),
                timestamp=sample.timestamp_ms,
                partition=partition,
                on_delivery=report(i),
            )
            producer.poll(0)
        assert producer.flush(WAIT_S) == 0
        return [offsets[i] for i in range(len(sent))]

    def read(
        self, topic: str, count: int, *, at_end: Callable[[], None] | None = None
    ) -> list[Received]:
        consumer = self._consumer(LONG_POLL_MS if at_end else 500)
        # An offset by number: librdkafka asks for BEGINNING anew every 500 ms or never while it
        # knows no leader yet, on any broker.
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), WAIT_S)
        consumer.assign([TopicPartition(topic, 0, high if at_end else low)])
        if at_end:
            assert consumer.poll(0.2) is None
            at_end()
        received: list[Received] = []
        while len(received) < count:
            batch = consumer.consume(min(1_000, count - len(received)), WAIT_S)
            assert batch, f"{len(received)} of {count} records, then nothing in {WAIT_S} s"
            received += map(_received, batch)
        consumer.close()
        return received

    def offsets(self, topic: str) -> tuple[int, int]:
        consumer = self._consumer()
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), WAIT_S)
        consumer.close()
        return low, high

    def offset_for_time(self, topic: str, timestamp_ms: int) -> int | None:
        consumer = self._consumer()
        found = consumer.offsets_for_times([TopicPartition(topic, 0, timestamp_ms)], WAIT_S)[0]
        consumer.close()
        if found.error:
            raise KafkaException(found.error)
        return None if found.offset == OFFSET_END else found.offset

    def _consumer(self, fetch_wait_ms: int = 500) -> Consumer:
        return Consumer(
            {
                **self._common,
                "group.id": "unused",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": fetch_wait_ms,
            }
        )


def _received(message: Message) -> Received:
    error = message.error()
    if error:
        raise KafkaException(error)
    offset = message.offset()
    assert offset is not None
    _, timestamp_ms = message.timestamp()
    headers = []
    for header in message.headers() or []:
        assert isinstance(header, tuple)
        name, value = header
        assert isinstance(value, bytes)
        headers.append((name, value))
    return Received(offset, Sample(message.key(), message.value(), tuple(headers), timestamp_ms))
