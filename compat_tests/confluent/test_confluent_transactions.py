"""Transactions of librdkafka: committed, aborted, read, with offsets, fenced, left open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest
from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from compat_tests.golden import turns

TRANSACTION_S = 60
"""For one call of a producer."""


@pytest.fixture
def made(bootstrap: str, topic: str) -> Callable[[str], str]:
    """Makes a topic of one partition, whose name ends so."""

    def make(end: str) -> str:
        name = f"{topic}-{end}"
        admin = AdminClient({"bootstrap.servers": bootstrap})
        admin.create_topics([NewTopic(name, 1, 1)])[name].result(TRANSACTION_S)
        for _ in turns("a leader"):
            partitions = admin.list_topics(name, timeout=TRANSACTION_S).topics[name].partitions
            if partitions and partitions[0].leader >= 0:
                break
        return name

    return make


def begun(bootstrap: str, id: str, **settings: int) -> Producer:
    config = {f"{key.replace('_', '.')}": value for key, value in settings.items()}
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": id, **config})
    producer.init_transactions(TRANSACTION_S)
    return producer


def write(producer: Producer, topic: str, *values: str) -> None:
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value)
    producer.flush(TRANSACTION_S)


@contextmanager
def consuming(bootstrap: str, topic: str, *, group: str, level: str) -> Iterator[Consumer]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "isolation.level": level,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    with closing(consumer):
        consumer.subscribe([topic])
        yield consumer


def to_the_end(consumer: Consumer) -> list[Message]:
    """All messages up to the first end of the partition."""
    found = []
    for _ in turns("the end of the partition"):
        message = consumer.poll(1)
        if message is None:
            continue
        error = message.error()
        if error is None:
            found.append(message)
        elif error.code() == KafkaError._PARTITION_EOF:
            break
        else:
            raise KafkaException(error)
    return found


def values(bootstrap: str, topic: str, level: str) -> list[str]:
    """What a consumer of that isolation level sees."""
    with consuming(bootstrap, topic, group=f"{topic}-{level}", level=level) as consumer:
        return [(message.value() or b"").decode() for message in to_the_end(consumer)]


def test_committed_aborted_and_open(bootstrap: str, made: Callable[[str], str]) -> None:
    topic = made("out")
    producer = begun(bootstrap, topic)
    write(producer, topic, "a", "b")
    producer.commit_transaction(TRANSACTION_S)
    write(producer, topic, "x", "y")
    producer.abort_transaction(TRANSACTION_S)
    write(producer, topic, "c")
    producer.commit_transaction(TRANSACTION_S)
    write(producer, topic, "open")
    assert values(bootstrap, topic, "read_committed") == ["a", "b", "c"]
    everything = ["a", "b", "x", "y", "c", "open"]
    assert values(bootstrap, topic, "read_uncommitted") == everything
    producer.commit_transaction(TRANSACTION_S)


def test_consume_transform_produce(bootstrap: str, made: Callable[[str], str]) -> None:
    """Every record of the input counts once in the output, though every other transaction is
    aborted and tried again."""
    source, sink = made("in"), made("out")
    writer = Producer({"bootstrap.servers": bootstrap})
    for number in range(6):
        writer.produce(source, str(number))
    writer.flush(TRANSACTION_S)
    producer = begun(bootstrap, sink)
    group = f"{source}-group"
    for commits in (False, True, False, True):
        with consuming(bootstrap, source, group=group, level="read_committed") as consumer:
            read = to_the_end(consumer)[:3]
            assert len(read) == 3
            write(producer, sink, *(f"of {(each.value() or b'').decode()}" for each in read))
            offsets = [TopicPartition(source, 0, (read[-1].offset() or 0) + 1)]
            producer.send_offsets_to_transaction(
                offsets, consumer.consumer_group_metadata(), TRANSACTION_S
            )
            if commits:
                producer.commit_transaction(TRANSACTION_S)
            else:
                producer.abort_transaction(TRANSACTION_S)
    assert values(bootstrap, sink, "read_committed") == [f"of {n}" for n in range(6)]
    with consuming(bootstrap, source, group=group, level="read_committed") as consumer:
        (committed,) = consumer.committed([TopicPartition(source, 0)], TRANSACTION_S)
        assert committed.offset == 6


def test_a_second_producer_of_the_id_fences_the_first(
    bootstrap: str, made: Callable[[str], str]
) -> None:
    topic = made("out")
    first = begun(bootstrap, topic)
    write(first, topic, "of the first")
    second = begun(bootstrap, topic)
    with pytest.raises(KafkaException) as fenced:
        first.commit_transaction(TRANSACTION_S)
    assert fenced.value.args[0].code() in (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH)
    write(second, topic, "of the second")
    second.commit_transaction(TRANSACTION_S)
    assert values(bootstrap, topic, "read_committed") == ["of the second"]


def test_what_a_producer_left_open_is_aborted_by_its_timeout(
    bootstrap: str, made: Callable[[str], str]
) -> None:
    topic = made("out")
    dead = begun(bootstrap, f"{topic}-dead", transaction_timeout_ms=1_000, message_timeout_ms=900)
    write(dead, topic, "lost")
    other = begun(bootstrap, f"{topic}-other")
    write(other, topic, "kept")
    other.commit_transaction(TRANSACTION_S)
    for _ in turns("the transaction is aborted"):
        if values(bootstrap, topic, "read_committed"):
            break
    assert values(bootstrap, topic, "read_committed") == ["kept"]
    with pytest.raises(KafkaException):
        dead.commit_transaction(TRANSACTION_S)
