"""Frameworks for stream processing: programs that consume and produce, as separate processes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from compat_tests.frameworks.worker import ECHOES, FAUST_COUNTER, Program, Worker

PARTITIONS = 2
KINDS = ("tea", "rum", "oil")
_WITHIN_S = 60.0

EACH_ECHO = pytest.mark.parametrize("program", ECHOES.values(), ids=ECHOES)


class Line:
    """A program between two topics, with as many workers as the test starts."""

    def __init__(self, bootstrap: str, topic: str, program: Program, folder: Path) -> None:
        self._bootstrap = bootstrap
        self._program = program
        self._folder = folder
        self._source, self._sink = f"{topic}-source", f"{topic}-sink"
        admin = AdminClient({"bootstrap.servers": bootstrap})
        made = admin.create_topics([NewTopic(self._source, PARTITIONS), NewTopic(self._sink, 1)])
        for result in made.values():
            result.result(_WITHIN_S)
        self._producer = Producer({"bootstrap.servers": bootstrap})
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": f"{topic}-test"})
        self._consumer.assign([TopicPartition(self._sink, 0, OFFSET_BEGINNING)])
        self._workers: list[Worker] = []

    def start(self, name: str) -> Worker:
        worker = Worker(
            self._program,
            bootstrap=self._bootstrap,
            source=self._source,
            sink=self._sink,
            name=name,
            folder=self._folder,
        )
        self._workers.append(worker)
        return worker

    def send(self, texts: Sequence[str]) -> None:
        """Each kind to a partition of its own, in order."""
        for text in texts:
            partition = KINDS.index(text.partition("-")[0]) % PARTITIONS
            self._producer.produce(self._source, text, partition=partition)
        assert self._producer.flush(_WITHIN_S) == 0

    def receive(self, count: int) -> list[list[str]]:
        """The next lines of the sink, in words."""
        return [self._receive_one() for _ in range(count)]

    def receive_all(self, texts: Sequence[str]) -> None:
        """The next lines, up to the last of these. Each may come more than once."""
        missing = set(texts)
        while missing:
            missing.discard(self._receive_one()[1])

    def receive_until(self, is_enough: Callable[[list[str]], bool]) -> None:
        """The next lines, up to one that is enough."""
        while not is_enough(self._receive_one()):
            """Go on."""

    def _receive_one(self) -> list[str]:
        message = self._consumer.poll(_WITHIN_S)
        assert message is not None, "".join(["nothing came\n", *self._logs()])
        assert message.error() is None, message.error()
        value = message.value()
        assert isinstance(value, bytes)
        return value.decode().split()

    def _logs(self) -> Iterator[str]:
        for worker in self._workers:
            yield from worker.log

    def close(self) -> None:
        for worker in self._workers:
            worker.kill()
        self._consumer.close()


@pytest.fixture
def line(bootstrap: str, topic: str, program: Program, tmp_path: Path) -> Iterator[Line]:
    line = Line(bootstrap, topic, program, tmp_path)
    yield line
    line.close()


def of_each_kind(numbers: range) -> list[str]:
    return [f"{kind}-{number}" for number in numbers for kind in KINDS]


@EACH_ECHO
def test_each_record_comes_out_once_in_order(line: Line) -> None:
    sent = of_each_kind(range(100))
    line.send(sent)
    worker = line.start("one")
    received = line.receive(len(sent))
    worker.stop()
    assert {words[0] for words in received} == {"one"}
    for kind in KINDS:
        texts = [words[1] for words in received if words[1].startswith(kind)]
        assert texts == [f"{kind}-{number}" for number in range(100)]


@EACH_ECHO
def test_a_restart_misses_nothing(line: Line) -> None:
    """What came out last may come again: its offset may not have been committed."""
    for life in range(2):
        sent = of_each_kind(range(10 * life, 10 * life + 10))
        line.send(sent)
        worker = line.start(f"life-{life}")
        line.receive_all(sent)
        worker.stop()


@EACH_ECHO
def test_workers_share_the_partitions_and_one_takes_over(line: Line) -> None:
    numbers = itertools.count()

    def both_work(words: list[str]) -> bool:
        working[words[0]] += 1
        number = next(numbers)
        line.send(of_each_kind(range(number, number + 1)))
        return len(working) == 2

    working: Counter[str] = Counter()
    first, second = line.start("first"), line.start("second")
    line.send(["tea-begin", "rum-begin"])
    line.receive_until(both_work)
    first.stop()
    last = [f"{kind}-last" for kind in KINDS]
    line.send(last)
    line.receive_all(last)
    second.stop()


@pytest.mark.parametrize("program", [FAUST_COUNTER], ids=["faust"])
def test_a_table_is_read_back_from_its_changelog(line: Line) -> None:
    """Records are sent once the worker is ready. Of those that wait while it reads its table back,
    faust-streaming 0.15.3 loses some every other time, on the real Kafka too."""
    counts: Counter[str] = Counter()
    for life in range(2):
        worker = line.start(f"life-{life}")
        worker.wait_ready()
        line.send(of_each_kind(range(10)))
        for words in line.receive(10 * len(KINDS)):
            kind = words[1].partition("-")[0]
            counts[kind] += 1
            assert int(words[2]) == counts[kind]
        worker.stop()
    assert counts == dict.fromkeys(KINDS, 20)
