"""kcat, as people use it in a shell. It makes topics by writing to them, and deletes none."""

from __future__ import annotations

import json
import queue
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from compat_tests.client_cases import MANY, Codec
from compat_tests.confluent.adapter import ConfluentClient
from compat_tests.group_cases import fill
from compat_tests.programs import program
from compat_tests.sample import BASE_TIMESTAMP
from compat_tests.stored import stored_codecs
from compat_tests.watching_relay import WITNESS
from kafkalite.protocol.records.compression import Compression

pytestmark = pytest.mark.kcat

PATIENCE_S = 60
ASSIGNED = re.compile(r"% Group \S+ rebalanced \(memberid \S+\): assigned: (?P<places>.*)")
PLACE = re.compile(r"\[(\d+)\]")

Kcat = Callable[..., str]


@pytest.fixture
def kcat(bootstrap: str) -> Kcat:
    """Runs it to its end; gives what it wrote on stdout."""
    command = program("kcat")

    def run(*options: str, lines: str = "") -> str:
        done = subprocess.run(
            [*command, "-b", bootstrap, *options],
            input=lines,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2_000:]
        return done.stdout

    return run


class Member:
    """A kcat in a group, which prints `PARTITION OFFSET` of each record."""

    def __init__(self, bootstrap: str, group: str, topic: str) -> None:
        options = ["-X", "auto.offset.reset=earliest", "-X", "session.timeout.ms=30000"]
        options += ["-X", "heartbeat.interval.ms=500"]
        self._process = subprocess.Popen(
            ["kcat", "-b", bootstrap, *options, "-u", "-f", "%p %o\n", "-G", group, topic],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._said: queue.Queue[str] = queue.Queue()
        self._readers = [
            threading.Thread(target=self._read, args=[stream])
            for stream in (self._process.stdout, self._process.stderr)
        ]
        for reader in self._readers:
            reader.start()
        self.received: list[tuple[int, int]] = []
        self.assigned: list[int] = []

    def _read(self, stream: Any) -> None:  # Any: a text stream, which may be None for mypy.
        for line in stream:
            self._said.put(line.strip())

    def listen(self) -> None:
        """Take in one line of what it says, waiting a moment for it."""
        try:
            line = self._said.get(timeout=0.05)
        except queue.Empty:
            return
        assigned = ASSIGNED.match(line)
        if assigned:
            self.assigned = sorted(map(int, PLACE.findall(assigned["places"])))
        elif line[:1].isdigit():
            partition, offset = line.split()
            self.received.append((int(partition), int(offset)))

    def leave(self) -> int:
        """As with Ctrl-C: it commits, and leaves."""
        self._process.send_signal(signal.SIGINT)
        code = self._process.wait(PATIENCE_S)
        for reader in self._readers:
            reader.join()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()
        return code


@pytest.fixture
def join(bootstrap: str, topic: str) -> Iterator[Callable[[], Member]]:
    joined: list[Member] = []

    def join() -> Member:
        program("kcat")
        joined.append(Member(bootstrap, topic, topic))
        return joined[-1]

    yield join
    for member in joined:
        if member._process.returncode is None:
            member.leave()


def listen_until(condition: Callable[[], bool], *members: Member) -> None:
    deadline = time.perf_counter() + PATIENCE_S
    while not condition():
        state = [(member.assigned, len(member.received)) for member in members]
        assert time.perf_counter() < deadline, f"assigned and number of records: {state}"
        for member in members:
            member.listen()


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_field_of_10000_records_comes_back(
    kcat: Kcat, bootstrap: str, topic: str, codec: Codec
) -> None:
    keys = [None if i % 11 == 0 else f"key-{i % 101}" for i in range(MANY)]
    values = [None if i % 13 == 5 else f"value {i} " + "x" * (i * 7 % 211) for i in range(MANY)]
    lines = "".join(f"{key or ''}|{value or ''}\n" for key, value in zip(keys, values, strict=True))
    headers = ["-H", "trace=1", "-H", "trace=", "-H", "other=two"]
    began = time.time_ns() // 1_000_000
    kcat("-P", "-t", topic, "-p", "0", "-z", codec, "-K", "|", "-Z", *headers, lines=lines)
    ended = time.time_ns() // 1_000_000

    stored = stored_codecs(bootstrap, topic) - {Compression.NONE}
    assert stored == {Compression[codec.upper()]} - {Compression.NONE}
    told = kcat("-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-q", "-J")
    got = [json.loads(line) for line in told.splitlines()]
    assert [each["offset"] for each in got] == list(range(MANY))
    assert [each["key"] for each in got] == keys
    assert [each["payload"] for each in got] == values
    assert all(each["headers"] == ["trace", "1", "trace", "", "other", "two"] for each in got)
    assert all(began <= each["ts"] <= ended and each["tstype"] == "create" for each in got)


def test_a_topic_is_described(kcat: Kcat, bootstrap: str, topic: str) -> None:
    ConfluentClient(bootstrap, WITNESS).create_topic(topic, 3)
    told = json.loads(kcat("-L", "-J", "-t", topic))
    assert bootstrap in [broker["name"] for broker in told["brokers"]]
    (described,) = told["topics"]
    assert [each["partition"] for each in described["partitions"]] == [0, 1, 2]
    assert all(each["leader"] == each["isrs"][0]["id"] for each in described["partitions"])


def test_two_members_share_and_one_leaves(
    bootstrap: str, topic: str, join: Callable[[], Member]
) -> None:
    client = ConfluentClient(bootstrap, WITNESS)
    client.create_topic(topic, 4)
    fill(client, topic, 4, 50)
    first = join()
    listen_until(lambda: len(first.received) == 200, first)
    assert first.assigned == [0, 1, 2, 3]
    second = join()
    listen_until(lambda: len(first.assigned) == len(second.assigned) == 2, first, second)
    assert sorted(first.assigned + second.assigned) == [0, 1, 2, 3]
    fill(client, topic, 4, 10, first=50)
    listen_until(lambda: len(first.received) + len(second.received) >= 240, first, second)
    everything = [(partition, offset) for partition in range(4) for offset in range(60)]
    assert sorted(first.received + second.received) == everything
    assert second.leave() == 0
    listen_until(lambda: first.assigned == [0, 1, 2, 3], first)


def test_a_new_member_resumes_where_the_last_committed(
    kcat: Kcat, bootstrap: str, topic: str
) -> None:
    client = ConfluentClient(bootstrap, WITNESS)
    client.create_topic(topic)
    fill(client, topic, 1, 30)
    options = ["-X", "auto.offset.reset=earliest", "-q", "-f", "%o\n", "-G", topic, topic]
    offsets = [str(n) for n in range(30)]
    assert kcat("-c", "20", *options).split() == offsets[:20]
    assert kcat("-e", *options).split() == offsets[20:]  # to the end.
    assert kcat("-e", *options).split() == []


def test_seeking_by_time(kcat: Kcat, bootstrap: str, topic: str) -> None:
    client = ConfluentClient(bootstrap, WITNESS)
    client.create_topic(topic)
    fill(client, topic, 1, 40)
    for after, offset in ((-1, 0), (10_000, 10), (10_001, 11), (39_001, -1)):
        told = kcat("-Q", "-t", f"{topic}:0:{BASE_TIMESTAMP + after}")
        assert told == f"{topic} [0] offset {offset}\n"
    start = f"s@{BASE_TIMESTAMP + 9_500}"
    got = kcat("-C", "-t", topic, "-p", "0", "-o", start, "-e", "-q", "-f", "%o\n")
    assert got.split() == [str(n) for n in range(10, 40)]
