"""The indexes of more segments than there is room for: few are in memory at a time, whatever is
read, and what is found by them stays right."""

from __future__ import annotations

import errno

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError
from kafkalite.log import opening
from kafkalite.log.epochs import LeaderEpochs
from kafkalite.log.files_memory import MemoryFile, MemoryFiles
from kafkalite.log.loaded_indexes import LIMIT_BYTES, LoadedIndexes
from kafkalite.log.log_cuts import retire_below, truncate_to
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.recovery import LogLoader
from kafkalite.log.segment import Segment
from kafkalite.protocol.records.record import build_batch
from kafkalite.types import Offset, TimestampMs, TopicPartition
from tests.log.compaction_fixtures import CONFIG as COMPACTED
from tests.log.compaction_fixtures import LATER, cleaning, pairs, run
from tests.log.log_fixtures import (
    FOLDER,
    NOW,
    TOPIC_ID,
    append,
    batch,
    headers,
    log_directory,
    read,
)
from tests.log.refusing_disk import RefusingDisk

SIZE = len(batch())
BATCHES = 4
CONFIG = TopicConfig(segment_bytes=BATCHES * SIZE, index_interval_bytes=1)
SEGMENTS = 20
FITTING = 3
ZERO = Offset(0)
EACH = 600 + 3 * (8 + 12)
"""What the indexes of one segment take: the first batch has no entries."""


def room() -> LoadedIndexes:
    return LoadedIndexes(FITTING * EACH)


def opened(
    files: MemoryFiles,
    room: LoadedIndexes,
    folder: str = FOLDER,
    *,
    clean: bool = True,
    recovery_point: Offset = ZERO,
) -> PartitionLog:
    return opening.open_log(
        files,
        folder,
        config=CONFIG,
        topic_id=TOPIC_ID,
        now=NOW,
        clean=clean,
        recovery_point=recovery_point,
        room=room,
    )


def fill(log: PartitionLog, segments: int = SEGMENTS) -> None:
    for number in range(log.end_offset, log.end_offset + segments * BATCHES):
        append(log, batch(NOW + number))


def filled(room: LoadedIndexes, files: MemoryFiles | None = None) -> PartitionLog:
    log = opened(files or MemoryFiles(), room)
    fill(log)
    log.close()
    return log


def is_loaded(segment: Segment) -> bool:
    return segment.held.now is not None


def loaded(log: PartitionLog) -> int:
    return sum(map(is_loaded, log.segments[:-1]))


def check_reads(log: PartitionLog, offset: int) -> None:
    (header, *_) = headers(read(log, offset, max_bytes=SIZE))
    assert (header.base_offset, header.max_timestamp) == (offset, NOW + offset)
    found = log.offset_for_timestamp(TimestampMs(NOW + offset))
    assert found is not None
    assert found.offset == offset


class CountingFiles(MemoryFiles):
    """Notes which files are read whole."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []

    def open_read(self, path: str) -> MemoryFile:
        self.read.append(path)
        return super().open_read(path)


def test_what_is_read_goes_again() -> None:
    shared = room()
    files = MemoryFiles()
    logs = [opened(files, shared, f"t-{number}") for number in range(3)]
    for log in logs:
        fill(log)
        assert loaded(log) <= FITTING, "those that rolled go as well"
    for offset in range(SEGMENTS * BATCHES):
        for log in logs:
            check_reads(log, offset)
            assert sum(map(loaded, logs)) <= FITTING
            assert 0 < shared.size_bytes <= FITTING * EACH
    assert sum(map(loaded, logs)) == FITTING
    assert all(is_loaded(log.segments[-1]) for log in logs)


def test_what_is_in_use_stays() -> None:
    log = filled(room())
    first = log.segments[0]
    check_reads(log, 0)
    indexes = first.held.now
    assert indexes is not None
    for offset in range(BATCHES, (SEGMENTS - 1) * BATCHES, BATCHES):
        read(log, offset)
        read(log, 1)
        assert first.held.now is indexes
    for offset in range(BATCHES, (SEGMENTS - 1) * BATCHES, BATCHES):
        read(log, offset)
    assert not is_loaded(first)


def test_one_stays_however_large() -> None:
    log = filled(LoadedIndexes(0))
    check_reads(log, 0)
    assert [is_loaded(segment) for segment in log.segments[:-1]] == [True] + [False] * 18
    check_reads(log, BATCHES)
    assert [is_loaded(segment) for segment in log.segments[:2]] == [False, True]


def test_the_latest_timestamp_is_remembered() -> None:
    files = CountingFiles()
    filled(room(), files)
    log = opened(files, room())
    check_reads(log, SEGMENTS * BATCHES - 1)
    assert loaded(log) == FITTING
    files.read.clear()
    found = log.offset_for_timestamp(TimestampMs(NOW + 1 + (SEGMENTS - 1) * BATCHES))
    assert found is not None
    assert found.offset == 1 + (SEGMENTS - 1) * BATCHES
    assert log.segments[0].is_older_than(TimestampMs(NOW + BATCHES))
    assert not log.segments[0].is_older_than(TimestampMs(NOW + BATCHES - 1))
    assert files.read == []


@pytest.mark.parametrize("clean", [True, False])
def test_an_opening_leaves_none(clean: bool) -> None:
    files = MemoryFiles()
    filled(room(), files)
    shared = room()
    log = opened(files, shared, clean=clean)
    assert (loaded(log), shared.size_bytes) == (0, 0)
    assert is_loaded(log.segments[-1]) != clean, "what a crash has left is made again"
    for offset in range(SEGMENTS * BATCHES):
        check_reads(log, offset)


def test_a_scan_of_all_after_a_crash_holds_those_of_one() -> None:
    files = MemoryFiles()
    filled(room(), files)
    loader = LogLoader(files, FOLDER, CONFIG, NOW, LeaderEpochs(files, FOLDER), was_compacted=False)
    found = loader.load(Offset(0), Offset(0), clean=False)
    assert found.end_offset == SEGMENTS * BATCHES
    assert list(map(is_loaded, found.segments)) == [False] * (SEGMENTS - 1) + [True]


def test_what_an_opening_found_behind_the_last_entry_is_not_forgotten() -> None:
    files = MemoryFiles()
    log = filled(room(), files)
    name = log.segments[-1].name.replace(".log", ".timeindex")
    entries = files.open(name).read(0, 1000)
    files.replace(name, entries[:-12])
    log = opened(files, room())
    assert not is_loaded(log.segments[-1])
    for _ in range(2):
        found = log.offset_of_max_timestamp()
        assert found is not None
        assert found.offset == SEGMENTS * BATCHES - 1
        check_reads(log, SEGMENTS * BATCHES - 1)
    log.close()
    assert files.open(name).read(0, 1000) == entries


@pytest.mark.parametrize("error", [None, errno.ENOSPC])
def test_those_made_again_are_written(error: int | None) -> None:
    files = RefusingDisk()
    log = filled(room(), files)
    name = log.segments[0].name.replace(".log", ".index")
    content = bytes(files.open(name).read(0, 100))
    files.remove(name)
    files.error, files.may_read = error, True
    for offset in range(0, SEGMENTS * BATCHES, BATCHES):
        check_reads(log, offset)
        assert loaded(log) <= FITTING
    assert files.exists(name) == (error is None)
    check_reads(log, 1)
    files.error = None
    log.segments[0].close()
    check_reads(log, 1)
    assert files.open(name).read(0, 100) == content


@pytest.mark.parametrize("is_wrong", [False, True])
def test_those_made_again_are_whole_after_a_loss_of_power(*, is_wrong: bool) -> None:
    """No sync of the log comes to a segment that far below the recovery point."""
    files = MemoryFiles(models_crashes=True)
    log = filled(room(), files)
    log.sync()
    files.sync_folder("")
    name = log.segments[0].name.replace(".log", ".index")
    if is_wrong:
        files.open(name).write_at(4, bytes(4))  # The first entry's position.
        files.sync_file(name)
    else:
        files.remove(name)
    log = opened(files, room(), recovery_point=log.end_offset)
    check_reads(log, 1)
    log.sync()
    files.sync_folder(FOLDER)
    files.crash(lambda path, unsynced: 8 if path.endswith(".index") else 12)  # One entry.
    log = opened(files, room())
    for offset in range(BATCHES):
        check_reads(log, offset)
    assert log.segments[0].max_timestamp == NOW + BATCHES - 1


def test_a_stop_does_not_read_again_what_it_has_let_go() -> None:
    """It asks what the disk may lack: the indexes of a log too short for an entry are not told."""
    files = CountingFiles()
    log = filled(room(), files)
    short = opened(files, room(), "short")
    append(short, batch())
    short.close()
    files.read.clear()
    lacking = log.folder.unsynced(Offset(0)).files
    assert [path for path in lacking if path.endswith("index")] == [
        segment.name.replace(".log", suffix)
        for segment in reversed(log.segments)
        for suffix in (".index", ".timeindex")
    ]
    assert short.segments[-1].name in short.folder.unsynced(Offset(0)).files
    assert not [path for path in short.folder.unsynced(Offset(0)).files if path.endswith("index")]
    assert files.read == []


def test_those_of_a_damaged_segment_are_never_written() -> None:
    """They end where the damage is, and would tell those who come later that all does."""
    files = MemoryFiles()
    shared = room()
    log = filled(shared, files)
    name = log.segments[0].name
    files.remove(name.replace(".log", ".index"))
    files.open(name).write_at(2 * SIZE + 8, bytes(4))  # The third batch's length.
    log = opened(files, shared)
    for _ in range(3):
        with pytest.raises(CorruptRecordError):
            log.offset_for_timestamp(TimestampMs(NOW + 3))
        read(log, BATCHES)
        log.release_files()
    assert not files.exists(name.replace(".log", ".index"))


def test_a_log_whose_last_segment_is_damaged_goes_on_at_its_end() -> None:
    """And not where its indexes end, below offsets that are there."""
    files = MemoryFiles()
    log = filled(room(), files)
    log = opened(files, room())
    name, end = log.segments[-1].name, log.end_offset
    files.remove(name.replace(".log", ".index"))
    files.open(name).write_at(2 * SIZE + 8, bytes(4))  # The third batch's length.
    with pytest.raises(CorruptRecordError):
        append(log, batch())
    append(log, batch())
    assert log.segments[-1].base_offset == end == log.end_offset - 1


def test_a_segment_that_is_the_last_again_keeps_them() -> None:
    log = filled(room())
    truncate_to(log, Offset(10 * BATCHES - 1), NOW)
    active = log.segments[-1]
    indexes = active.held.now
    assert indexes is not None
    for offset in range(9 * BATCHES):
        check_reads(log, offset)
    assert active.held.now is indexes
    append(log, batch(NOW + 10 * BATCHES - 1))
    check_reads(log, 10 * BATCHES - 1)


def test_what_is_not_there_any_more_takes_no_room() -> None:
    shared = room()
    log = filled(shared)
    for offset in (0, BATCHES, 2 * BATCHES):
        check_reads(log, offset)
    assert shared.size_bytes == FITTING * EACH
    retire_below(log, Offset(2 * BATCHES))
    assert shared.size_bytes == EACH
    truncate_to(log, Offset(2 * BATCHES), NOW)
    assert shared.size_bytes == 0
    fill(log)
    assert shared.size_bytes > 0
    log.release_files()
    assert shared.size_bytes == 0


def test_a_segment_takes_the_room_of_those_that_it_replaces() -> None:
    files, shared = MemoryFiles(), LoadedIndexes()
    log = opening.open_log(
        files,
        FOLDER,
        config=COMPACTED._replace(segment_bytes=BATCHES * SIZE),
        topic_id=TOPIC_ID,
        now=NOW,
        clean=True,
        room=shared,
    )
    for _ in range(3 * BATCHES):
        append(log, build_batch(pairs(("a", "1"))))
    for _ in range(2):
        run(cleaning(files, log, LATER))
        closed = log.segments[:-1]
        for segment in closed:
            assert segment.indexes is not None
        assert shared.size_bytes == sum(segment.held.size_bytes for segment in closed) > 0


def test_the_logs_of_a_folder_share_the_room() -> None:
    directory = log_directory()
    shared = directory.opener.loaded_indexes
    for number in range(2):
        log = directory.open_partition(
            TopicPartition("t", number), topic_id=TOPIC_ID, config=CONFIG, now=NOW
        )
        fill(log, 3)
        assert shared.size_bytes == (number + 1) * 2 * EACH
    assert LIMIT_BYTES == 64 * 1024 * 1024
