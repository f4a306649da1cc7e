"""What compacting the same log costs the real Kafka's cleaner and kafkalite's.

    .venv/bin/python -m benchmarks.compaction_beside_kafka [--codec zstd] [--page]

kafkalite makes a data folder with the same records in several topics and stops. Kafka starts on it,
compacts them one after the other, and says in its log what that took; copies of the same partitions
are compacted here, in one thread and without the cleaner's throttle. MB/s counts the log's bytes
once, as Kafka does. Each topic is a round: the first warms Kafka's JVM up. With --page it measures
records that are not compressed, and in zstd, and writes COMPACTION.md beside this file.
"""

from __future__ import annotations

import argparse
import datetime
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import NamedTuple

from confluent_kafka import Producer

from benchmarks.results import HERE, machine
from compat_tests.confluent.adapter import ConfluentClient
from compat_tests.confluent.admin import ConfluentAdmin
from compat_tests.process import KafkaliteProcess
from kafkalite.config.views import TopicConfig
from kafkalite.log.compaction import LogCleaning
from kafkalite.log.compaction_plan import find_cleanable
from kafkalite.log.compaction_records import OffsetMap
from kafkalite.log.files_os import OsFiles
from kafkalite.log.opening import open_log
from kafkalite.ports.clock import RealClock
from kafkalite.types import ZERO_UUID

KAFKA = Path(__file__).parents[1] / "compat_tests" / "oracle" / "kafka"
TOPICS = ("one", "two", "three")
SEGMENT_BYTES = 1 << 20
MAX_KEYS = 10_000_000
DEADLINE_S = 120
_CLEANED = re.compile(r"cleaned log (\w+)-0 .*?([\d.,]+) MB of log processed in ([\d.,]+) s", re.S)


def fill(folder: Path, *, codec: str, records: int, keys: int) -> None:
    """The same records in each topic."""
    broker = KafkaliteProcess.start(folder, settings={"log.cleaner.enable": "false"})
    settings = {"cleanup.policy": "compact", "segment.bytes": str(SEGMENT_BYTES)}
    for topic in TOPICS:
        ConfluentClient(broker.address).create_topic(topic)
        ConfluentAdmin(broker.address).set_configs(topic, settings)
        producer = Producer(
            {
                "bootstrap.servers": broker.address,
                "compression.type": codec,
                "linger.ms": 20,
                "batch.size": 16 << 10,
            }
        )
        chance = Random(1)
        for number in range(records):
            key, value = f"k{chance.randrange(keys):07d}", f"v{number:07d}" + "x" * 80
            producer.produce(topic, value, key)
            if number % 10_000 == 0:
                producer.flush()
        producer.close()
    assert broker.stop() == 0


def kafkas_rounds(root: Path) -> dict[str, float]:
    """MB/s of each topic, as Kafka's log has it."""
    settings = ("--config", "log.cleaner.backoff.ms=100")
    start = [str(KAFKA), "start", "--port", "0", "--data", str(root), *settings]
    subprocess.run(start, capture_output=True, timeout=DEADLINE_S, check=True)
    found: dict[str, float] = {}
    until = time.monotonic() + DEADLINE_S
    try:
        while len(found) < len(TOPICS) and time.monotonic() < until:
            time.sleep(0.2)
            for topic, size, seconds in _CLEANED.findall((root / "broker.log").read_text()):
                if topic in TOPICS:
                    found.setdefault(topic, _number(size) / max(_number(seconds), 0.1))
    finally:
        subprocess.run([KAFKA, "stop", root], capture_output=True, timeout=60, check=True)
    return found


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def our_round(root: Path, topic: str) -> tuple[float, float]:
    """MB/s by the clock, and by the processor time."""
    files, now = OsFiles(str(root)), RealClock().now_ms()
    config = TopicConfig(cleanup_policy=("compact",), segment_bytes=SEGMENT_BYTES)
    name = f"{topic}-0"
    log = open_log(files, name, config=config, topic_id=ZERO_UUID, now=now, clean=True)
    job = LogCleaning(
        files,
        find_cleanable(log, checkpoint=None, high_watermark=log.end_offset, now=now),
        offsets=OffsetMap(MAX_KEYS),
        piece_bytes=64 << 10,
        now=now,
        on_retired=lambda retired: retired.remove(),
    )
    began, cpu = time.perf_counter(), time.process_time()
    for step in job.steps():
        step.run()
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    log.release_files()
    return job.read_bytes / 1e6 / wall, job.read_bytes / 1e6 / cpu


class Round(NamedTuple):
    """One topic compacted, in MB of its log."""

    kafka: float
    """A second."""
    kafkalite: float
    """A second."""
    a_cpu_second: float
    """Of kafkalite's."""


def measure(codec: str, *, records: int, keys: int) -> dict[str, Round]:
    """By topic. `KeyError` when Kafka's cleaner did not come to one in time."""
    root = Path(tempfile.mkdtemp(prefix="kafkalite-bench-"))
    try:
        fill(root / "logs", codec=codec, records=records, keys=keys)
        for topic in TOPICS:
            shutil.copytree(root / "logs" / f"{topic}-0", root / "ours" / f"{topic}-0")
        theirs = kafkas_rounds(root)
        return {topic: Round(theirs[topic], *our_round(root / "ours", topic)) for topic in TOPICS}
    finally:
        shutil.rmtree(root)


def page(rounds: dict[str, dict[str, Round]], *, records: int, keys: int) -> str:
    """COMPACTION.md."""
    today = datetime.datetime.now(datetime.UTC).date()
    return "\n".join(
        [
            "# Compaction: kafkalite and the real Kafka's cleaner, on the same logs",
            "",
            "Written by `python -m benchmarks.compaction_beside_kafka --page` on "
            f"{today}; not edited by hand. Apache Kafka 4.4.0 with its default cleaner, and "
            "kafkalite's in one thread without its throttle, each on its own copy of a log of "
            f"{records:,} records with {keys:,} keys in segments of {SEGMENT_BYTES >> 20} MiB. MB "
            "of that log a second; Kafka's are from its own log, and its first round warms it up.",
            "",
            "Machine: " + "; ".join(machine()) + ".",
            "",
            "| codec | round | Kafka, MB/s | kafkalite, MB/s | ratio | MB a cpu second of it |",
            "| --- | --- | ---: | ---: | ---: | ---: |",
            *(
                f"| {codec} | {topic} | {each.kafka:.1f} | {each.kafkalite:.1f} | "
                f"{each.kafkalite / each.kafka:.2f} | {each.a_cpu_second:.1f} |"
                for codec, topics in rounds.items()
                for topic, each in topics.items()
            ),
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--codec", default="none")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--page", action="store_true", help="write COMPACTION.md")
    options = parser.parse_args()
    rounds: dict[str, dict[str, Round]] = {}
    for codec in ("none", "zstd") if options.page else (options.codec,):
        rounds[codec] = measure(codec, records=options.records, keys=options.keys)
        for topic, each in rounds[codec].items():
            sys.stdout.write(
                f"{codec} {topic}: Kafka {each.kafka:.1f} MB/s, kafkalite {each.kafkalite:.1f} "
                f"MB/s, {each.a_cpu_second:.1f} MB a cpu second\n"
            )
    if options.page:
        text = page(rounds, records=options.records, keys=options.keys)
        (HERE / "COMPACTION.md").write_text(text)


if __name__ == "__main__":
    main()
