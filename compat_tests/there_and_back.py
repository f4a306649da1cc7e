"""Values that a client for Python produces, and reads again as a new group of the topic's name. Its
settings say how it gets in."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer, KafkaProducer

WAIT_S = 30


def by_librdkafka(
    settings: Mapping[str, Any], topic: str, values: Sequence[bytes]
) -> list[bytes | None]:
    """What was read."""
    producer = Producer(dict(settings))
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(WAIT_S) == 0
    group = {"group.id": topic, "auto.offset.reset": "earliest"}
    read: list[bytes | None] = []
    with closing(Consumer({**settings, **group})) as consumer:
        consumer.subscribe([topic])
        while len(read) < len(values):
            found = consumer.consume(len(values), WAIT_S)
            assert found, "nothing came"
            read += [message.value() for message in found]
    return read


def by_kafka_python(
    settings: Mapping[str, Any], topic: str, values: Sequence[bytes]
) -> list[bytes]:
    """What was read."""
    with closing(KafkaProducer(**settings)) as producer:
        for value in values:
            producer.send(topic, value)
        producer.flush(WAIT_S)
    group = {"group_id": topic, "auto_offset_reset": "earliest"}
    patience = {"consumer_timeout_ms": WAIT_S * 1000}
    with closing(KafkaConsumer(topic, **group, **patience, **settings)) as consumer:
        return [record.value for _, record in zip(values, consumer, strict=False)]


def by_aiokafka(settings: Mapping[str, Any], topic: str, values: Sequence[bytes]) -> list[bytes]:
    """What was read."""

    async def run() -> list[bytes]:
        async with AIOKafkaProducer(**settings) as producer:
            for value in values:
                await producer.send(topic, value)
        group = {"group_id": topic, "auto_offset_reset": "earliest"}
        async with AIOKafkaConsumer(topic, **group, **settings) as consumer:
            return [(await anext(consumer)).value for _ in values]

    return asyncio.run(run())
