"""The indexes of segments that grow, of more logs than there is room for: few entries are in memory
at a time, appends look for none of the others, and what is found by any of them stays right."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.log.files_memory import MemoryFile, MemoryFiles
from kafkalite.log.files_os import OsFiles
from kafkalite.log.held_indexes import UNCOUNTED_ENTRIES
from kafkalite.log.index import OffsetIndex
from kafkalite.log.loaded_indexes import LoadedIndexes
from kafkalite.log.log_cuts import truncate_to
from kafkalite.types import Offset, TopicPartition, Uuid
from tests.log.growing_logs import (
    BATCHES,
    CONFIG,
    LEAST_BYTES,
    LIMIT_BYTES,
    LOGS,
    SIZE,
    WatchedFiles,
    check_reads,
    check_times,
    grow,
    indexes,
    opened,
    spill,
)
from tests.log.log_fixtures import (
    NOW,
    TOPIC_ID,
    log_directory,
)


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


def test_logs_that_a_crash_left_share_the_room_before_they_grow() -> None:
    """Their indexes were made again, and the disk lacks them."""
    files = MemoryFiles()
    for number in range(LOGS):
        log = opened(files, None, number)
        grow(log)
        log.release_files()
    room = LoadedIndexes(LIMIT_BYTES)
    logs = [opened(files, room, number, clean=False) for number in range(LOGS)]
    held = sum(log.segments[-1].held.size_bytes for log in logs)
    assert LIMIT_BYTES / 2 < held <= LIMIT_BYTES + LOGS * LEAST_BYTES
    assert held - LOGS * LEAST_BYTES < room.size_bytes <= LIMIT_BYTES
    for log in logs:
        check_reads(log, *range(0, BATCHES, 50), BATCHES - 1)


def test_a_segment_that_a_roll_began_is_in_the_room_too() -> None:
    room = LoadedIndexes(LIMIT_BYTES)
    log = opened(MemoryFiles(), room)
    for _ in range(2):
        grow(log, 2 * UNCOUNTED_ENTRIES)
        assert room.size_bytes > sum(each.held.size_bytes for each in log.segments) - LEAST_BYTES
        log.roll(NOW)


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


def test_so_does_what_is_told_of_offsets_there() -> None:
    files = WatchedFiles()
    log = opened(files)
    grow(log)
    segment = log.segments[-1]
    expected = [segment.offset_at(position) for position in range(0, segment.size + 1, SIZE)]
    assert expected == [1, *range(1, BATCHES), None]
    spill(log)
    for at in range(BATCHES - 32, BATCHES + 1):
        assert segment.offset_at(at * SIZE) == expected[at]
    assert files.read == []
    for at in (BATCHES - 33, 0, BATCHES // 2):
        assert segment.offset_at(at * SIZE) == expected[at]
        spill(log)


def test_what_was_written_here_is_not_held_against_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at every entry holds up the loop: once for each life of a broker is enough."""
    log = opened(MemoryFiles())
    grow(log)
    spill(log)
    looks: list[OffsetIndex] = []
    ascends = OffsetIndex.ascends

    def look(index: OffsetIndex) -> bool:
        looks.append(index)
        return ascends(index)

    monkeypatch.setattr(OffsetIndex, "ascends", look)
    check_reads(log, 0)
    assert looks == []
    log.close()
    check_reads(opened(log.folder._files), 0)
    assert len(looks) == 1


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
        grow(log, 10)
        log.roll(NOW)
        truncate_to(log, Offset(BATCHES + 15), NOW)
        grow(log, 5)
        spill(log)
    assert written[-2:] == [4 * 8, 4 * 12], "also of one that was closed, and grows again"


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
