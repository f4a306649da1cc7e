"""The real Kafka and kafkalite compact the same log: what they leave is the same, byte for byte.

Kafka's folder is copied before it is told to compact the topic, and the copy is compacted here.
Batches of all codecs, records without keys, tombstones, idempotent producers and transactions are
in it. The last segment is left alone by both.

Snappy is on its own, and its batches are compared decompressed: one batch in twelve comes out of
Kafka's library (`snappy-java`, which has Google's) some bytes longer or shorter than out of ours.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest
from confluent_kafka import Producer

from compat_tests.confluent.adapter import ConfluentClient
from compat_tests.confluent.admin import ConfluentAdmin
from compat_tests.real_kafka import RealKafka
from compat_tests.test_dump_log import COMPLAINTS, dump_log
from compat_tests.waiting import wait_until
from kafkalite.config.views import TopicConfig
from kafkalite.log.checkpoints import CLEANER_OFFSETS, read_offsets
from kafkalite.log.compaction import LogCleaning
from kafkalite.log.compaction_plan import find_cleanable
from kafkalite.log.compaction_records import OffsetMap, record_bytes
from kafkalite.log.files_os import OsFiles
from kafkalite.log.opening import open_log
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.scan import scan_batches
from kafkalite.ports.clock import RealClock
from kafkalite.ports.entropy import SeededEntropy
from kafkalite.protocol.records.batch import BatchHeader
from kafkalite.types import ZERO_UUID, Offset, TimestampMs, TopicPartition

T = TypeVar("T")

pytestmark = [pytest.mark.jvm, pytest.mark.needs_process]

CONFIG = TopicConfig(
    cleanup_policy=("compact",),
    segment_bytes=4000,
    index_interval_bytes=512,
    delete_retention_ms=1,
)
SETTINGS = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "internal.segment.bytes": "4000",
    "index.interval.bytes": "512",
    "delete.retention.ms": "1",
    "min.cleanable.dirty.ratio": "0.0001",
    "file.delete.delay.ms": "0",
}
FIRST_MS = 1_700_000_000_000
NEVER_MS = 2**62
TEMPORARY = (".cleaned", ".swap", ".deleted")
EXACT_CODECS = ("none", "gzip", "lz4", "zstd")
"""Those that both compress to the same bytes."""
KEYS = [None, *(f"k{number}" for number in range(12)), "a key that is longer than a digest"]
VALUES = [None, "", "x", "v" * 40, "w" * 140]


class Cluster(NamedTuple):
    """The real Kafka, and where its partitions are."""

    address: str
    logs: Path

    def create(self, topic: str, timestamps: str) -> None:
        ConfluentClient(self.address).create_topic(topic)
        settings = SETTINGS | {"message.timestamp.type": timestamps}
        ConfluentAdmin(self.address).set_configs(topic, settings)

    def set_policy(self, topic: str, policy: str) -> None:
        admin = ConfluentAdmin(self.address)
        admin.set_configs(topic, {"cleanup.policy": policy})
        wait_until(lambda: admin.topic_configs(topic)["cleanup.policy"] == policy, "the policy")

    def cleaned_to(self, topic: str) -> Offset | None:
        return read_offsets(OsFiles(str(self.logs)), CLEANER_OFFSETS).get(TopicPartition(topic, 0))

    def has_cleaned(self, topic: str, before: Offset | None) -> bool:
        """Whether it has cleaned on since then."""
        return self.cleaned_to(topic) != before


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    data = tmp_path_factory.mktemp("kafka")
    settings = {
        "log.cleaner.backoff.ms": "50",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1",
    }
    kafka = RealKafka(data, settings)
    yield Cluster(kafka.address, data / "logs")
    kafka.end("stopped")


class Writer:
    """Producers of all kinds, and what they send by chance."""

    def __init__(self, address: str, topic: str, codecs: Sequence[str], seed: int) -> None:
        self.topic = topic
        self.chance = SeededEntropy(seed)
        self.now_ms = FIRST_MS
        self.plain = [self.producer(address, {"compression.type": codec}) for codec in codecs]
        self.idempotent = [self.producer(address, {"enable.idempotence": True}) for _ in range(2)]
        self.transactional = [
            self.producer(
                address, {"transactional.id": f"{topic}-{number}", "compression.type": codec}
            )
            for number, codec in enumerate(codecs[:2])
        ]
        for producer in self.transactional:
            producer.init_transactions(30)

    def producer(self, address: str, settings: dict[str, object]) -> Producer:
        return Producer({"bootstrap.servers": address, "linger.ms": 10} | settings)

    def one_of(self, choices: Sequence[T]) -> T:
        return choices[int(self.chance.random() * len(choices))]

    def send(self, producer: Producer) -> None:
        """One batch."""
        for _ in range(self.one_of(range(1, 8))):
            self.now_ms += self.one_of([0, 1, 1000, -500])
            producer.produce(
                self.topic,
                key=self.one_of(KEYS),
                value=self.one_of(VALUES),
                headers=[("h", b"1"), ("n", None)] if self.chance.random() < 0.2 else [],
                timestamp=self.now_ms,
            )
        producer.flush()

    def transact(self) -> None:
        """A transaction, with another producer's batch amid it; committed or aborted."""
        producer = self.one_of(self.transactional)
        producer.begin_transaction()
        self.send(producer)
        self.send(self.one_of(self.plain))
        if self.chance.random() < 0.5:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)

    def fill(self, rounds: int) -> None:
        for _ in range(rounds):
            kind = self.chance.random()
            if kind < 0.5:
                self.send(self.one_of(self.plain))
            elif kind < 0.7:
                self.send(self.one_of(self.idempotent))
            else:
                self.transact()


def files_of(folder: Path) -> dict[str, bytes]:
    """All files of segments but those of the last one, which is active."""
    active = max(file.stem for file in folder.glob("*.log"))
    return {
        file.name: file.read_bytes()
        for file in folder.iterdir()
        if file.suffix in {".log", ".index", ".timeindex", ".txnindex", ".snapshot"}
        and file.stem < active
    }


def decompressed(folder: Path) -> dict[str, list[tuple[BatchHeader, bytes]]]:
    """The batches of each closed segment; their headers without what the compressed bytes make."""
    files, active = OsFiles(str(folder)), active_segment(folder)
    found = {}
    for path in folder.glob("*.log"):
        if int(path.stem) < active:
            file = files.open_read(path.name)
            found[path.name] = [
                (batch.header._replace(batch_length=0, crc=0), record_bytes(batch))
                for batch in scan_batches(file, 0, file.size)
            ]
            file.close()
    return found


def active_segment(folder: Path) -> int:
    return max(int(file.stem) for file in folder.glob("*.log"))


def horizons(folder: Path) -> set[TimestampMs]:
    """Delete horizons of all batches."""
    files, found = OsFiles(str(folder)), set()
    for path in folder.glob("*.log"):
        file = files.open_read(path.name)
        found |= {
            batch.header.base_timestamp
            for batch in scan_batches(file, 0, file.size)
            if batch.header.has_delete_horizon
        }
        file.close()
    return found


def open_copy(root: Path, topic: str) -> PartitionLog:
    return open_log(
        OsFiles(str(root)),
        f"{topic}-0",
        config=CONFIG,
        topic_id=ZERO_UUID,
        now=TimestampMs(FIRST_MS),
        clean=False,
        producer_expiration_ms=NEVER_MS,
    )


def compact(root: Path, log: PartitionLog, checkpoint: Offset | None, now: TimestampMs) -> Offset:
    job = LogCleaning(
        OsFiles(str(root)),
        find_cleanable(log, checkpoint=checkpoint, high_watermark=log.end_offset, now=now),
        offsets=OffsetMap(10_000),
        piece_bytes=1 << 18,
        now=now,
        on_retired=lambda retired: retired.remove(),
    )
    for step in job.steps():
        step.run()
    return job.end_offset


def temporary(folder: Path) -> list[str]:
    """Files of a cleaning that is under way, or was a moment ago."""
    return [file.name for file in folder.iterdir() if file.name.endswith(TEMPORARY)]


def copy_if_at_rest(cluster: Cluster, topic: str, root: Path) -> bool:
    """Copy Kafka's folder; False when it changed meanwhile, or a transaction is open in it: markers
    are written a moment after the commit is answered, and a policy is followed a moment after it
    was set."""
    theirs = cluster.logs / f"{topic}-0"
    shutil.rmtree(root, ignore_errors=True)
    checkpoint = cluster.cleaned_to(topic)
    try:
        shutil.copytree(theirs, root / theirs.name)
    except shutil.Error:
        return False
    if temporary(theirs) or temporary(root / theirs.name):
        return False
    is_decided = open_copy(root, topic).producers.first_unstable_offset is None
    return is_decided and cluster.cleaned_to(topic) == checkpoint


class BothCleaned(NamedTuple):
    """The folder of one partition after a round of each."""

    ours: Path
    theirs: Path


def clean_with_both(
    cluster: Cluster, topic: str, tmp_path: Path, writer: Writer
) -> Iterator[BothCleaned]:
    """Three rounds; each begins with what Kafka left."""
    theirs = cluster.logs / f"{topic}-0"
    for round, rounds in enumerate((40, 20, 10)):
        writer.fill(rounds)
        while active_segment(theirs) <= (cluster.cleaned_to(topic) or 0):
            writer.fill(5)  # Or else there is nothing new that may be cleaned.
        root = tmp_path / str(round)
        wait_until(partial(copy_if_at_rest, cluster, topic, root), "the last marker")
        checkpoint = cluster.cleaned_to(topic)
        before = horizons(root / theirs.name)
        cluster.set_policy(topic, "compact")
        wait_until(partial(cluster.has_cleaned, topic, checkpoint), "the cleaner")
        cluster.set_policy(topic, "delete")
        wait_until(lambda: not temporary(theirs), "the old files to go")

        new = horizons(theirs) - before
        assert len(new) <= 1
        now = TimestampMs(new.pop() - 1) if new else RealClock().now_ms()
        log = open_copy(root, topic)
        end_offset = compact(root, log, checkpoint, now)
        assert end_offset == cluster.cleaned_to(topic)
        yield BothCleaned(root / theirs.name, theirs)
        log.release_files()


@pytest.mark.parametrize("timestamps", ["CreateTime", "LogAppendTime"])
def test_both_leave_the_same(cluster: Cluster, topic: str, tmp_path: Path, timestamps: str) -> None:
    cluster.create(topic, timestamps)
    writer = Writer(cluster.address, topic, EXACT_CODECS, seed=6)
    for cleaned in clean_with_both(cluster, topic, tmp_path, writer):
        ours = files_of(cleaned.ours)
        assert len(ours) > 5
        assert ours == files_of(cleaned.theirs)

    text = dump_log(sorted(cleaned.ours.glob("*.log")), "--deep-iteration")
    assert not COMPLAINTS.search(text), COMPLAINTS.findall(text)
    assert "deleteHorizonMs: OptionalLong[" in text


def test_both_leave_the_same_of_snappy(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    cluster.create(topic, "CreateTime")
    writer = Writer(cluster.address, topic, ["snappy"], seed=7)
    for cleaned in clean_with_both(cluster, topic, tmp_path, writer):
        ours = decompressed(cleaned.ours)
        assert any(ours.values())
        assert ours == decompressed(cleaned.theirs)
