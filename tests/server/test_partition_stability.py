"""What readers of what is committed are told while followers have not caught up: a transaction
counts as ended once its marker is committed, not when it is written."""

from __future__ import annotations

from kafkalite.config.views import TopicConfig
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.opening import open_log
from kafkalite.log.validation import AppendOrigin
from kafkalite.protocol.records.control import EndTransactionMarker, build_end_transaction_batch
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.replica.leader import PartitionLeader
from kafkalite.server.partition import Partition
from kafkalite.types import (
    BrokerId,
    LeaderEpoch,
    Offset,
    ProducerEpoch,
    ProducerId,
    TimestampMs,
    Uuid,
)
from tests.log.log_fixtures import log_directory
from tests.server.led_partitions import follower_at

ME, OTHER = BrokerId(1), BrokerId(2)
NOW = TimestampMs(1_000)
TOPIC_ID = Uuid(bytes(15) + b"\x05")


class Watcher:
    """Counts the bytes that it hears of."""

    def __init__(self) -> None:
        self.seen = self.stable = 0

    def more(self, size_bytes: int, stable_bytes: int) -> None:
        self.seen += size_bytes
        self.stable += stable_bytes

    def wake(self) -> None:
        """A partition of this test wakes nobody."""

    def look_again(self) -> None:
        """Nor this."""


class World:
    def __init__(self, isr: frozenset[BrokerId]) -> None:
        config = TopicConfig()
        log = open_log(MemoryFiles(), "t-0", config=config, topic_id=TOPIC_ID, now=NOW, clean=True)
        self.partition = Partition("t", TOPIC_ID, 0, log, config, log_directory())
        self.leader = PartitionLeader(
            ME,
            leader_epoch=LeaderEpoch(0),
            isr=isr,
            end_offset=Offset(0),
            high_watermark=Offset(0),
        )
        self.partition.become_leader(self.leader)
        self.watcher = Watcher()
        self.partition.fetches[self.watcher] = None
        self.sequences: dict[int, int] = {}

    def write(self, producer: int) -> int:
        """A record in the producer's transaction: its size."""
        sequence = self.sequences.get(producer, 0)
        self.sequences[producer] = sequence + 1
        batch = build_batch(
            [Record(None, b"v", timestamp=NOW)],
            producer_id=ProducerId(producer),
            producer_epoch=ProducerEpoch(0),
            base_sequence=sequence,
            is_transactional=True,
        )
        self.partition.append(memoryview(batch), 1, NOW)
        return len(batch)

    def end(self, producer: int) -> int:
        batch = build_end_transaction_batch(
            EndTransactionMarker(is_commit=True, coordinator_epoch=0),
            producer_id=ProducerId(producer),
            producer_epoch=ProducerEpoch(0),
            timestamp=NOW,
        )
        self.partition.append(memoryview(batch), 1, NOW, AppendOrigin.COORDINATOR)
        return len(batch)


def test_a_transaction_ends_when_its_marker_is_committed() -> None:
    world = World(frozenset({ME, OTHER}))
    world.write(7)
    follower_at(world.partition, OTHER, 1)
    assert world.partition.last_stable_offset == 0
    world.end(7)
    assert world.partition.high_watermark == 1
    assert world.partition.last_stable_offset == 0, "the marker may still be lost"
    follower_at(world.partition, OTHER, 2)
    assert world.partition.last_stable_offset == 2


def test_readers_of_what_is_committed_hear_of_bytes_when_they_are_stable() -> None:
    world = World(frozenset({ME}))
    watcher = world.watcher
    size = world.write(7) + world.write(8) + world.write(7)
    assert (watcher.seen, watcher.stable) == (size, 0)
    size += world.end(7)
    assert watcher.stable > 0, "not known how much, so they look"
    told = watcher.stable
    size += world.end(8)
    assert watcher.seen == size
    assert watcher.stable == told + size
    size_of_next = world.write(7)
    assert watcher.stable == told + size
    size_of_next += world.end(7)
    assert watcher.stable == told + size + size_of_next
