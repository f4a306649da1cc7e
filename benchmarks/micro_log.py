"""What the log package alone costs: appends beside the plain system calls, reads, opening, memory.

    .venv/bin/python benchmarks/micro_log.py [--seconds 1] [--folder /dev/shm] [--json FILE]

Each row is the best of five rounds (of appends, twenty); what is compared runs in turn within each.
The limit of an append is CRC-32C plus one `os.write` of the batch, which no log can go below. A
folder in memory shows what Python costs; one on a disk shows its writeback as well. Each append has
the batch as a client sent it: its header was made before, and is put in place within the time.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from random import Random
from typing import NamedTuple

from crc32c import crc32c

from kafkalite.config.views import TopicConfig
from kafkalite.log.directories import LogDirectory
from kafkalite.log.files_os import OsFiles
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.opening import open_log
from kafkalite.log.os_file import OsSlice
from kafkalite.log.partition_log import PartitionLog
from kafkalite.protocol.records.batch import HEADER_SIZE, read_header, write_header
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.types import (
    BrokerEpoch,
    BrokerId,
    LeaderEpoch,
    Offset,
    ProducerEpoch,
    ProducerId,
    TimestampMs,
    TopicPartition,
    Uuid,
)

NOW = TimestampMs(1_700_000_000_000)
EPOCH = LeaderEpoch(0)
TOPIC_ID = Uuid(bytes(15) + b"b")
ROUNDS = 5
APPEND_ROUNDS = 20
"""Shorter ones: what else the machine does hits some of them, and not the best."""
LIMIT_BYTES = 256 << 20
SIZES = {"200 B": 200, "16 KiB": 16 << 10, "1 MiB": 1 << 20}
BATCHES = 1000
"""That the logs which are read have, in however many segments."""
SEGMENTS = (1, 100, 1000)
PARTITIONS, SEGMENTS_OF_EACH = 1000, 10
IDLE_PARTITIONS = 10_000


class Row(NamedTuple):
    """One number; `rounds` are all that were measured."""

    name: str
    value: float
    unit: str
    rounds: tuple[float, ...]


class Report:
    """The rows so far; each is printed as it comes."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def add(self, name: str, unit: str, rounds: list[float], best: Callable[..., float]) -> float:
        """`best`: min or max."""
        row = Row(name, best(rounds), unit, tuple(rounds))
        self.rows.append(row)
        print(f"{name:52} {row.value:12.5g} {unit}", flush=True)
        return row.value


def batch_of(size: int) -> bytearray:
    """One batch of one record, of about so many bytes."""
    return build_batch([Record(None, b"v" * (size - 80), (), NOW)])


def open_one(
    files: OsFiles, name: str = "bench-0", config: TopicConfig | None = None
) -> PartitionLog:
    """A clean log."""
    config = config or TopicConfig()
    return open_log(files, name, config=config, topic_id=TOPIC_ID, now=NOW, clean=True)


def files_in(root: str) -> OsFiles:
    """A folder that is there."""
    os.makedirs(root, exist_ok=True)
    return OsFiles(root)


def seconds_of(calls: int, call: Callable[[], object]) -> float:
    """For one call."""
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


class Appending:
    """Appends to a log that begins anew before it fills the disk."""

    def __init__(self, root: str, data: memoryview, headers: Iterator[bytes]) -> None:
        self.root = root
        self.data = data
        self.headers = headers
        self.left = 0
        self.log: PartitionLog | None = None

    def __call__(self) -> None:
        self.left -= len(self.data)
        if self.log is None or self.left < 0:
            if self.log is not None:
                self.log.close()
            shutil.rmtree(self.root, ignore_errors=True)
            self.log = open_one(files_in(self.root))
            self.left = LIMIT_BYTES
        self.data[:HEADER_SIZE] = next(self.headers)
        append_as_leader(self.log, self.data, leader_epoch=EPOCH, now=NOW)


class Writing:
    """The limit: the system call alone, or with the CRC before it."""

    def __init__(self, root: str, data: memoryview, *, with_crc: bool) -> None:
        self.fd = os.open(f"{root}/write-{with_crc}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        self.data = data
        self.with_crc = with_crc
        self.left = LIMIT_BYTES

    def __call__(self) -> None:
        if self.with_crc:
            crc32c(self.data[21:])
        self.left -= len(self.data)
        if self.left < 0:
            os.lseek(self.fd, 0, os.SEEK_SET)
            os.ftruncate(self.fd, 0)
            self.left = LIMIT_BYTES
        os.write(self.fd, self.data)


def idempotent_headers(data: bytearray, count: int) -> list[bytes]:
    """Of that batch, as one producer sends it again and again: each with the next sequence."""
    header = read_header(data)
    made = []
    for sequence in range(count):
        of_producer = header._replace(
            producer_id=ProducerId(7), producer_epoch=ProducerEpoch(0), base_sequence=sequence
        )
        write_header(data, of_producer)
        made.append(bytes(data[:HEADER_SIZE]))
    return made


def append_rows(report: Report, root: str, seconds: float) -> None:
    """Write, CRC plus write, and appends, in turn."""
    for label, size in SIZES.items():
        calls = max(int(seconds / APPEND_ROUNDS / 4 * 3e9 / (size + 20_000)), 20)
        plain, numbered = batch_of(size), batch_of(size)
        headers = idempotent_headers(numbered, calls * APPEND_ROUNDS)
        data = memoryview(plain)
        contestants: dict[str, Callable[[], None]] = {
            "os.write": Writing(root, data, with_crc=False),
            "crc + os.write": Writing(root, data, with_crc=True),
            "append": Appending(f"{root}/append", data, repeat(bytes(data[:HEADER_SIZE]))),
            "idempotent append": Appending(
                f"{root}/idempotent", memoryview(numbered), iter(headers)
            ),
        }
        taken: dict[str, list[float]] = {name: [] for name in contestants}
        for _ in range(APPEND_ROUNDS):
            for name, call in contestants.items():
                taken[name].append(seconds_of(calls, call))
        best = {}
        for name, rounds in taken.items():
            rates = [size / each / 1e6 for each in rounds]
            best[name] = report.add(f"{name}, {label}", "MB/s", rates, max)
        for name in ("append", "idempotent append"):
            share = 100 * best[name] / best["crc + os.write"]
            report.add(f"{name} of the limit, {label}", "%", [share], max)


def read_rows(report: Report, root: str, seconds: float) -> None:
    """A read at a random offset of the same batches, in more and more segments."""
    size = len(batch_of(4096))
    logs = {}
    for count in SEGMENTS:
        config = TopicConfig(segment_bytes=size * (BATCHES // count))
        log = open_one(files_in(f"{root}/read-{count}"), config=config)
        for _ in range(BATCHES):
            append_as_leader(log, memoryview(batch_of(4096)), leader_epoch=EPOCH, now=NOW)
        assert len(log.segments) == count
        logs[count] = log
    offsets = [Offset(each) for each in Random(1).choices(range(BATCHES), k=1000)]
    taken: dict[int, list[float]] = {count: [] for count in SEGMENTS}
    for _ in range(ROUNDS):
        for count, log in logs.items():
            start, reads = time.perf_counter(), 0
            while time.perf_counter() - start < seconds / ROUNDS / len(logs):
                read_all(log, offsets)
                reads += len(offsets)
            taken[count].append(reads / (time.perf_counter() - start))
    best = {
        count: report.add(f"read(offset), {count} segments", "1/s", rounds, max)
        for count, rounds in taken.items()
    }
    slower = best[SEGMENTS[0]] / best[SEGMENTS[-1]]
    report.add("read(offset), 1,000 segments against 1", "x slower", [slower], max)
    for log in logs.values():
        log.close()


def read_all(log: PartitionLog, offsets: list[Offset]) -> None:
    """One batch at each of them."""
    end = log.end_offset
    for offset in offsets:
        found = log.read(offset, max_bytes=1 << 20, max_offset=end, first_batch_whole=True)
        assert isinstance(found.part, OsSlice)
        found.part.release()


def open_rows(report: Report, root: str) -> None:
    """One log of 1,000 segments; 1,000 logs of 10 segments."""
    rounds = [
        1000 * seconds_of(1, lambda: open_one(files_in(f"{root}/read-{SEGMENTS[-1]}")))
        for _ in range(ROUNDS)
    ]
    report.add("open, 1,000 segments", "ms", rounds, min)
    location = f"{root}/many"
    directory = open_directory(location)
    config = TopicConfig(segment_bytes=1)
    for index in range(PARTITIONS):
        log = directory.open_partition(key(index), topic_id=TOPIC_ID, config=config, now=NOW)
        for _ in range(SEGMENTS_OF_EACH):
            log.roll(NOW)
            config = log.config._replace(segment_bytes=1 << 20)
            log.configure(config)
            append_as_leader(log, memoryview(batch_of(200)), leader_epoch=EPOCH, now=NOW)
    close(directory)
    rounds = []
    for _ in range(ROUNDS):
        directory = open_directory(location)
        assert directory.claimed.was_clean
        start = time.perf_counter()
        for index in range(PARTITIONS):
            directory.open_partition(key(index), topic_id=TOPIC_ID, config=config, now=NOW)
        rounds.append(time.perf_counter() - start)
        close(directory)
    report.add("open, 1,000 partitions of 10 segments", "s", rounds, min)


def memory_row(report: Report, root: str) -> None:
    """What a partition without records takes, of the log package alone."""
    directory = open_directory(f"{root}/idle")
    config = TopicConfig()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for index in range(IDLE_PARTITIONS):
        directory.open_partition(key(index), topic_id=TOPIC_ID, config=config, now=NOW)
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    directory.abandon()
    report.add("memory of an idle partition's log", "bytes", [taken / IDLE_PARTITIONS], min)


def key(index: int) -> TopicPartition:
    return TopicPartition("bench", index)


def open_directory(location: str) -> LogDirectory:
    return LogDirectory.open(
        OsFiles(location),
        location=location,
        node_id=BrokerId(1),
        new_cluster_id="bench",
        new_directory_id=TOPIC_ID,
    )


def close(directory: LogDirectory) -> None:
    for parts in directory.close(broker_epoch=BrokerEpoch(1), high_watermarks={}):
        for part in parts:
            part()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="for what is compared")
    parser.add_argument("--folder", default=None, help="where to write")
    parser.add_argument("--json", type=Path, help="a file for the rows")
    options = parser.parse_args()
    root = tempfile.mkdtemp(prefix="kafkalite-bench-", dir=options.folder)
    report = Report()
    print(f"python {sys.version.split()[0]}, {os.cpu_count()} cores")
    try:
        append_rows(report, root, options.seconds)
        read_rows(report, root, options.seconds)
        open_rows(report, root)
        memory_row(report, root)
    finally:
        shutil.rmtree(root)
    if options.json:
        options.json.write_text(json.dumps([row._asdict() for row in report.rows], indent=1))


if __name__ == "__main__":
    main()
