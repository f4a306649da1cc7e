"""Aborted transactions of segments that grow, of more logs than there is room for: they go and come
with the indexes, and readers are told of each."""

from __future__ import annotations

import errno
import tracemalloc

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.loaded_indexes import LoadedIndexes
from kafkalite.log.transaction_index import (
    AbortedTransaction,
    AbortedTransactions,
)
from kafkalite.types import Offset, ProducerId
from tests.log.compaction_fixtures import Transactional
from tests.log.growing_logs import LEAST_BYTES, LIMIT_BYTES, WatchedFiles, grow, opened, spill
from tests.log.log_fixtures import NOW
from tests.log.refusing_disk import RefusingDisk


class Aborting(Transactional):
    """A log in which all transactions are aborted."""

    def __init__(self, room: LoadedIndexes, files: MemoryFiles | None = None) -> None:
        super().__init__(files=files or WatchedFiles())
        self.log = opened(self.files, room, config=TopicConfig())

    def abort(self, count: int) -> None:
        """Each is two batches: one of data, and the marker."""
        for _ in range(count):
            sequence = self.log.end_offset // 2
            self.send(7, sequence, ("a", "1"))
            self.end(7, commit=False)

    def told(self, offset: int, max_bytes: int = 1) -> list[int]:
        """Where those begin that a reader from that offset on is told of."""
        found = self.log.read(
            Offset(offset),
            max_bytes=max_bytes,
            max_offset=self.log.end_offset,
            first_batch_whole=True,
            tells_aborted=True,
        )
        assert isinstance(found.part, memoryview)
        found.part.release()
        return [entry.first_offset for entry in found.aborted]


def test_those_of_a_segment_that_grows_are_in_the_room_too() -> None:
    room = LoadedIndexes(LIMIT_BYTES)
    world = Aborting(room)
    for _ in range(10):
        world.abort(200)
        segment = world.log.segments[-1]
        assert room.size_bytes <= segment.held.size_bytes <= room.size_bytes + LEAST_BYTES
    other = opened(world.files, room, 1)
    grow(other)
    assert world.log.segments[-1].aborted.size_bytes == 0
    world.abort(1)
    assert world.log.segments[-1].aborted.size_bytes == 34, "it needs no other to come"
    for offset in range(0, 4002, 400):
        assert world.told(offset)[0] == offset
    assert [entry.first_offset for entry in segment.aborted.all] == list(range(0, 4002, 2))
    world.log.close()
    again = opened(world.files)
    assert again.segments[-1].aborted.all == segment.aborted.all


def test_those_of_closed_segments_go_and_come() -> None:
    room = LoadedIndexes(LIMIT_BYTES)
    world = Aborting(room)
    for _ in range(10):
        world.abort(200)
        world.log.roll(NOW)
    segments = world.log.segments[:-1]
    for _ in range(2):
        for segment in segments:
            assert world.told(segment.base_offset + 4)[0] == segment.base_offset + 4
            held = sum(each.held.size_bytes for each in segments)
            assert room.size_bytes == held <= LIMIT_BYTES
            aborted = sum(each.aborted.size_bytes for each in segments)
            assert 0 < aborted < 10 * 200 * 34
    world.log.release_files()
    assert room.size_bytes == 0
    assert all(each.aborted.size_bytes == 0 for each in segments)


def test_a_reader_is_not_told_of_fewer_when_the_file_has_lost_some() -> None:
    world = Aborting(LoadedIndexes())
    world.abort(10)
    spill(world.log)
    world.files.open(world.log.segments[-1].aborted.name).truncate(34)
    with pytest.raises(CorruptRecordError, match="has lost its end"):
        world.told(0)


def test_what_a_failed_write_left_in_the_file_does_not_count_twice() -> None:
    world = Aborting(LoadedIndexes())
    world.abort(10)
    spill(world.log)
    world.abort(5)
    aborted = world.log.segments[-1].aborted
    world.files.open(aborted.name).append(bytes(aborted._added[:100]))
    assert world.told(0) == list(range(0, 30, 2))
    assert aborted.save()
    assert world.files.size(aborted.name) == 15 * 34


def test_a_disk_that_is_full_keeps_them_in_memory() -> None:
    files = RefusingDisk()
    world = Aborting(LoadedIndexes(), files)
    world.abort(10)
    files.error, files.may_read = errno.ENOSPC, True
    spill(world.log)
    assert world.log.segments[-1].aborted.size_bytes == 340
    assert world.told(4)[0] == 4
    files.error = None
    spill(world.log)
    assert world.log.segments[-1].aborted.size_bytes == 0
    assert world.told(4)[0] == 4


def test_that_a_segment_has_none_is_not_looked_up_twice() -> None:
    """Whoever reads what is committed asks all segments from his own on."""
    files = WatchedFiles()
    log = opened(files, LoadedIndexes(0))
    for _ in range(4):
        grow(log, 3)
        log.roll(NOW)
    log.close()
    log = opened(files, LoadedIndexes(0))
    for expected in (4, 0):
        files.asked.clear()
        for offset in range(log.end_offset):
            found = log.read(
                Offset(offset),
                max_bytes=1,
                max_offset=log.end_offset,
                first_batch_whole=True,
                tells_aborted=True,
            )
            assert isinstance(found.part, memoryview)
            found.part.release()
        assert len([path for path in files.asked if path.endswith(".txnindex")]) == expected
        for segment in log.segments:
            segment.held.let_go()


@pytest.mark.parametrize("saved", [0, 5_000, 10_000])
def test_a_reader_near_the_end_does_not_pay_for_those_before(saved: int) -> None:
    """He asks at each fetch: it copies none of them, be they in the file or not yet."""
    files = MemoryFiles()
    files.make_folder("t-0")
    aborted = AbortedTransactions(files, "t-0/0")
    aborted.begin()
    for number in range(10_000):
        first = Offset(2 * number)
        aborted.add(AbortedTransaction(ProducerId(7), first, Offset(first + 1), first))
        if number + 1 == saved:
            aborted.save()
    for offset in (0, 9_997, 9_999, 10_001, 19_997, 19_998, 19_999, 20_000):
        found = [entry.last_offset for entry in aborted.since(offset)]
        assert found == [*range(offset | 1, 20_000, 2)]
    tracemalloc.start()
    assert len([*aborted.since(19_997)]) == 2
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 100_000, "all together are 340 KB"
