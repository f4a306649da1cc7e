"""A log that is copied to another log folder, and takes its place there: what it has there, and
what a death at any moment leaves."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import count

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.log.directories import LogDirectory
from kafkalite.log.directory_set import DirectorySet
from kafkalite.log.files import Files
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.folder_names import is_cut, partition_set_aside, set_aside_name
from kafkalite.log.follower_log import append_as_follower
from kafkalite.log.future_log import FutureLog, Moved, SourceRefusedError
from kafkalite.log.log_cuts import retire_below, truncate_to
from kafkalite.ports.entropy import SeededEntropy
from kafkalite.testing.faults import ProcessFiles
from kafkalite.types import LeaderEpoch, Offset, TopicPartition, Uuid
from tests.log.crash_ends import End, every_end
from tests.log.log_fixtures import EPOCH, NOW, TOPIC_ID, append, headers, idempotent, stored
from tests.log.refusing_disk import RefusingDisk
from tests.log.test_directory_set import open_set

SIZE = len(idempotent(0))
CONFIG = TopicConfig(segment_bytes=2 * SIZE, index_interval_bytes=1, retention_ms=-1)
KEY = TopicPartition("orders", 3)
UNIQUE = Uuid(bytes(range(16)))
MOST_STEPS = 200


def opened(directories: DirectorySet, *, config: TopicConfig = CONFIG) -> LogDirectory:
    """The folder that has the log, or is to have it; the log is open there."""
    directory = directories.home(KEY) or directories.live[0]
    directory.open_partition(KEY, topic_id=TOPIC_ID, config=config, now=NOW)
    directories.settle(KEY, directory)
    return directory


def filled(disks: Sequence[Files], records: int) -> DirectorySet:
    """The first folder has the log: one record a batch, two batches a segment."""
    directories = open_set(*disks)
    log = opened(directories).logs[KEY]
    log.begin_epoch(LeaderEpoch(5))
    for sequence in range(records):
        append(log, idempotent(sequence))
    return directories


def begun(directories: DirectorySet) -> FutureLog:
    source, target = directories.live
    return FutureLog(KEY, source, target, UNIQUE, NOW)


def copy(future: FutureLog, piece_bytes: int = 1) -> None:
    while future.offset_lag:
        assert future.is_current
        part = future.read(piece_bytes)
        if part is None:
            future.skip(NOW)
        else:
            records = memoryview(future.bytes_of(part))
            append_as_follower(future.log, records, leader_epoch=EPOCH, now=NOW)


def moved(directories: DirectorySet) -> Moved:
    future = begun(directories)
    copy(future)
    return future.switch(NOW)


@pytest.mark.parametrize("piece_bytes", [1, SIZE + 1, 100 * SIZE])
def test_it_is_the_same_log_there(piece_bytes: int) -> None:
    directories = filled([MemoryFiles(), MemoryFiles()], 9)
    source, target = directories.live
    old = source.logs[KEY]
    whole, epochs = stored(old), old.epochs.content()
    future = begun(directories)
    copy(future, piece_bytes)
    new, left_behind = future.switch(NOW)
    assert target.logs == {KEY: new}
    assert source.logs == {}
    assert stored(new) == whole
    assert [segment.base_offset for segment in new.segments] == [0, 2, 4, 6, 8]
    assert (new.end_offset, new.recovery_point, new.epochs.content()) == (9, 9, epochs)
    assert append(new, idempotent(8)).is_duplicate
    assert append(new, idempotent(9)).base_offset == 9
    assert left_behind is not None
    source.remove(left_behind)
    assert not [name for name in source.files.list("") if name.startswith("orders")]


def test_one_that_is_to_move_has_a_folder_though_no_records() -> None:
    """As in Kafka: without it nobody would know after a death."""
    disks = [MemoryFiles(), MemoryFiles()]
    directories = open_set(*disks)
    opened(directories)
    begun(directories)
    for directory in directories.live:
        directory.abandon()
    after = open_set(*disks)
    name = set_aside_name(KEY, UNIQUE, "-future")
    assert after.home(KEY) is after.live[0]
    assert after.undone_moves == {KEY: (after.live[1], name)}
    opened(after)
    again = FutureLog(KEY, after.live[0], after.live[1], Uuid(bytes(16)), NOW)
    assert again.switch(NOW).log.end_offset == 0
    assert disks[1].exists(str(KEY))


def test_of_two_copies_the_one_that_took_the_logs_place_gets_its_name() -> None:
    """The other one was to be removed, and a loss of power has undone that."""
    for taken, other in ((1, 2), (2, 1)):
        disks = [MemoryFiles() for _ in range(3)]
        for directory in open_set(*disks).live:
            directory.abandon()
        disks[0].make_folder(set_aside_name(KEY, UNIQUE, "-delete"))
        disks[taken].make_folder(set_aside_name(KEY, UNIQUE, "-future"))
        disks[other].make_folder(set_aside_name(KEY, Uuid(bytes(16)), "-future"))
        directories = open_set(*disks)
        assert directories.home(KEY) is directories.live[taken]
        assert not [name for name in disks[other].list("") if name.endswith("-future")]


def test_it_begins_where_the_log_does() -> None:
    directories = filled([MemoryFiles(), MemoryFiles()], 7)
    source, target = directories.live
    retire_below(source.logs[KEY], Offset(3)).remove()
    log = moved(directories).log
    assert (log.first_segment_offset, log.log_start_offset, log.end_offset) == (3, 3, 7)
    assert target.checkpoints.log_starts == {}


def test_an_empty_one_goes_on_at_its_offset() -> None:
    directories = filled([MemoryFiles(), MemoryFiles()], 7)
    source = directories.live[0]
    old = source.logs[KEY]
    old.roll(NOW)
    retire_below(old, Offset(7)).remove()
    log, _ = moved(directories)
    assert (log.log_start_offset, log.end_offset) == (7, 7)
    target = directories.live[1]
    del target.logs[KEY]
    again = target.open_partition(KEY, topic_id=TOPIC_ID, config=CONFIG, now=NOW, is_clean=True)
    for each in (log, again):
        assert append(each, idempotent(6)).is_duplicate, "the producer is known still"
    assert append(log, idempotent(7)).base_offset == 7


def test_holes_are_copied_too() -> None:
    """As compaction leaves them: within the log, and at its end."""
    directories = filled([MemoryFiles(), MemoryFiles()], 6)
    source, target = directories.live
    old = source.logs[KEY]
    old.roll(NOW)
    source.checkpoints.cleaner_offsets[KEY] = Offset(4)
    old.close()
    for name in (0, 4):
        file = source.files.open(f"{KEY}/{name:020d}.log")
        file.truncate(SIZE)
        file.close()
    del source.logs[KEY]
    opened(directories)
    future = begun(directories)
    copy(future)
    assert [header.base_offset for header in headers(stored(future.log))] == [0, 2, 3, 4]
    new = future.switch(NOW).log
    assert (new.end_offset, target.checkpoints.cleaner_offsets) == (6, {KEY: 4})
    assert KEY not in source.checkpoints.cleaner_offsets


def test_it_is_not_current_when_the_log_lost_what_comes_next() -> None:
    directories = filled([MemoryFiles(), MemoryFiles()], 6)
    source = directories.live[0]
    old = source.logs[KEY]
    slow = begun(directories)
    retire_below(old, Offset(4)).remove()
    assert not slow.is_current
    again = begun(directories)
    copy(again)
    was_current = again.is_current
    truncate_to(old, Offset(5), NOW)
    assert (was_current, again.is_current) == (True, False)
    gone = begun(directories)
    source.delete_partition(KEY, Uuid(bytes(16)))
    assert not gone.is_current


@pytest.mark.parametrize("refusing", [0, 1])
def test_a_disk_that_refuses_at_the_end_leaves_the_log_where_it_is(refusing: int) -> None:
    disks = [RefusingDisk(), RefusingDisk()]
    directories = filled(disks, 5)
    source, target = directories.live
    old = source.logs[KEY]
    source.checkpoints.cleaner_offsets[KEY] = Offset(2)
    future = begun(directories)
    copy(future)
    with pytest.MonkeyPatch.context() as patch:
        original = disks[refusing].rename
        renames = iter([OSError(5, "refused")])

        def rename(source: str, target: str, *, sync: bool = True) -> None:
            if source.endswith(("orders-3", "-future")):
                for error in renames:
                    raise error
            original(source, target, sync=sync)

        patch.setattr(disks[refusing], "rename", rename)
        with pytest.raises(SourceRefusedError if refusing == 0 else OSError):
            future.switch(NOW)
    assert source.logs == {KEY: old}
    assert target.logs == {}
    assert source.checkpoints.cleaner_offsets == {KEY: 2}
    assert target.checkpoints.cleaner_offsets == {}
    assert append(old, idempotent(5)).base_offset == 5
    again = begun(directories)
    copy(again)
    whole = stored(old)
    assert stored(again.switch(NOW).log) == whole


def of_one_process(disks: Sequence[Files], seed: int) -> list[ProcessFiles]:
    files: list[ProcessFiles] = []

    def die() -> None:
        for each in files:
            each.die()

    files += [ProcessFiles(disk, SeededEntropy(seed), on_death=die) for disk in disks]
    return files


@every_end
@pytest.mark.parametrize("dying", [0, 1])
def test_a_death_at_any_moment_leaves_one_whole_log(end: End, dying: int) -> None:
    for steps in count(1):
        assert steps < MOST_STEPS
        disks = [MemoryFiles(models_crashes=True), MemoryFiles(models_crashes=True)]
        files = of_one_process(disks, steps)
        directories = filled(files, 5)
        log = directories.live[0].logs[KEY]
        log.sync()
        whole = stored(log)
        future = begun(directories)
        files[dying].die_within(steps)
        with suppress(OSError, SourceRefusedError):
            copy(future)
            future.switch(NOW)
        has_died = files[dying].is_dead
        for process, disk in zip(files, disks, strict=True):
            process.die()
            end.come(disk)
        after = open_set(*disks)
        found = opened(after)
        assert stored(found.logs[KEY]) == whole
        assert append(found.logs[KEY], idempotent(5)).base_offset == 5
        others = [each for each in after.live if each is not found]
        assert not any(each.files.exists(str(KEY)) for each in others)
        copies = [n for each in after.live for n in each.files.list("") if n.endswith("-future")]
        assert copies == [copy.name for copy in after.undone_moves.values()]
        if not has_died:
            assert found is after.live[1], "it has moved"
            return


def test_nothing_is_decided_while_a_folder_is_missing() -> None:
    disks = [RefusingDisk() for _ in range(3)]
    directories = open_set(*disks)
    for directory in directories.live:
        directory.abandon()
    disks[1].make_folder(set_aside_name(KEY, UNIQUE, "-future"))
    disks[0].make_folder(set_aside_name(KEY, UNIQUE, "-delete"))
    disks[2].error = 5
    directories = open_set(*disks)
    assert directories.home(KEY) is None
    assert directories.undone_moves == {}
    assert disks[1].exists(set_aside_name(KEY, UNIQUE, "-future"))


def test_names() -> None:
    name = set_aside_name(KEY, UNIQUE, "-future")
    assert partition_set_aside(name, "-future") == KEY
    assert partition_set_aside(name, "-delete") is None
    assert partition_set_aside("orders-3", "-future") is None
    assert not is_cut(TopicPartition("t" * 213, 0))
    assert is_cut(TopicPartition("t" * 214, 0))
