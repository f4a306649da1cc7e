"""The process dies, or the power goes, before each single file operation of what a log does.

Not sampled: the first operation, the second, and so on, until there is none left to die at. Of the
write that is under way a part is done. What the disk has then, crash_ends.py says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.log.checkpoints import LOG_START_OFFSETS, RECOVERY_POINTS, read_offsets
from kafkalite.log.directories import LogDirectory
from kafkalite.log.files import Files
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.log_cuts import delete_records, truncate_to
from kafkalite.log.opening import open_log
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.retention import delete_old_segments
from kafkalite.ports.entropy import SeededEntropy
from kafkalite.testing.faults import ProcessFiles
from kafkalite.types import BrokerId, LeaderEpoch, Offset, TopicPartition, Uuid
from tests.log.crash_ends import End, every_end, keep_names
from tests.log.log_fixtures import (
    FOLDER,
    NOW,
    TOPIC_ID,
    append,
    close,
    headers,
    idempotent,
    stored,
)

SIZE = len(idempotent(0))
CONFIG = TopicConfig(segment_bytes=2 * SIZE, index_interval_bytes=1, retention_ms=-1)
ORDERS = TopicPartition("orders", 3)
MOST_STEPS = 200

Step = Callable[[PartitionLog], None]


def opened(files: Files, *, recovery_point: int = 0, log_start_offset: int = 0) -> PartitionLog:
    return open_log(
        files,
        FOLDER,
        config=CONFIG,
        topic_id=TOPIC_ID,
        now=NOW,
        clean=False,
        recovery_point=Offset(recovery_point),
        log_start_offset=Offset(log_start_offset),
    )


def filled(log: PartitionLog, records: int) -> None:
    """One record a batch, two batches a segment, all of one producer; each third is a new
    leader's."""
    for sequence in range(log.end_offset, log.end_offset + records):
        append(log, idempotent(sequence), epoch=epoch_of(sequence))


def epoch_of(offset: int) -> LeaderEpoch:
    return LeaderEpoch(offset // 3)


def check_epochs(log: PartitionLog, may_begin_at: set[int]) -> None:
    """They are those of the batches, each from its first one on; but where retention was at work,
    of which the disk knows in the one file and not in the other, they may begin later."""
    begin = log.epochs.starts[0].start_offset if log.epochs.starts else log.end_offset
    assert begin in may_begin_at
    firsts: dict[int, int] = {}
    for header in headers(stored(log)):
        if header.base_offset >= begin:
            firsts.setdefault(header.partition_leader_epoch, header.base_offset)
    assert log.epochs.starts == tuple(firsts.items())


@dataclass
class Crash:
    """One death."""

    disk: MemoryFiles
    end: End
    synced_end: int
    """Below it all was on the disk before."""
    whole: bytes
    """What the log had, and was to have."""


def crashes(end: End, records: int, *, synced: bool, step: Step) -> Iterator[Crash]:
    """One for each file operation of `step`, which is done to a log of so many records."""
    for steps in count(1):
        assert steps < MOST_STEPS
        disk = MemoryFiles(models_crashes=True)
        files = ProcessFiles(disk, SeededEntropy(steps), on_death=lambda: None)
        log = opened(files)
        filled(log, records)
        if synced:
            log.sync()
        whole = stored(log)
        files.die_within(steps)
        with suppress(OSError):
            step(log)
        has_died = files.is_dead
        files.die()
        end.come(disk)
        yield Crash(disk, end, records if synced else 0, whole)
        if not has_died:
            assert steps > 1, "there was nothing to die at"
            return


def check(crash: Crash, *, may_begin_at: set[int], appended: int = 0) -> PartitionLog:
    """What is left is a piece of what was there, without holes, and can be gone on with."""
    log = opened(crash.disk, recovery_point=crash.synced_end)
    check_epochs(log, may_begin_at | ({0} if not log.end_offset else set()))
    records = len(crash.whole) // SIZE
    found = [header.base_offset for header in headers(stored(log))]
    assert found == list(range(log.first_segment_offset, log.end_offset))
    assert log.first_segment_offset in may_begin_at
    least = crash.synced_end if crash.end.kept is not None else records
    assert least <= log.end_offset <= records + appended
    held = stored(log)[: len(crash.whole)]
    start = log.first_segment_offset * SIZE
    assert held[: len(crash.whole) - start] == crash.whole[start : start + len(held)]
    if crash.disk.exists(FOLDER):
        assert not [n for n in crash.disk.list(FOLDER) if n.endswith((".deleted", ".tmp"))]
    if log.end_offset > log.first_segment_offset:
        assert append(log, idempotent(log.end_offset - 1)).is_duplicate
    assert append(log, idempotent(log.end_offset)).base_offset == log.end_offset - 1
    log.close()
    log.sync()
    return log


synced_or_not = pytest.mark.parametrize("synced", [False, True])


@synced_or_not
@every_end
def test_a_roll(end: End, synced: bool) -> None:
    def step(log: PartitionLog) -> None:
        append(log, idempotent(4))  # The third segment begins.

    for crash in crashes(end, 4, synced=synced, step=step):
        check(crash, may_begin_at={0}, appended=1)


@synced_or_not
@every_end
def test_a_first_append(end: End, synced: bool) -> None:
    for crash in crashes(end, 0, synced=synced, step=lambda log: filled(log, 1)):
        check(crash, may_begin_at={0}, appended=1)


@synced_or_not
@every_end
def test_a_sync(end: End, synced: bool) -> None:
    def step(log: PartitionLog) -> None:
        filled(log, 3)
        log.sync()

    for crash in crashes(end, 3, synced=synced, step=step):
        check(crash, may_begin_at={0}, appended=3)


@every_end
def test_a_sync_that_is_over_holds(end: End) -> None:
    for crash in crashes(end, 5, synced=False, step=lambda log: log.sync()):
        last = crash
    assert opened(last.disk).end_offset == 5


@synced_or_not
@every_end
def test_a_step_of_retention(end: End, synced: bool) -> None:
    def step(log: PartitionLog) -> None:
        log.configure(CONFIG._replace(retention_bytes=2 * SIZE))
        for deletion in delete_old_segments(log, high_watermark=log.end_offset, now=NOW):
            deletion.retired.remove()

    for crash in crashes(end, 6, synced=synced, step=step):
        check(crash, may_begin_at={0, 2, 4})


@synced_or_not
@every_end
def test_retention_of_all_there_is(end: End, synced: bool) -> None:
    def step(log: PartitionLog) -> None:
        log.configure(CONFIG._replace(retention_bytes=0))
        for deletion in delete_old_segments(log, high_watermark=log.end_offset, now=NOW):
            deletion.retired.remove()
        append(log, idempotent(5))

    for crash in crashes(end, 5, synced=synced, step=step):
        check(crash, may_begin_at={0, 2, 4, 5}, appended=1)


@every_end
def test_a_truncation(end: End) -> None:
    for crash in crashes(end, 6, synced=True, step=lambda log: truncate_to(log, Offset(3), NOW)):
        crash.synced_end = 3  # The rest was to go.
        log = opened(crash.disk)
        assert 3 <= log.end_offset <= 6
        assert stored(log) == crash.whole[: log.end_offset * SIZE]


@synced_or_not
@every_end
def test_indexes_that_go_while_the_segment_grows(end: End, synced: bool) -> None:
    """And come again, are cut, and go on."""

    def step(log: PartitionLog) -> None:
        held = log.segments[-1].held
        held.let_go()
        filled(log, 3)
        held.let_go()
        filled(log, 2)
        held.let_go()
        log.sync()

    roomy = CONFIG._replace(segment_bytes=1 << 20)

    def in_one_segment(log: PartitionLog) -> None:
        log.configure(roomy)
        step(log)

    for crash in crashes(end, 4, synced=synced, step=in_one_segment):
        check(crash, may_begin_at={0}, appended=5)


@every_end
def test_a_close(end: End) -> None:
    for crash in crashes(end, 5, synced=False, step=lambda log: log.close()):
        check(crash, may_begin_at={0})


# Recovery.


def torn(disk: MemoryFiles) -> None:
    """As a crash may leave it: a torn tail, a hole, an index of nothing, files half renamed."""
    log = opened(disk)
    filled(log, 7)
    log.sync()
    log.close()
    size = disk.size(f"{FOLDER}/{4:020d}.log")
    file = disk.open(f"{FOLDER}/{4:020d}.log")
    file.truncate(size - 1)
    file.sync()
    disk.open(f"{FOLDER}/{6:020d}.log").append(b"more that is no batch")
    disk.replace(f"{FOLDER}/{2:020d}.index", b"garbage")
    disk.replace(f"{FOLDER}/{99:020d}.timeindex", b"")
    disk.replace(f"{FOLDER}/{0:020d}.log.deleted", b"x")
    disk.replace(f"{FOLDER}/{5:020d}.snapshot", b"no snapshot")
    disk.remove(f"{FOLDER}/leader-epoch-checkpoint")
    keep_names(disk, "")
    disk.crash(lambda path, unsynced: unsynced)


@pytest.mark.parametrize(("log_start_offset", "recovery_point"), [(0, 0), (3, 0), (0, 4)], ids=str)
@every_end
def test_a_recovery(end: End, log_start_offset: int, recovery_point: int) -> None:
    undisturbed = MemoryFiles(models_crashes=True)
    torn(undisturbed)
    expected = opened(undisturbed, log_start_offset=log_start_offset, recovery_point=recovery_point)
    assert expected.end_offset == 5
    assert [start.epoch for start in expected.epochs.starts] == [0, 1][log_start_offset // 3 :]
    for steps in count(1):
        disk = MemoryFiles(models_crashes=True)
        torn(disk)
        files = ProcessFiles(disk, SeededEntropy(steps), on_death=lambda: None)
        files.die_within(steps)
        with suppress(OSError):
            opened(files, log_start_offset=log_start_offset, recovery_point=recovery_point)
        has_died = files.is_dead
        files.die()
        end.come(disk)
        log = opened(disk, log_start_offset=log_start_offset, recovery_point=recovery_point)
        assert (log.log_start_offset, log.end_offset) == (log_start_offset, 5)
        assert stored(log) == stored(expected)
        assert log.epochs.starts == expected.epochs.starts
        assert append(log, idempotent(4)).is_duplicate
        assert append(log, idempotent(5)).base_offset == 5
        if not has_died:
            assert steps > 5
            return


# Checkpoints.


def directory_of(files: Files) -> LogDirectory:
    return LogDirectory.open(
        files,
        location="logs",
        node_id=BrokerId(1),
        new_cluster_id="the-cluster",
        new_directory_id=Uuid(bytes(range(16))),
    )


def orders(directory: LogDirectory) -> PartitionLog:
    return directory.open_partition(ORDERS, topic_id=TOPIC_ID, config=CONFIG, now=NOW)


def writes_as_it_runs(directory: LogDirectory) -> None:
    """As housekeeping does."""
    checkpoints = directory.checkpoints
    for path, offsets in (
        (RECOVERY_POINTS, checkpoints.find_recovery_points()),
        (LOG_START_OFFSETS, checkpoints.find_log_starts()),
    ):
        planned = checkpoints.plan(path, offsets)
        planned.write()
        assert checkpoints.adopt(planned)
        checkpoints.sync()


@pytest.mark.parametrize("stops", [False, True], ids=["while it runs", "as it stops"])
@every_end
def test_a_checkpoint(end: End, stops: bool) -> None:
    """What is in its file was true: the old offsets or the new ones, and while it runs none amid
    the active segment."""
    for steps in count(1):
        disk = MemoryFiles(models_crashes=True)
        files = ProcessFiles(disk, SeededEntropy(steps), on_death=lambda: None)
        directory = directory_of(files)
        log = orders(directory)
        filled(log, 3)
        log.sync()
        delete_records(log, Offset(1))
        writes_as_it_runs(directory)
        filled(log, 2)
        log.sync()
        delete_records(log, Offset(3))
        files.die_within(steps)
        with suppress(OSError):
            close(directory) if stops else writes_as_it_runs(directory)
        has_died = files.is_dead
        files.die()
        end.come(disk)
        assert read_offsets(disk, RECOVERY_POINTS)[ORDERS] in (2, 5 if stops else 4)
        assert read_offsets(disk, LOG_START_OFFSETS)[ORDERS] in (1, 3)
        again = directory_of(disk)
        found = orders(again)
        assert found.log_start_offset in (1, 3)
        assert found.end_offset == 5
        assert found.cuts == ()
        assert again.claimed.was_clean <= stops
        if not has_died:
            assert again.claimed.was_clean == stops
            assert found.log_start_offset == 3
            return
