"""The programs with which Kafka tests itself: its verifiable producer, its transactional copier and
its verifiable consumer, each killed at random and started again. What was acknowledged is in the
log, once and in order; each record is copied once; and of the copies those that are committed are
read, and no other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random  # noqa: TID251  # seeded; where a signal strikes is chance all the same.
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from compat_tests.golden import Fields, Golden, turns
from compat_tests.java.tools import Printed, Running, run

pytestmark = pytest.mark.jvm

KILLS = 2
"""Of each tool: a life costs a second, most of it Java's start."""
MOST_LINES = 200
RECORDS = 3_000
"""Of the last life of the producer: more lines than fit into the pipe between a tool and this test,
which so holds up a tool that would come to the end before it is killed."""
TRANSACTION, MOST_TRANSACTIONS = 20, 25
"""Records in one of the copier, and how many it begins before it is killed, of more than 150."""
TIMEOUT_MS = 5_000
"""Of the copier's transactions: before a life asks for its producer it asks for its offsets, which
a transaction that the life before has left open may hold back."""
SUCCESS = "producer_send_success"
SETTINGS = {
    "producer": "enable.idempotence=true\nretries=2147483647\nbatch.size=512\n",
    "consumer": "isolation.level=read_committed\nmax.poll.records=10\n",
}


class Kept(NamedTuple):
    offset: int
    value: str


class Lives:
    """Of tools, one after the other, each killed at some line that it prints."""

    def __init__(self, folder: Path) -> None:
        for name, settings in SETTINGS.items():
            (folder / f"{name}.properties").write_text(settings)
        self.folder = folder
        self.chance = Random(folder.name)
        self.running: Running | None = None

    def start(self, name: str, *arguments: str) -> Running:
        self.running = Running(name, arguments, self.folder)
        return self.running

    def kill(self, name: str, *arguments: str, at: str, most: int) -> Printed:
        """After a number of lines with this text, which chance tells."""
        running = self.start(name, *arguments)
        for _ in range(self.chance.randrange(1, most)):
            running.await_line(at)
        return running.kill()


@pytest.fixture
def lives(tmp_path: Path) -> Iterator[Lives]:
    lives = Lives(tmp_path)
    yield lives
    if lives.running is not None:
        lives.running.kill()


def said(printed: Printed, name: str) -> list[Fields]:
    """Its lines of that name; the last one of all is not whole if the signal struck amid it."""
    whole = printed.stdout[: printed.stdout.rfind("\n") + 1].splitlines()
    return [row for row in map(json.loads, whole) if row["name"] == name]


def kept(rows: list[Fields]) -> list[Kept]:
    return [Kept(row["offset"], row["value"]) for row in rows]


def in_log(bootstrap: str, topic: str, level: str) -> list[Kept]:
    """All that a consumer of this isolation level finds, up to the end that it is told of."""
    found: list[Kept] = []
    settings = {"bootstrap.servers": bootstrap, "group.id": topic, "isolation.level": level}
    with closing(Consumer({**settings, "enable.partition.eof": True})) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        for _ in turns(f"the end of {topic}"):
            message = consumer.poll(1)
            if message is not None and message.error() is not None:
                break
            if message is not None:
                found.append(Kept(message.offset() or 0, (message.value() or b"").decode()))
    return found


def produce(lives: Lives, bootstrap: str, topic: str) -> list[str]:
    """What is in the topic after lives of the producer: of each an unbroken row from the first
    value on, and in it all that was acknowledged, where it was said to be."""
    settings = ("--command-config", str(lives.folder / "producer.properties"))
    to = ("--bootstrap-server", bootstrap, "--topic", topic, *settings, "--value-prefix")
    tool = "kafka-verifiable-producer"
    printed = [lives.kill(tool, *to, str(i), at=SUCCESS, most=MOST_LINES) for i in range(KILLS)]
    printed.append(run(tool, [*to, str(KILLS), "--max-messages", str(RECORDS)]))
    assert printed[-1].status == 0, printed[-1]
    logged = in_log(bootstrap, topic, "read_uncommitted")
    values = [each.value for each in logged]
    for life, one in enumerate(printed):
        mine = [value for value in values if value.startswith(f"{life}.")]
        assert mine == [f"{life}.{number}" for number in range(len(mine))]
        acknowledged = kept(said(one, SUCCESS))
        assert acknowledged
        assert set(acknowledged) <= set(logged)
    assert values == sorted(values, key=lambda value: value.partition(".")[0])
    return values


def copy(lives: Lives, bootstrap: str, topic: str) -> list[Kept]:
    """What is committed in the copy after lives of the copier, which aborts a third of its
    transactions by itself. Most of those it aborts before their records have left it, so that one
    of ours is among them."""
    places = ("--input-topic", topic, "--input-partition", "0", "--output-topic", f"{topic}-copy")
    ids = ("--transactional-id", topic, "--consumer-group", f"{topic}-copier")
    sizes = ("--transaction-size", str(TRANSACTION), "--transaction-timeout", str(TIMEOUT_MS))
    how = ("--enable-random-aborts", "--use-group-metadata")
    arguments = ("--broker-list", bootstrap, *places, *ids, *sizes, *how)
    tool = "transactional-message-copier"
    for _ in range(KILLS):
        lives.kill(tool, *arguments, at="ProcessLoop", most=MOST_TRANSACTIONS)
    abort(bootstrap, f"{topic}-copy")
    last = run(tool, arguments)
    assert (last.status, json.loads(last.stdout.splitlines()[-1])["remaining"]) == (0, 0), last
    assert "ProcessLoop" in last.stdout, "the kills came when all was done"
    return in_log(bootstrap, f"{topic}-copy", "read_committed")


def abort(bootstrap: str, topic: str) -> None:
    """A transaction whose record is in the log."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"{topic}-aborted"})
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce(topic, b"aborted", partition=0)
    assert producer.flush(10) == 0
    producer.abort_transaction(10)


def consume(lives: Lives, bootstrap: str, topic: str, copies: list[Kept]) -> None:
    """Each life of the consumer reads a row of the copies, which begins no later than where the
    life before has ended, and no earlier than where that has committed."""
    settings = ("--command-config", str(lives.folder / "consumer.properties"))
    group = ("--group-id", f"{topic}-reader", "--group-instance-id", "only", "--verbose")
    tool = "kafka-verifiable-consumer"
    arguments = ("--bootstrap-server", bootstrap, "--topic", f"{topic}-copy", *group, *settings)
    printed = [
        lives.kill(tool, *arguments, at="record_data", most=MOST_LINES) for _ in range(KILLS)
    ]
    running = lives.start(tool, *arguments)
    running.await_line(f'"value":"{copies[-1].value}"')
    printed.append(running.stop())
    end, committed = 0, 0
    for one in printed:
        read = kept(said(one, "record_data"))
        start = copies.index(read[0])
        assert read == copies[start : start + len(read)]
        assert start <= end
        assert committed <= read[0].offset
        end = start + len(read)
        for commit in said(one, "offsets_committed"):
            for place in commit["offsets"]:  # Of none where a poll brought nothing.
                committed = place["offset"]


def test_kafkas_own_test_programs_killed_at_random(
    bootstrap: str, topic: str, lives: Lives
) -> None:
    Golden(bootstrap).fresh_topics({topic: {}, f"{topic}-copy": {}})
    values = produce(lives, bootstrap, topic)
    copies = copy(lives, bootstrap, topic)
    assert [each.value for each in copies] == values
    assert len(in_log(bootstrap, f"{topic}-copy", "read_uncommitted")) > len(copies)
    consume(lives, bootstrap, topic, copies)
