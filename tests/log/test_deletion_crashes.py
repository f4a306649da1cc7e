"""The process dies, or the power goes, before each single file operation of a partition's deletion,
or amid the removal of its files: its folder is whole while it has its name, and other partitions,
and one that is made again by that name, lose nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import count

import pytest

from kafkalite.log.directories import LogDirectory
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.partition_log import PartitionLog
from kafkalite.ports.entropy import SeededEntropy
from kafkalite.testing.faults import ProcessFiles
from kafkalite.types import TopicPartition, Uuid
from tests.log.crash_ends import ENDS
from tests.log.log_fixtures import NOW, TOPIC_ID, stored
from tests.log.test_crash_points import CONFIG, MOST_STEPS, directory_of, filled, writes_as_it_runs

GOING, STAYING = TopicPartition("orders", 0), TopicPartition("orders", 1)
ANEW = Uuid(b"another topic id")
RECORDS, FEWER = 5, 2


def files_go_before_names(disk: MemoryFiles) -> None:
    """What was removed is gone, and what was renamed has its old name."""
    for name in disk.list(""):
        if disk.is_folder(name):
            disk.sync_folder(name)
    disk.crash()


LEFT = {end.name: end.come for end in ENDS} | {"removals without renames": files_go_before_names}


def opened(directory: LogDirectory, key: TopicPartition, topic_id: Uuid = TOPIC_ID) -> PartitionLog:
    return directory.open_partition(key, topic_id=topic_id, config=CONFIG, now=NOW)


def deleted_and_made_again(directory: LogDirectory) -> None:
    folder = directory.delete_partition(GOING, Uuid(bytes(16)))
    assert folder is not None
    log = opened(directory, GOING, ANEW)
    filled(log, FEWER)
    directory.remove(folder)
    log.sync()
    writes_as_it_runs(directory)


@pytest.mark.parametrize("leave", LEFT.values(), ids=list(LEFT))
def test_a_deletion(leave: Callable[[MemoryFiles], None]) -> None:
    found = set()
    for steps in count(1):
        assert steps < MOST_STEPS
        disk = MemoryFiles(models_crashes=True)
        files = ProcessFiles(disk, SeededEntropy(steps), on_death=lambda: None)
        directory = directory_of(files)
        for key in (GOING, STAYING):
            log = opened(directory, key)
            filled(log, RECORDS)
            log.sync()
        whole = stored(log)
        writes_as_it_runs(directory)
        files.die_within(steps)
        with suppress(OSError):
            deleted_and_made_again(directory)
        has_died = files.is_dead
        files.die()
        leave(disk)
        again = directory_of(disk)
        assert stored(opened(again, STAYING)) == whole
        topic_id = again.read_topic_id(GOING)
        found.add(topic_id)
        if topic_id == TOPIC_ID:
            assert stored(opened(again, GOING)) == whole
        else:
            log = opened(again, GOING, ANEW)
            assert stored(log) == whole[: len(stored(log))]
            assert log.end_offset <= FEWER, "it has none of the old one's"
            if not has_died:
                assert log.end_offset == FEWER
        for name in again.find_deleted():
            again.remove(name)
            assert not disk.exists(name)
        if not has_died:
            break
    assert found >= {TOPIC_ID, ANEW}, "it met a death before, and one after"
