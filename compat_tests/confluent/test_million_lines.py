"""Real input: a text file of a million lines, 100 MB, goes in as records and comes out as the same
file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

LINES = 1_000_000
ONSETS = "b bl c d dr f g gr h k l m n p pr r s st t tr v w z"
RHYMES = "a ade ain all and ar e eck ell en er i ick ill in o old on ope u ull um urn"
WAIT_S = 60


def phrases(count: int) -> list[str]:
    """Different texts of 80 to 100 letters, out of words of one to three syllables."""
    syllables = [onset + rhyme for onset in ONSETS.split() for rhyme in RHYMES.split()]
    made = []
    state = 1
    for _ in range(count):
        text = ""
        while len(text) < 82:
            state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
            picks = (state >> 20, state >> 32, state >> 44)[: 1 + (state >> 60) % 3]
            text += "".join(syllables[pick % len(syllables)] for pick in picks) + " "
        made.append(text.rstrip())
    return made


def lines() -> Iterator[str]:
    """Every line is different: it begins with its number."""
    texts = phrases(9_973)
    for i in range(LINES):
        yield f"{i:>9} {texts[i * 7_919 % 9_973]}\n"


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.txt"
    with path.open("w", encoding="ascii") as file:
        file.writelines(lines())
    assert 95e6 < path.stat().st_size < 110e6
    return path


def send(bootstrap: str, topic: str, book: Path) -> None:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "acks": "all",
            "linger.ms": 5,
            "enable.idempotence": True,
            "queue.buffering.max.messages": 200_000,
        }
    )
    failed: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failed.append(error)

    with book.open("rb") as file:
        for line in file:
            while True:
                try:
                    producer.produce(topic, line, partition=0, on_delivery=on_delivery)
                    break
                except BufferError:  # its queue is full: as much as the broker has to take first.
                    producer.poll(1)
            producer.poll(0)
    assert producer.flush(WAIT_S) == 0
    assert failed == []


def test_a_file_of_a_million_lines_comes_out_as_it_went_in(
    bootstrap: str, topic: str, book: Path
) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(WAIT_S)
    send(bootstrap, topic, book)

    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    came_out = hashlib.sha256()
    count = 0
    while count < LINES:
        batch = consumer.consume(10_000, WAIT_S)
        assert batch, f"{count} lines, then nothing in {WAIT_S} s"
        for message in batch:
            assert message.error() is None
            assert message.offset() == count
            value = message.value()
            assert value is not None
            came_out.update(value)
            count += 1
    _, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), WAIT_S)
    consumer.close()
    admin.delete_topics([topic])[topic].result(WAIT_S)

    assert high == LINES
    with book.open("rb") as file:
        assert came_out.digest() == hashlib.file_digest(file, "sha256").digest()
