"""What compacting a log costs, by codec and by how many of its keys differ.

    .venv/bin/python benchmarks/micro_compaction.py [--folder /dev/shm]

Each row is one round over a log that is all dirty: batches of 150 records of about 104 bytes. MB/s
counts the log's bytes once, as Kafka's cleaner does in its log. The best of three rounds, and the
processor time of it: on a machine that does other things too, the wall clock says little."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time

from kafkalite.config.views import TopicConfig
from kafkalite.log.compaction import LogCleaning
from kafkalite.log.compaction_plan import find_cleanable
from kafkalite.log.compaction_records import OffsetMap
from kafkalite.log.files_os import OsFiles
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.opening import open_log
from kafkalite.log.partition_log import PartitionLog
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.types import LeaderEpoch, TimestampMs, Uuid

NOW = TimestampMs(1_700_000_000_000)
RECORDS = 150_000
RECORDS_PER_BATCH = 150
ROUNDS = 3


def filled(files: OsFiles, codec: Compression, keys: int) -> PartitionLog:
    log = open_log(
        files,
        "bench-0",
        config=TopicConfig(cleanup_policy=("compact",), segment_bytes=8 << 20),
        topic_id=Uuid(bytes(15) + b"b"),
        now=NOW,
        clean=True,
    )
    for first in range(0, RECORDS, RECORDS_PER_BATCH):
        records = [
            Record(b"key-%09d" % (number * 7919 % keys), b"%09d" % number * 9, (), NOW)
            for number in range(first, first + RECORDS_PER_BATCH)
        ]
        batch = memoryview(build_batch(records, compression=codec))
        append_as_leader(log, batch, leader_epoch=LeaderEpoch(0), now=NOW)
    log.roll(NOW)
    return log


def row(root: str, codec: Compression, keys: int) -> None:
    best = best_cpu = float("inf")
    size = 0
    for _ in range(ROUNDS):
        shutil.rmtree(f"{root}/data", ignore_errors=True)
        os.mkdir(f"{root}/data")
        files = OsFiles(f"{root}/data")
        log = filled(files, codec, keys)
        size = log.size_bytes
        job = LogCleaning(
            files,
            find_cleanable(log, checkpoint=None, high_watermark=log.end_offset, now=NOW),
            offsets=OffsetMap.within(128 << 20, 0.9),
            piece_bytes=256 << 10,
            now=NOW,
            on_retired=lambda retired: retired.remove(),
        )
        start, cpu = time.perf_counter(), time.process_time()
        for step in job.steps():
            step.run()
        best = min(best, time.perf_counter() - start)
        best_cpu = min(best_cpu, time.process_time() - cpu)
        log.release_files()
    name = f"compaction, {codec.name.lower()}, {keys / RECORDS:.0%} of the keys differ"
    print(
        f"{name:46} {best / RECORDS * 1e6:6.2f} us {size / best / 1e6:8.1f} MB/s"
        f" {best_cpu / RECORDS * 1e6:8.2f} us of cpu {size / best_cpu / 1e6:8.1f} MB/s of cpu"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", default=None, help="where to write")
    root = tempfile.mkdtemp(prefix="kafkalite-bench-", dir=parser.parse_args().folder)
    try:
        print(f"python {sys.version.split()[0]}, {os.cpu_count()} cores, a record")
        for codec in (Compression.NONE, Compression.LZ4, Compression.ZSTD):
            for keys in (RECORDS // 100, RECORDS):
                row(root, codec, keys)
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
