"""What was acknowledged is there after a restart, clean or not, and the broker goes on from it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, Message, Producer

from compat_tests.confluent.adapter import ConfluentClient
from compat_tests.process import KafkaliteProcess
from compat_tests.sample import in_order, samples

pytestmark = pytest.mark.needs_process

Start = Callable[..., KafkaliteProcess]


@pytest.mark.parametrize("end", [KafkaliteProcess.stop, KafkaliteProcess.kill])
def test_acknowledged_records_survive(
    start_kafkalite: Start, topic: str, end: Callable[[KafkaliteProcess], int]
) -> None:
    sent = samples(6_000)
    first = start_kafkalite()
    client = ConfluentClient(first.address)
    client.create_topic(topic)
    client.produce(topic, sent[:1_500], codec="lz4")
    client.produce(topic, sent[1_500:3_000], idempotent=True)
    exit_code = end(first)
    assert exit_code == (0 if end is KafkaliteProcess.stop else -9)

    second = start_kafkalite(port=first.port)
    assert second.address == first.address
    assert client.topics() == {topic}
    in_order(client.read(topic, 3_000), sent[:3_000])
    offsets = client.produce(topic, sent[3_000:], idempotent=True)
    assert offsets == list(range(3_000, 6_000))
    in_order(client.read(topic, 6_000), sent)
    assert client.offset_for_time(topic, sent[0].timestamp_ms) == 0


def test_a_producer_rides_over_a_kill(start_kafkalite: Start, topic: str) -> None:
    """Killed in the midst of a stream: what was acknowledged before is there, and the producer,
    which was not told, delivers the rest to the broker that takes its place, each record once and
    in order."""
    first = start_kafkalite()
    ConfluentClient(first.address).create_topic(topic)
    producer = Producer(
        {
            "bootstrap.servers": first.address,
            "enable.idempotence": True,
            "linger.ms": 0,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
        }
    )
    sent = samples(4_000)
    acknowledged: list[int] = []

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        offset = message.offset()
        assert offset is not None
        acknowledged.append(offset)

    for sample in sent:
        producer.produce(
            topic,
            key=sample.key,
            value=sample.value,
            headers=list(sample.headers),
            timestamp=sample.timestamp_ms,
            partition=0,
            on_delivery=on_delivery,
        )
    while len(acknowledged) < 500:
        assert producer.poll(10)
    first.kill()
    start_kafkalite(port=first.port)
    assert producer.flush(60) == 0

    assert acknowledged == list(range(4_000))
    in_order(ConfluentClient(first.address).read(topic, 4_000), sent)
