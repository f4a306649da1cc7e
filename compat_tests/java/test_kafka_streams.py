"""A word count of Kafka Streams with `exactly_once_v2`: killed inside open transactions and started
again, it gives every word each of its counts, once and in order."""

from __future__ import annotations

import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from compat_tests.golden import Fields, Golden, turns
from compat_tests.java.jars import class_path, programs

pytestmark = pytest.mark.jvm

PARTITIONS = 2
KILLS = 3
WORDS = ("who", "kills", "a", "counter", "counts", "twice", "or", "does", "not", "who")
POLL_S = 0.1
FLUSH_S = 60


class WordCount:
    """Lives of the program, one after the other."""

    def __init__(self, command: tuple[str, ...], bootstrap: str, name: str, folder: Path) -> None:
        self._command = (*command, bootstrap, name, str(folder / "state"))
        self._folder = folder
        self._golden = Golden(bootstrap)
        self._producer = Producer({"bootstrap.servers": bootstrap})
        self._process: subprocess.Popen[bytes] | None = None
        self._lines = 0
        self.name = name
        self.expected: Counter[str] = Counter()

    def start(self) -> None:
        with (self._folder / "streams.txt").open("a") as sink:
            self._process = subprocess.Popen(self._command, stdout=sink, stderr=sink)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def send_lines(self, count: int) -> None:
        for _ in range(count):
            number = self._lines = self._lines + 1
            words = [WORDS[(number * each) % len(WORDS)] for each in range(1, 8)]
            self.expected.update(words)
            self._producer.produce(f"{self.name}-lines", " ".join(words), partition=number % 2)
        assert self._producer.flush(FLUSH_S) == 0

    def open_transactions(self) -> list[Fields]:
        """Those of the program that have written counts, not yet committed."""
        asked = {"state_filters": ["Ongoing"], "producer_id_filters": []}
        listed = self._golden.call("ListTransactions", 0, asked)["transaction_states"]
        ids = [each["transactional_id"] for each in listed]
        mine = {"transactional_ids": [id for id in ids if id.startswith(self.name)]}
        answer = self._golden.call("DescribeTransactions", 0, mine)
        described: list[Fields] = answer["transaction_states"]
        return [
            each
            for each in described
            if each["transaction_state"] == "Ongoing"
            and f"{self.name}-counts" in [topic["topic"] for topic in each["topics"]]
        ]

    def output(self) -> str:
        return (self._folder / "streams.txt").read_text()[-3_000:]


@pytest.fixture
def word_count(bootstrap: str, topic: str, tmp_path: Path) -> Iterator[WordCount]:
    jars = f"{programs('streams')}:{class_path('streams')}"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    made = [NewTopic(f"{topic}-lines", PARTITIONS, 1), NewTopic(f"{topic}-counts", 1, 1)]
    for future in admin.create_topics(made).values():
        future.result(FLUSH_S)
    options = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    command = ("java", *options, "-cp", jars, "WordCount")
    counting = WordCount(command, bootstrap, topic, tmp_path)
    counting.start()
    yield counting
    counting.kill()


def counts(
    bootstrap: str, topic: str, *, level: str, until: Callable[[int], bool]
) -> dict[str, list[int]]:
    """All counts that came for each word, in order, as a consumer of that isolation level sees
    them; it waits until it has seen enough."""
    seen: dict[str, list[int]] = defaultdict(list)
    total = 0
    settings = {"bootstrap.servers": bootstrap, "group.id": topic, "isolation.level": level}
    with closing(Consumer({**settings, "auto.offset.reset": "earliest"})) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        for _ in turns(f"the counts that are {level}"):
            message = consumer.poll(POLL_S)
            if message is None:
                if until(total):
                    break
                continue
            assert message.error() is None, message.error()
            seen[(message.key() or b"").decode()].append(int(message.value() or b""))
            total += 1
    return seen


def kill_inside_a_transaction(word_count: WordCount) -> None:
    """What it sent last may still have ended the one that was seen: then once more."""
    for _ in turns("a kill inside a transaction"):
        word_count.send_lines(1)
        if not word_count.open_transactions():
            continue
        word_count.kill()
        if word_count.open_transactions():
            break
        word_count.start()


def test_killed_inside_its_transactions_it_counts_every_word_once(
    bootstrap: str, word_count: WordCount
) -> None:
    for _ in range(KILLS):
        kill_inside_a_transaction(word_count)
        word_count.start()
    word_count.send_lines(20)
    total = word_count.expected.total()
    sink = f"{word_count.name}-counts"
    seen = counts(bootstrap, sink, level="read_committed", until=lambda count: count >= total)
    right = {word: list(range(1, n + 1)) for word, n in word_count.expected.items()}
    assert seen == right, word_count.output()
    everything = counts(
        bootstrap, sink, level="read_uncommitted", until=lambda count: count >= total
    )
    assert sum(map(len, everything.values())) > total, (
        "the kills have left nothing that was aborted"
    )
