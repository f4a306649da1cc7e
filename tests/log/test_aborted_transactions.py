"""Transactions in a log: what is stable, what was aborted, and the transaction index."""

from __future__ import annotations

import errno

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.log_cuts import truncate_to
from kafkalite.log.opening import open_log
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.transaction_index import AbortedTransaction, parse_transaction_index
from kafkalite.log.validation import AppendOrigin
from kafkalite.protocol.records.control import EndTransactionMarker, build_end_transaction_batch
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.types import LeaderEpoch, Offset, ProducerEpoch, ProducerId, TimestampMs, Uuid

FOLDER = "topic-0"
TOPIC_ID = Uuid(bytes(15) + b"\x07")
NOW = TimestampMs(1_000)
EPOCH = LeaderEpoch(0)


class World:
    def __init__(self) -> None:
        self.files = MemoryFiles(models_crashes=True)
        self.sequences: dict[tuple[int, int], int] = {}
        self.log = self.open(clean=True)

    def open(self, *, clean: bool, recovery_point: int = 0) -> PartitionLog:
        return open_log(
            self.files,
            FOLDER,
            config=TopicConfig(),
            topic_id=TOPIC_ID,
            now=NOW,
            clean=clean,
            recovery_point=Offset(recovery_point),
        )

    def write(self, producer: int, epoch: int = 0, count: int = 1) -> None:
        """A batch of a transaction."""
        sequence = self.sequences.get((producer, epoch), 0)
        self.sequences[producer, epoch] = sequence + count
        records = [Record(None, b"of %d" % producer, timestamp=NOW)] * count
        batch = build_batch(
            records,
            producer_id=ProducerId(producer),
            producer_epoch=ProducerEpoch(epoch),
            base_sequence=sequence,
            is_transactional=True,
        )
        append_as_leader(self.log, memoryview(batch), leader_epoch=EPOCH, now=NOW)

    def end(
        self,
        producer: int,
        epoch: int = 0,
        *,
        commits: bool,
        coordinator_epoch: int = 0,
        bumps: bool = False,
    ) -> None:
        batch = build_end_transaction_batch(
            EndTransactionMarker(commits, coordinator_epoch),
            producer_id=ProducerId(producer),
            producer_epoch=ProducerEpoch(epoch),
            timestamp=NOW,
        )
        append_as_leader(
            self.log,
            memoryview(batch),
            leader_epoch=EPOCH,
            now=NOW,
            origin=AppendOrigin.COORDINATOR,
            marker_bumps_epoch=bumps,
        )

    def unstable_from(self) -> int | None:
        return self.log.producers.first_unstable_offset

    def aborted(self, offset: int, max_bytes: int = 1 << 20) -> list[tuple[int, int, int]]:
        """What a reader of what is committed is told: producer, first and last offset."""
        read = self.log.read(
            Offset(offset),
            max_bytes=max_bytes,
            max_offset=self.log.end_offset,
            first_batch_whole=True,
            tells_aborted=True,
        )
        return [(each.producer_id, each.first_offset, each.last_offset) for each in read.aborted]


def written(world: World, base_offset: int) -> list[AbortedTransaction]:
    """The index of that segment, as the disk has it."""
    file = world.files.open_read(f"{FOLDER}/{base_offset:020d}.txnindex")
    return parse_transaction_index(file.read(0, file.size))


def test_what_is_stable_ends_where_the_oldest_open_transaction_began() -> None:
    world = World()
    assert world.unstable_from() is None
    world.write(7)
    world.write(8)
    world.write(7)
    assert world.unstable_from() == 0
    world.end(7, commits=True)
    assert world.unstable_from() == 1
    world.end(8, commits=False)
    assert world.unstable_from() is None


@pytest.mark.parametrize("commits", [True, False])
def test_what_has_ended_is_stable_once_its_marker_is_committed(commits: bool) -> None:
    world = World()
    world.write(7)
    world.write(8)
    world.end(7, commits=commits)
    producers = world.log.producers
    assert [producers.last_stable_offset(Offset(at)) for at in (1, 2)] == [0, 0]
    assert producers.last_stable_offset(Offset(3)) == 1
    world.end(8, commits=commits)
    assert producers.last_stable_offset(Offset(3)) == 1
    assert producers.has_transactions
    assert producers.last_stable_offset(Offset(4)) == 4
    assert not producers.has_transactions


def test_an_aborted_transaction_is_told_to_whoever_reads_its_records() -> None:
    world = World()
    world.write(7, count=3)
    world.end(7, commits=False)
    world.write(8)
    world.end(8, commits=True)
    assert world.aborted(0) == [(7, 0, 3)]
    assert world.aborted(3) == [(7, 0, 3)]
    assert world.aborted(4) == []


def test_a_transaction_without_records_is_not_in_the_index() -> None:
    world = World()
    world.write(7)
    world.end(7, commits=False)
    world.end(7, commits=False)
    assert world.log.segments[0].aborted.all == [
        AbortedTransaction(ProducerId(7), Offset(0), Offset(1), Offset(2))
    ]


def test_the_index_tells_what_was_stable_beside_other_open_transactions() -> None:
    world = World()
    world.write(8)
    world.write(7)
    world.end(7, commits=False)
    assert world.log.segments[0].aborted.all[0].last_stable_offset == 0


@pytest.mark.parametrize("clean", [True, False])
def test_the_index_is_there_after_a_stop_and_after_a_crash(clean: bool) -> None:
    world = World()
    world.write(7)
    world.log.roll(NOW)
    world.write(8)
    world.end(7, commits=False)
    world.log.roll(NOW)
    world.end(8, commits=False)
    world.write(7)
    if clean:
        world.log.close()
    else:
        world.files.remove(f"{FOLDER}/{1:020d}.txnindex")  # As if the disk never had it.
    world.log = world.open(clean=clean)
    assert world.aborted(0) == [(7, 0, 2)]
    assert world.aborted(1) == [(7, 0, 2), (8, 1, 3)]
    assert world.log.producers.first_unstable_offset == 4
    middle, last = world.log.segments[1:]
    assert written(world, 1) == middle.aborted.all
    world.log.close()
    assert written(world, 3) == last.aborted.all != []


def test_a_marker_after_a_start_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in the log by then: a disk that refuses would lose what it aborts."""
    world = World()
    world.write(7)
    world.end(7, commits=False)
    world.log.close()
    world.log = world.open(clean=True)
    world.write(7)

    def refuse(path: str) -> None:
        raise OSError(errno.EIO, "Input/output error", path)

    with monkeypatch.context() as patch:
        patch.setattr(world.files, "open_read", refuse)
        world.end(7, commits=False)
    assert world.aborted(0) == [(7, 0, 1), (7, 2, 3)]


@pytest.mark.parametrize("was_saved", [False, True])
def test_what_is_cut_is_in_no_index(was_saved: bool) -> None:
    world = World()
    for _ in range(2):
        world.write(7)
        world.end(7, commits=False)
    if was_saved:
        world.log.close()
    truncate_to(world.log, Offset(3))
    assert world.aborted(0) == [(7, 0, 1)]
    assert world.log.producers.first_unstable_offset == 2
    world.log.close()
    world.log = world.open(clean=True)
    assert world.aborted(0) == [(7, 0, 1)]


def test_a_fenced_coordinator_and_a_fenced_producer_write_no_markers() -> None:
    world = World()
    world.write(7, epoch=3)
    with pytest.raises(KafkaError) as refused:
        world.end(7, epoch=2, commits=True)
    assert refused.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
    world.end(7, epoch=3, commits=True, coordinator_epoch=5)
    world.write(7, epoch=3)
    with pytest.raises(KafkaError) as refused:
        world.end(7, epoch=3, commits=True, coordinator_epoch=4)
    assert refused.value.code is ErrorCode.TRANSACTION_COORDINATOR_FENCED


def test_a_marker_that_bumps_has_an_epoch_above_its_transaction() -> None:
    world = World()
    world.write(7, epoch=3)
    with pytest.raises(KafkaError) as refused:
        world.end(7, epoch=3, commits=True, bumps=True)
    assert refused.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
    world.end(7, epoch=4, commits=True, bumps=True)
    world.end(7, epoch=4, commits=True, bumps=True)
    world.write(7, epoch=4)
    assert world.log.producers.is_in_transaction(ProducerId(7), ProducerEpoch(4))
    assert not world.log.producers.is_in_transaction(ProducerId(7), ProducerEpoch(3))
