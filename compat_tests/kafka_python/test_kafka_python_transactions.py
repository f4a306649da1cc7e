"""Transactions of kafka-python: committed, aborted, with offsets, fenced, left open."""

from __future__ import annotations

from contextlib import closing

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from compat_tests.golden import turns
from compat_tests.kafka_python.adapter import KafkaPythonClient

SEND_S = 60
POLL_MS = 200
PER_TRANSACTION = 3


def begun(bootstrap: str, id: str, *, timeout_ms: int = 60_000) -> KafkaProducer:
    producer = KafkaProducer(
        bootstrap_servers=bootstrap, transactional_id=id, transaction_timeout_ms=timeout_ms
    )
    producer.init_transactions()
    return producer


def write(producer: KafkaProducer, topic: str, *values: str) -> None:
    producer.begin_transaction()
    for value in values:
        producer.send(topic, value.encode(), partition=0)
    producer.flush(SEND_S)


def values(bootstrap: str, topic: str, level: str) -> list[str]:
    """All that stands in partition 0, as a consumer of that isolation level sees it."""
    partition = TopicPartition(topic, 0)
    found: list[str] = []
    with closing(
        KafkaConsumer(bootstrap_servers=bootstrap, isolation_level=level, group_id=None)
    ) as consumer:
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        end = consumer.end_offsets([partition])[partition]
        for _ in turns(f"the end of {topic}"):
            if consumer.position(partition) >= end:
                break
            for records in consumer.poll(POLL_MS).values():
                found += [record.value.decode() for record in records]
    return found


def test_committed_aborted_and_open(bootstrap: str, topic: str) -> None:
    KafkaPythonClient(bootstrap).create_topic(topic)
    with closing(begun(bootstrap, topic)) as producer:
        write(producer, topic, "a", "b")
        producer.commit_transaction()
        write(producer, topic, "x", "y")
        producer.abort_transaction()
        write(producer, topic, "c")
        producer.commit_transaction()
        write(producer, topic, "open")
        for _ in turns("the last commit is seen"):  # Its markers may come after its answer.
            if "c" in values(bootstrap, topic, "read_committed"):
                break
        assert values(bootstrap, topic, "read_committed") == ["a", "b", "c"]
        everything = ["a", "b", "x", "y", "c", "open"]
        assert values(bootstrap, topic, "read_uncommitted") == everything
        producer.commit_transaction()


def test_consume_transform_produce(bootstrap: str, topic: str) -> None:
    """Every other transaction is aborted and tried again."""
    client = KafkaPythonClient(bootstrap)
    source, sink = f"{topic}-in", f"{topic}-out"
    client.create_topic(source)
    client.create_topic(sink)
    partition = TopicPartition(source, 0)
    with closing(KafkaProducer(bootstrap_servers=bootstrap)) as writer:
        for number in range(2 * PER_TRANSACTION):
            writer.send(source, str(number).encode(), partition=0)
    with closing(begun(bootstrap, sink)) as producer:
        for commits in (False, True, False, True):
            with closing(
                KafkaConsumer(
                    bootstrap_servers=bootstrap,
                    group_id=topic,
                    enable_auto_commit=False,
                    auto_offset_reset="earliest",
                    isolation_level="read_committed",
                    max_poll_records=PER_TRANSACTION,
                )
            ) as consumer:
                consumer.assign([partition])
                records = []
                for _ in turns("enough to copy"):
                    records += consumer.poll(POLL_MS).get(partition, [])
                    if len(records) >= PER_TRANSACTION:
                        break
                records = records[:PER_TRANSACTION]
                write(producer, sink, *(record.value.decode() for record in records))
                offsets = {partition: OffsetAndMetadata(records[-1].offset + 1, "", -1)}
                producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
            if commits:
                producer.commit_transaction()
            else:
                producer.abort_transaction()
        right = [str(number) for number in range(2 * PER_TRANSACTION)]
        for _ in turns("the last commit is seen"):
            if right[-1] in values(bootstrap, sink, "read_committed"):
                break
        assert values(bootstrap, sink, "read_committed") == right
    with closing(KafkaConsumer(bootstrap_servers=bootstrap, group_id=topic)) as consumer:
        assert consumer.committed(partition) == 2 * PER_TRANSACTION


def test_a_second_producer_of_the_id_fences_the_first(bootstrap: str, topic: str) -> None:
    KafkaPythonClient(bootstrap).create_topic(topic)
    with closing(begun(bootstrap, topic)) as first:
        write(first, topic, "of the first")
        with closing(begun(bootstrap, topic)) as second:
            with pytest.raises(KafkaError) as fenced:
                first.commit_transaction()
            name = type(fenced.value).__name__
            assert name in ("ProducerFencedError", "InvalidProducerEpochError")
            write(second, topic, "of the second")
            second.commit_transaction()
            for _ in turns("the commit is seen"):
                if values(bootstrap, topic, "read_committed"):
                    break
            assert values(bootstrap, topic, "read_committed") == ["of the second"]
