"""A few blocking calls of a stock client, in short."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

_WITHIN_S = 60.0


def send(
    bootstrap: str, topic: str, value: bytes, settings: Mapping[str, str] | None = None
) -> None:
    """One record, acknowledged. `settings`: those that the client needs besides."""
    errors: list[object] = []
    own = {"bootstrap.servers": bootstrap, "message.timeout.ms": 60_000, **(settings or {})}
    producer = Producer(own)
    producer.produce(topic, value, on_delivery=lambda error, _: errors.append(error))
    producer.flush(_WITHIN_S)
    (error,) = errors or ["no answer"]
    assert error is None, error


def receive(bootstrap: str, topic: str) -> bytes:
    """The value of the topic's first record, by a group."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    try:
        consumer.subscribe([topic])
        message = consumer.poll(_WITHIN_S)
        assert message is not None, "no record came"
        assert message.error() is None, message.error()
        value = message.value()
        assert isinstance(value, bytes)
        return value
    finally:
        consumer.close()


def topics(bootstrap: str) -> dict[str, int]:
    """Partitions by name, but for internal topics."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    found = admin.list_topics(timeout=_WITHIN_S).topics
    return {name: len(topic.partitions) for name, topic in found.items() if name[:2] != "__"}
