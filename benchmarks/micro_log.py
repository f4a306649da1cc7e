"""What appending and reading cost the log package, beside the plain system calls.

    .venv/bin/python benchmarks/micro_log.py [--seconds 1] [--folder /dev/shm]

Each row is the best of five rounds, in microseconds a call and MB/s. The floor rows are CRC-32C
plus one `os.write`, which no log can go below. A folder in memory shows what Python costs; one on a
disk shows its writeback as well."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial

from crc32c import crc32c

from kafkalite.config.views import TopicConfig
from kafkalite.log.files_os import OsFiles
from kafkalite.log.opening import open_log
from kafkalite.protocol.records.batch import compute_crc, read_header, write_header
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.types import LeaderEpoch, Offset, ProducerEpoch, ProducerId, TimestampMs, Uuid

NOW = TimestampMs(1_700_000_000_000)
EPOCH = LeaderEpoch(0)
ROUNDS = 5
LIMIT_BYTES = 256 << 20


def batch_of(size: int, **options: object) -> bytearray:
    record = Record(None, b"v" * (size - 80), (), NOW)
    return build_batch([record], **options)  # type: ignore[arg-type]  # options of build_batch.


def measure(name: str, size: int, seconds: float, call: Callable[[], object]) -> float:
    """Prints a row; the microseconds of one call."""
    rounds = []
    for _ in range(ROUNDS):
        count, start = 0, time.perf_counter()
        while (elapsed := time.perf_counter() - start) < seconds / ROUNDS:
            for _ in range(50):
                call()
            count += 50
        rounds.append(elapsed / count * 1e6)
    micros = min(rounds)
    rate = f"{size / micros:10.0f} MB/s" if size else ""
    print(f"{name:46} {micros:8.2f} us {rate}")
    return micros


class Restarting:
    """A log on disk that begins anew before it fills the disk."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.count = 0
        self.begin()

    def begin(self) -> None:
        shutil.rmtree(f"{self.root}/data", ignore_errors=True)
        self.left = LIMIT_BYTES
        self.files = OsFiles(f"{self.root}/data")
        self.log = open_log(
            self.files,
            "bench-0",
            config=TopicConfig(),
            topic_id=Uuid(bytes(15) + b"b"),
            now=NOW,
            clean=True,
        )

    def append(self, view: memoryview) -> None:
        self.left -= len(view)
        if self.left < 0:
            self.log.close()
            self.begin()
        view[0:8] = bytes(8)
        self.log.append_as_leader(view, leader_epoch=EPOCH, now=NOW)


def floor(path: str, data: memoryview) -> Callable[[], None]:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    written = 0

    def call() -> None:
        nonlocal written
        crc32c(data[21:])
        if written > LIMIT_BYTES:
            os.lseek(fd, 0, os.SEEK_SET)
            os.ftruncate(fd, 0)
            written = 0
        written += os.write(fd, data)

    return call


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=1.0, help="a row")
    parser.add_argument("--folder", default=None, help="where to write")
    options = parser.parse_args()
    seconds = options.seconds
    root = tempfile.mkdtemp(prefix="kafkalite-bench-", dir=options.folder)
    try:
        print(f"python {sys.version.split()[0]}, {os.cpu_count()} cores")
        for size in (200, 16 << 10, 1 << 20):
            data = memoryview(batch_of(size))
            floor_us = measure(
                f"floor: crc + write, {size} bytes", size, seconds, floor(f"{root}/floor", data)
            )
            bench = Restarting(root)
            micros = measure(f"append, {size} bytes", size, seconds, partial(bench.append, data))
            print(
                f"{'':46} {floor_us / micros:8.0%} of the floor, {micros - floor_us:.2f} us above"
            )
            read_rows(bench, seconds)
            bench.log.close()
        idempotent(root, seconds)
    finally:
        shutil.rmtree(root)


def read_rows(bench: Restarting, seconds: float) -> None:
    log = bench.log
    end = log.end_offset
    tail, state = Offset(end - 1), [0]

    def read(offset: Offset) -> None:
        found = log.read(offset, max_bytes=1 << 20, max_offset=end, first_batch_whole=True)
        found.part.release()  # type: ignore[union-attr]  # There is something to read.

    def scattered() -> None:
        state[0] = (state[0] * 1103515245 + 12345) % end
        read(Offset(state[0]))

    measure("  read of the last batch", 0, seconds / 2, lambda: read(tail))
    measure(f"  read anywhere in {end} offsets", 0, seconds / 2, scattered)


def idempotent(root: str, seconds: float) -> None:
    size = 16 << 10
    data = memoryview(
        batch_of(size, producer_id=ProducerId(7), producer_epoch=ProducerEpoch(0), base_sequence=0)
    )
    bench = Restarting(root)
    sequence = [0]

    def call() -> None:
        write_header(
            data, read_header(data)._replace(base_offset=Offset(0), base_sequence=sequence[0])
        )
        data[17:21] = compute_crc(data, 0, len(data)).to_bytes(4, "big")
        sequence[0] += 1
        bench.append(data)

    measure("append, idempotent, with a new header and CRC", size, seconds, call)


if __name__ == "__main__":
    main()
