"""A loop of transactions in Java, each a few records and the offsets up to which they were read,
killed at random and started again: every record of the input is in the output once, in order. With
an old client, that is with the first version of the protocol; `test_verifiable_tools.py` has such a
loop with the second."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random  # noqa: TID251  # seeded; where a signal strikes is chance all the same.

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from compat_tests.golden import turns
from compat_tests.java.jars import class_path

pytestmark = pytest.mark.jvm

LIBRARY = "clients-2.8"
PARTITIONS = 2
RECORDS = 600
"""In each partition: as many as take a few lives to copy."""
KILLS = 5
MOST_BETWEEN_KILLS = 200
"""Records written between the start of a life and its end."""
TIMEOUT_S = 60


@pytest.fixture
def start(
    classes: Path, bootstrap: str, topic: str
) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Starts a life of the loop."""
    started: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        jars = os.pathsep.join([str(classes), class_path(LIBRARY)])
        options = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
        logging = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
        process = subprocess.Popen(
            ["java", *options, logging, "-cp", jars, "Main", LIBRARY, "copy-loop", topic],
            env={**os.environ, "BOOTSTRAP": bootstrap, "BASE_TIMESTAMP": "0"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def fill(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    made = [NewTopic(name, PARTITIONS, 1) for name in (topic, f"{topic}-copy")]
    for future in admin.create_topics(made).values():
        future.result(TIMEOUT_S)
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(RECORDS):
        for partition in range(PARTITIONS):
            producer.produce(topic, str(number), partition=partition)
    assert producer.flush(TIMEOUT_S) == 0


def written(consumer: Consumer, topic: str) -> int:
    """How far the partitions of the copy have grown: records of all transactions, and markers."""
    return sum(
        consumer.get_watermark_offsets(TopicPartition(topic, partition), TIMEOUT_S)[1]
        for partition in range(PARTITIONS)
    )


def read(bootstrap: str, topic: str, level: str) -> list[list[int]]:
    """The values in each partition up to its end, as that isolation level sees them."""
    values: list[list[int]] = [[] for _ in range(PARTITIONS)]
    settings = {"bootstrap.servers": bootstrap, "group.id": topic, "isolation.level": level}
    with closing(Consumer({**settings, "enable.partition.eof": True})) as consumer:
        consumer.assign(
            [TopicPartition(topic, index, OFFSET_BEGINNING) for index in range(PARTITIONS)]
        )
        ends = 0
        for _ in turns("the ends of the copy"):
            message = consumer.poll(1)
            if message is not None and message.error() is None:
                values[message.partition() or 0].append(int(message.value() or b""))
            elif message is not None:
                ends += 1
                if ends == PARTITIONS:
                    break
    return values


def test_a_copy_loop_killed_at_random_copies_every_record_once(
    start: Callable[[], subprocess.Popen[str]], bootstrap: str, topic: str
) -> None:
    chance = Random(LIBRARY)
    fill(bootstrap, topic)
    copy = f"{topic}-copy"
    settings = {"bootstrap.servers": bootstrap, "group.id": topic}
    with closing(Consumer(settings)) as consumer:
        for _ in range(KILLS):
            process = start()
            until = written(consumer, copy) + chance.randrange(MOST_BETWEEN_KILLS)
            for _ in turns("enough was copied for a kill"):
                if written(consumer, copy) > until:
                    break
            assert process.poll() is None, process.communicate()
            process.kill()
            process.wait()
    stdout, stderr = start().communicate(timeout=TIMEOUT_S)
    facts = json.loads(stdout.splitlines()[-1])
    assert facts["ok"], stderr
    assert facts["copied"], "the kills came when all was done"
    right = [list(range(RECORDS))] * PARTITIONS
    assert read(bootstrap, copy, "read_committed") == right
