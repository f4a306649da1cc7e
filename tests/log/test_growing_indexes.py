"""The indexes of segments that grow, of more logs than there is room for: few entries are in memory
at a time, appends look for none of the others, and what is found by any of them stays right."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError
from kafkalite.log.files import Files
from kafkalite.log.files_memory import MemoryFile, MemoryFiles
from kafkalite.log.files_os import OsFiles
from kafkalite.log.held_indexes import UNCOUNTED_ENTRIES
from kafkalite.log.loaded_indexes import LoadedIndexes
from kafkalite.log.log_cuts import truncate_to
from kafkalite.log.opening import open_log
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.segment_indexes import SegmentIndexes
from kafkalite.types import Offset, TimestampMs, TopicPartition, Uuid
from tests.log.compaction_fixtures import Transactional
from tests.log.log_fixtures import (
    NOW,
    TOPIC_ID,
    append,
    batch,
    headers,
    log_directory,
    read,
)
from tests.log.refusing_disk import RefusingDisk

CONFIG = TopicConfig(index_interval_bytes=1)
"""An entry for each batch but the first."""
LOGS, BATCHES = 4, 600
LIMIT_BYTES = 16_000
"""Somewhat more than those of one log take."""
LEAST_BYTES = 600 + 20 * UNCOUNTED_ENTRIES
"""Of a log that has not grown far."""
SIZE = len(batch())


class WatchedFiles(MemoryFiles):
    """Notes which indexes are opened to be read, and which are asked for."""

    def __init__(self) -> None:
        super().__init__(models_crashes=True)
        self.read: list[str] = []
        self.asked: list[str] = []

    def exists(self, path: str) -> bool:
        self.asked.append(path)
        return super().exists(path)

    def open_read(self, path: str) -> MemoryFile:
        if path.endswith("index"):
            self.read.append(path)
        return super().open_read(path)


def opened(
    files: Files,
    room: LoadedIndexes | None = None,
    number: int = 0,
    *,
    clean: bool = True,
    config: TopicConfig = CONFIG,
) -> PartitionLog:
    return open_log(
        files,
        f"t-{number}",
        config=config,
        topic_id=TOPIC_ID,
        now=NOW,
        clean=clean,
        room=room,
    )


def grow(log: PartitionLog, count: int = BATCHES) -> None:
    for offset in range(log.end_offset, log.end_offset + count):
        append(log, batch(NOW + offset))


def spill(log: PartitionLog) -> None:
    log.segments[-1].held.let_go()


def indexes(log: PartitionLog) -> SegmentIndexes:
    found = log.segments[-1].held.now
    assert found is not None
    return found


def check_reads(log: PartitionLog, *offsets: int) -> None:
    for offset in offsets:
        (header, *_) = headers(read(log, offset, max_bytes=SIZE))
        assert header.base_offset == offset


def check_times(log: PartitionLog, *offsets: int) -> None:
    for offset in offsets:
        found = log.offset_for_timestamp(TimestampMs(NOW + offset))
        assert found is not None
        assert found.offset == offset


def content(files: MemoryFiles, number: int = 0) -> dict[str, bytes]:
    names = [name for name in files.list(f"t-{number}") if not name.endswith(".snapshot")]
    opened = [files.open(f"t-{number}/{name}") for name in names]
    return {name: bytes(file.read(0, file.size)) for name, file in zip(names, opened, strict=True)}


def test_all_logs_together_take_no_more_than_the_room() -> None:
    files, room = WatchedFiles(), LoadedIndexes(LIMIT_BYTES)
    logs = [opened(files, room, number) for number in range(LOGS)]
    for end in range(1, BATCHES + 1):
        for log in logs:
            grow(log, 1)
            assert room.size_bytes <= LIMIT_BYTES
            if end % 100 == 0:
                held = sum(log.segments[-1].held.size_bytes for log in logs)
                assert held <= LIMIT_BYTES + LOGS * LEAST_BYTES
    assert files.read == [], "an append needs no entry that is on the disk"
    for log in logs:
        check_reads(log, *range(0, BATCHES, 50), BATCHES - 1)
        check_times(log, *range(0, BATCHES, 500), BATCHES - 1)
        assert room.size_bytes <= LIMIT_BYTES
    assert files.read != []
    grow(logs[0])
    unlimited = MemoryFiles()
    for log in logs:
        log.close()
        log = opened(unlimited, None, int(log.name[2:]))
        grow(log, 2 * BATCHES if log.name == "t-0" else BATCHES)
        log.close()
    for number in range(LOGS):
        assert content(files, number) == content(unlimited, number)


def test_many_that_do_not_grow_far_are_not_counted() -> None:
    """Each entry of the queue would cost more than it is about."""
    room = LoadedIndexes(0)
    logs = [opened(MemoryFiles(), room) for _ in range(3)]
    for log in logs:
        grow(log, UNCOUNTED_ENTRIES)
    assert room.size_bytes == 0
    assert all(indexes(log).is_whole for log in logs)


def test_what_is_near_the_end_stays() -> None:
    files = WatchedFiles()
    log = opened(files)
    grow(log)
    spill(log)
    assert indexes(log).size_bytes < LEAST_BYTES
    check_reads(log, *range(BATCHES - 32, BATCHES))
    grow(log, 100)
    check_reads(log, *range(BATCHES - 32, BATCHES + 100))
    assert files.read == []
    check_reads(log, BATCHES - 34)
    assert [path[-10:] for path in files.read] == ["0000.index", ".timeindex"]
    files.read.clear()
    check_reads(log, *range(0, BATCHES, 100))
    assert files.read == [], "once read they are in memory, with those that have come since"


def test_only_what_the_files_lack_is_written() -> None:
    files = MemoryFiles()
    log = opened(files)
    written: list[int] = []
    append_bytes = MemoryFile.append

    def note(file: MemoryFile, data: bytes) -> None:
        written.append(len(data))
        append_bytes(file, data)

    grow(log)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryFile, "append", note)
        spill(log)
        spill(log)
        check_reads(log, 1)
        spill(log)
        assert written == [(BATCHES - 1) * 8, (BATCHES - 1) * 12]
    grow(log, 10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryFile, "append", note)
        spill(log)
    assert written[2:] == [10 * 8, 10 * 12]


@pytest.mark.parametrize("kept", [0, 1])
def test_what_the_disk_refuses_stays(kept: int) -> None:
    """Whether it refuses the first file or the second."""
    files = RefusingDisk()
    log = opened(files)
    grow(log, 500)
    spill(log)
    grow(log, 500)
    opening, seen = files.open, 0

    def refuse(path: str) -> MemoryFile:
        nonlocal seen
        if path.endswith("index"):
            seen += 1
            if seen > kept:
                raise OSError(errno.ENOSPC, "No space left on device", path)
        return opening(path)

    files.open = refuse  # type: ignore[method-assign]  # For as long as its disk is full.
    spill(log)
    assert indexes(log).size_bytes > 500 * 20
    check_reads(log, 0, 499, 500, 999)
    files.open = opening  # type: ignore[method-assign]
    spill(log)
    assert indexes(log).size_bytes < LEAST_BYTES
    check_reads(log, 0, 499, 500, 999)
    check_times(log, 0, 499, 500, 999)


def test_a_full_disk_keeps_more_in_memory_than_there_is_room_for_until_it_takes_it() -> None:
    files, room = RefusingDisk(), LoadedIndexes(LIMIT_BYTES)
    logs = [opened(files, room, number) for number in range(LOGS)]
    for log in logs:
        grow(log, 10)
    opening = files.open

    def refuse(path: str) -> MemoryFile:
        raise OSError(errno.ENOSPC, "No space left on device", path)

    files.open = refuse  # type: ignore[method-assign]  # Logs are open already.
    for log in logs:
        grow(log, BATCHES)
    assert sum(log.segments[-1].held.size_bytes for log in logs) > 3 * LIMIT_BYTES
    files.open = opening  # type: ignore[method-assign]
    for log in logs:
        grow(log, 2 * UNCOUNTED_ENTRIES)
    assert sum(log.segments[-1].held.size_bytes for log in logs) <= LIMIT_BYTES + LOGS * LEAST_BYTES
    for log in logs:
        check_reads(log, *range(0, BATCHES, 100))


@pytest.mark.parametrize("interval", [1, 2 * SIZE])
@pytest.mark.parametrize("ends", ["roll", "close", "kill", "cut", "cut and grow"])
def test_whatever_comes_next_is_as_if_all_had_been_in_memory(ends: str, interval: int) -> None:
    config = TopicConfig(index_interval_bytes=interval)
    logs = []
    for spills in (True, False):
        files = MemoryFiles()
        log = opened(files, config=config)
        for _ in range(3):
            grow(log, 200)
            if spills:
                spill(log)
        grow(log, 10)
        match ends:
            case "roll":
                log.roll(NOW)
                check_reads(log, *range(0, 610, 7))
            case "kill":
                log.release_files()
                log = opened(files, config=config, clean=False)
            case "cut":
                truncate_to(log, Offset(300), NOW)
            case "cut and grow":
                truncate_to(log, Offset(300), NOW)
                grow(log, 20)
                if spills:
                    spill(log)
                    size = files.size(log.segments[-1].name.replace(".log", ".index"))
                    assert size == (318 if interval == 1 else 105) * 8, (
                        "what was cut is not in the file any more"
                    )
        check_reads(log, *range(0, log.end_offset, 7), log.end_offset - 1)
        check_times(log, *range(0, log.end_offset, 50), log.end_offset - 1)
        log.close()
        logs.append(content(files))
        check_reads(opened(files), *range(0, log.end_offset, 7))
    assert logs[0] == logs[1]


@pytest.mark.parametrize("damage", ["removed", "shorter", "garbage"])
def test_files_that_somebody_spoils_are_made_again(damage: str) -> None:
    files = MemoryFiles()
    log = opened(files)
    grow(log)
    spill(log)
    path = log.segments[-1].name.replace(".log", ".index")
    match damage:
        case "removed":
            files.remove(path)
        case "shorter":
            files.open(path).truncate(800)
        case "garbage":
            files.open(path).write_at(800, bytes(80))
            files.open(path).write_at((BATCHES - 2) * 8, bytes(8))
    grow(log, 10)
    if damage != "garbage":
        spill(log)
        assert files.size(path) in (0, 800), "it is not what was written, and is not added to"
    check_reads(log, *range(0, BATCHES, 100), BATCHES + 9)
    assert indexes(log).is_whole
    assert damage == "garbage" or files.size(path) in (0, 800), "they are written as it rolls"
    log.close()
    check_reads(opened(files), *range(0, BATCHES, 100), BATCHES + 9)


def test_a_sync_has_them_on_the_disk() -> None:
    """A roll finds nothing to write then, and what it leaves is believed."""
    files = MemoryFiles(models_crashes=True)
    log = opened(files)
    grow(log)
    log.sync()
    spill(log)
    assert [path[-9:] for path in log.folder.unsynced(Offset(0)).files] == [
        *("00000.log", "000.index", "timeindex"),
    ]
    log.roll(NOW)
    log.sync()
    files.sync_folder("")
    files.crash(lambda path, unsynced: 0)
    log = opened(files)
    assert log.end_offset == BATCHES
    assert files.size(log.segments[0].name.replace(".log", ".index")) == (BATCHES - 1) * 8


def test_a_segment_that_is_made_at_its_full_size_stays_so(tmp_path: Path) -> None:
    files = OsFiles(str(tmp_path))
    log = opened(files, config=CONFIG._replace(preallocate=True, segment_bytes=1 << 20))
    grow(log, 100)
    spill(log)
    assert files.size(log.segments[-1].name) == 1 << 20
    assert files.size(log.segments[-1].name.replace(".log", ".index")) == 99 * 8
    log.close()


def test_a_log_that_is_gone_takes_no_room() -> None:
    directory = log_directory()
    partition = TopicPartition("t", 0)
    log = directory.open_partition(partition, topic_id=TOPIC_ID, config=CONFIG, now=NOW)
    grow(log)
    room = directory.opener.loaded_indexes
    assert room.size_bytes > BATCHES * 15
    directory.delete_partition(partition, Uuid(bytes(16)))
    assert room.size_bytes == 0


# Aborted transactions.


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


def test_a_reader_is_not_told_of_fewer_when_the_file_has_lost_some() -> None:
    world = Aborting(LoadedIndexes())
    world.abort(10)
    spill(world.log)
    world.files.open(world.log.segments[-1].aborted.name).truncate(34)
    with pytest.raises(CorruptRecordError, match="has lost its end"):
        world.told(0)


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
