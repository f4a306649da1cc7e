"""A crash left a log folder, and amid its recovery the process dies again, or the power goes:
before each single file operation, none left out. The recovery after that finds all that was synced,
and what is written and synced then stays.

Of one log alone: test_crash_points.py, test_compaction_crashes.py.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import count

import pytest

from kafkalite.log.directories import LogDirectory
from kafkalite.log.files import Files
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.log_cuts import delete_records
from kafkalite.log.partition_log import PartitionLog
from kafkalite.ports.entropy import SeededEntropy
from kafkalite.testing.faults import ProcessFiles
from kafkalite.types import Offset, TopicPartition
from tests.log.crash_ends import ENDS, End, everything
from tests.log.log_fixtures import NOW, TOPIC_ID, append, batch, headers, idempotent, stored
from tests.log.test_crash_points import CONFIG, MOST_STEPS, directory_of, filled, writes_as_it_runs

CHECKED, OPENED = TopicPartition("checked", 0), TopicPartition("opened", 0)
"""Beforehand by a worker, and at once."""
SYNCED, WRITTEN, START = 5, 9, 1
KILLED, GONE, HALF = (
    next(end for end in ENDS if end.name == name)
    for name in ("killed", "all unsynced is gone", "half of the bytes")
)
OLD_NAMES = End("bytes without names", kept=everything)
TWICE = [*((KILLED, end) for end in ENDS), (HALF, GONE), (HALF, OLD_NAMES)]
"""What the two crashes leave: all of what a process had written; or that is torn before already."""


def opened(directory: LogDirectory, key: TopicPartition) -> PartitionLog:
    return directory.open_partition(key, topic_id=TOPIC_ID, config=CONFIG, now=NOW)


@cache
def whole() -> bytes:
    """What each of the logs had."""
    log = opened(directory_of(MemoryFiles()), OPENED)
    filled(log, WRITTEN)
    return stored(log)


@cache
def left_by(first: End) -> bytes:
    """A disk, as the crash before left it: two logs, of which a part was synced, amid an append."""
    disk = MemoryFiles(models_crashes=True)
    files = ProcessFiles(disk, SeededEntropy(1), on_death=lambda: None)
    directory = directory_of(files)
    for key in (CHECKED, OPENED):
        log = opened(directory, key)
        filled(log, SYNCED)
        log.sync()
        delete_records(log, Offset(START))
    writes_as_it_runs(directory)
    for log in directory.logs.values():
        filled(log, WRITTEN - SYNCED)
        log.segments[-1].file.append(idempotent(WRITTEN)[:-9])
    files.die()
    first.come(disk)
    return pickle.dumps(disk)  # To be had again and again: four times as fast as a deep copy.


def recovered(files: Files, *, syncs: bool = True) -> LogDirectory:
    """As a broker does it, up to the first checkpoints."""
    directory = directory_of(files)
    directory.opener.check(CHECKED, topic_id=TOPIC_ID, config=CONFIG, now=NOW)
    for key in (OPENED, CHECKED):
        opened(directory, key)
    writes_as_it_runs(directory)
    if syncs:
        for log in directory.logs.values():
            log.sync()
        writes_as_it_runs(directory)
    return directory


def deaths(first: End, end: End) -> Iterator[MemoryFiles]:
    """The disk after each death amid a recovery, and after one that nothing disturbed. Deaths that
    leave the same are one."""
    known = set()
    for steps in count(1):
        assert steps < MOST_STEPS
        disk: MemoryFiles = pickle.loads(left_by(first))
        files = ProcessFiles(disk, SeededEntropy(steps), on_death=lambda: None)
        files.die_within(steps)
        with suppress(OSError):
            recovered(files)
        has_died = files.is_dead
        files.die()
        end.come(disk)
        left = pickle.dumps(disk)
        if left not in known:
            known.add(left)
            yield disk
        if not has_died:
            assert steps > 20
            return


def check(directory: LogDirectory) -> None:
    """A beginning of what was there, without holes."""
    for log in directory.logs.values():
        data = stored(log)
        assert data == whole()[: len(data)]
        offsets = [header.base_offset for header in headers(data)]
        assert offsets == list(range(log.end_offset))
        assert log.log_start_offset == START
        assert SYNCED <= log.end_offset <= WRITTEN
        assert append(log, idempotent(log.end_offset - 1)).is_duplicate


def go_on(directory: LogDirectory) -> dict[TopicPartition, bytes]:
    """What each has then."""
    for log in directory.logs.values():
        for _ in range(3):
            append(log, batch())
    return {key: stored(log) for key, log in directory.logs.items()}


@pytest.mark.parametrize(("first", "end"), TWICE, ids=lambda end: end.name)
def test_a_recovery_of_a_folder(first: End, end: End) -> None:
    for disk in deaths(first, end):
        directory = recovered(disk, syncs=False)
        check(directory)
        if first is end is KILLED:
            assert {log.end_offset for log in directory.logs.values()} == {WRITTEN}
        expected = go_on(directory)
        directory.abandon()
        end.come(disk)
        directory = recovered(disk)
        for key, log in directory.logs.items():
            data = stored(log)
            assert log.end_offset >= SYNCED
            assert data == expected[key][: len(data)]
        expected = go_on(directory)
        for log in directory.logs.values():
            log.sync()
        disk.crash()
        assert {key: stored(log) for key, log in recovered(disk).logs.items()} == expected
