"""How far a log is compacted, after it was cut below that: what comes there next is not, and is
compacted in its turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from itertools import count

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.log.compaction import CleaningAbortedError
from kafkalite.log.directories import LogDirectory
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.log_cuts import truncate_to
from kafkalite.log.partition_log import PartitionLog
from kafkalite.protocol.records.record import build_batch
from kafkalite.types import Offset, TopicPartition
from tests.log.compaction_fixtures import LATER, cleaning, pairs, run, stored_records
from tests.log.log_fixtures import NOW, TOPIC_ID, append, close, log_directory

KEY = TopicPartition("orders", 3)
CONFIG = TopicConfig(cleanup_policy=("compact",), index_interval_bytes=100)
CLEAN, CUT = 6, 2
"""So far it was compacted, and there it is cut."""


def opened(files: MemoryFiles) -> LogDirectory:
    directory = log_directory(files)
    directory.open_partition(KEY, topic_id=TOPIC_ID, config=CONFIG, now=NOW)
    return directory


def write(log: PartitionLog, *keys: str) -> None:
    for key in keys:
        append(log, build_batch(pairs((key, f"at {log.end_offset}"))))


def compact(files: MemoryFiles, directory: LogDirectory) -> None:
    """As the cleaner does, from where the folder's checkpoint says."""
    log = directory.logs[KEY]
    log.roll(NOW)
    log.sync()
    checkpoint = directory.checkpoints.cleaner_offsets.get(KEY)
    job = cleaning(files, log, LATER, checkpoint=checkpoint)
    directory.checkpoints.cleaner_offsets[KEY] = run(job)
    directory.checkpoints.write_cleaner_offsets()


@pytest.fixture
def files() -> MemoryFiles:
    return MemoryFiles(models_crashes=True)


@pytest.fixture
def compacted(files: MemoryFiles) -> LogDirectory:
    directory = opened(files)
    write(directory.logs[KEY], *"abcdef")
    compact(files, directory)
    assert directory.checkpoints.cleaner_offsets == {KEY: CLEAN}
    return directory


def again(files: MemoryFiles, directory: LogDirectory) -> LogDirectory:
    close(directory)
    return opened(files)


def after_a_kill(files: MemoryFiles, directory: LogDirectory) -> LogDirectory:
    directory.abandon()
    return opened(files)


def without_power(files: MemoryFiles, directory: LogDirectory) -> LogDirectory:
    files.crash()
    return opened(files)


def at_once(files: MemoryFiles, directory: LogDirectory) -> LogDirectory:
    return directory


Life = Callable[[MemoryFiles, LogDirectory], LogDirectory]


every_life = pytest.mark.parametrize("life", [at_once, again, after_a_kill, without_power])


def check(files: MemoryFiles, directory: LogDirectory, *, end: int, life: Life) -> None:
    """The log ends there, and goes on beyond what was compacted before: each key is there once."""
    log = directory.logs[KEY]
    assert log.end_offset == end
    write(log, *["a"] * (CLEAN - end), "z")
    log.sync()
    directory = life(files, directory)
    compact(files, directory)
    log = directory.logs[KEY]
    found = Counter(record.key for record in stored_records(log))
    assert set(found.values()) == {1}, found
    latest = {record.key: record.offset for record in stored_records(log)}
    assert (latest[b"a"], latest[b"z"]) == (CLEAN - 1, CLEAN)


@every_life
def test_a_log_that_its_leader_has_cut(
    files: MemoryFiles, compacted: LogDirectory, life: Life
) -> None:
    compacted.truncate_partition(KEY, Offset(CUT), NOW)
    check(files, compacted, end=CUT, life=life)


@every_life
def test_a_log_that_begins_anew(files: MemoryFiles, compacted: LogDirectory, life: Life) -> None:
    compacted.restart_partition(KEY, Offset(0), NOW)
    check(files, compacted, end=0, life=life)


@every_life
def test_a_log_whose_end_was_damaged(
    files: MemoryFiles, compacted: LogDirectory, life: Life
) -> None:
    """Recovery cuts it; a disk that lost what it had synced."""
    log = compacted.logs[KEY]
    first, *_ = log.segments
    compacted.abandon()
    file = files.open(first.name)
    file.truncate(CUT * file.size // CLEAN)
    files.remove(f"{KEY}/{CLEAN:020d}.log")
    check(files, opened(files), end=CUT, life=life)


def test_a_log_that_is_cut_while_it_is_compacted() -> None:
    """Before each step, and after the last one. What is compacted then is not above the cut."""
    for at in count():
        files = MemoryFiles()
        log = opened(files).logs[KEY]
        write(log, *"aabc")
        log.roll(NOW)
        job = cleaning(files, log, LATER)
        was_cut = was_told = False
        with closing(job.steps()) as steps:
            try:
                for number, step in enumerate(steps):
                    was_cut = was_cut or number == at
                    if number == at:
                        truncate_to(log, Offset(CUT), NOW)
                    step.run()
            except CleaningAbortedError:
                was_told = True
        assert was_told == was_cut
        assert job.end_offset <= log.end_offset
        if not was_cut:
            assert (at, log.end_offset) == (4, 4)
            return


def test_one_that_is_not_cut_so_far_stays_as_it_is(
    files: MemoryFiles, compacted: LogDirectory
) -> None:
    write(compacted.logs[KEY], *"gh")
    compacted.truncate_partition(KEY, Offset(CLEAN + 1), NOW)
    assert compacted.checkpoints.cleaner_offsets == {KEY: CLEAN}
    assert again(files, compacted).checkpoints.cleaner_offsets == {KEY: CLEAN}
