"""Indexes of segments that grow, on a disk that does not take them, or has other ones when they are
looked for: what is found by them stays right."""

from __future__ import annotations

import errno

import pytest

from kafkalite.log.files_memory import MemoryFile, MemoryFiles
from kafkalite.log.held_indexes import UNCOUNTED_ENTRIES
from kafkalite.log.loaded_indexes import LoadedIndexes
from tests.log.growing_logs import (
    BATCHES,
    LEAST_BYTES,
    LIMIT_BYTES,
    LOGS,
    check_reads,
    check_times,
    grow,
    indexes,
    opened,
    spill,
)
from tests.log.refusing_disk import RefusingDisk


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
