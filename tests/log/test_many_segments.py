"""More segments than a process may have descriptors, with all their indexes: few are open at a
time, whatever is done with them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.log.directories import LogDirectory
from kafkalite.log.files_os import OsFiles
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.os_file import OsSlice
from kafkalite.types import BrokerId, Offset, TopicPartition
from tests.log.log_fixtures import EPOCH, NOW, TOPIC_ID, batch, close

DESCRIPTORS = "/proc/self/fd"
PARTITIONS, SEGMENTS = 40, 5
MOST = 32
"""Half of what the process may have."""
MANY_PARTITIONS = 2_000
CONFIG = TopicConfig(segment_bytes=100, index_interval_bytes=10)


class Watched(OsFiles):
    """Notes how many descriptors there were at most, at each opening."""

    def __init__(self, root: str) -> None:
        super().__init__(root, limit=1_000_000)
        self._open_files._most = MOST
        self.most = 0

    def _at(self, path: str) -> str:
        self.most = max(self.most, self.descriptors())
        return super()._at(path)

    def descriptors(self) -> int:
        """Those of these files. What other tests left is closed at any moment, as garbage."""
        return sum(_file_of(each).startswith(self._root) for each in os.listdir(DESCRIPTORS))


def _file_of(descriptor: str) -> str:
    try:
        return os.readlink(f"{DESCRIPTORS}/{descriptor}")
    except FileNotFoundError:  # The one of the list itself.
        return ""


def key(index: int) -> TopicPartition:
    return TopicPartition("t", index)


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Watched]:
    files = Watched(str(tmp_path / "data"))
    yield files
    assert 0 < files.most <= MOST + 2, "the lock, and a file that is read whole"
    assert files.descriptors() == 0


def open_all(files: Watched, partitions: int = PARTITIONS) -> LogDirectory:
    directory = LogDirectory.open(
        files,
        location="data",
        node_id=BrokerId(1),
        new_cluster_id="the-cluster",
        new_directory_id=TOPIC_ID,
    )
    for index in range(partitions):
        directory.open_partition(key(index), topic_id=TOPIC_ID, config=CONFIG, now=NOW)
    return directory


def append_to_all(directory: LogDirectory) -> None:
    for log in directory.logs.values():
        append_as_leader(log, memoryview(batch()), leader_epoch=EPOCH, now=NOW)


def read_everything(directory: LogDirectory, expected: int) -> None:
    for log in directory.logs.values():
        assert log.end_offset == expected
        for offset in range(expected):
            found = log.read(
                Offset(offset), max_bytes=1000, max_offset=log.end_offset, first_batch_whole=True
            )
            assert isinstance(found.part, OsSlice)
            assert len(found.part.read(0, found.size_bytes)) == found.size_bytes
            found.part.release()
        assert log.offset_for_timestamp(NOW) is not None


@pytest.mark.parametrize("is_clean", [True, False])
def test_few_are_open_at_a_time(files: Watched, *, is_clean: bool) -> None:
    directory = open_all(files)
    for _ in range(SEGMENTS):
        append_to_all(directory)
    assert {len(log.segments) for log in directory.logs.values()} == {SEGMENTS}
    read_everything(directory, SEGMENTS)
    if is_clean:
        close(directory)
    else:
        directory.abandon()
    directory = open_all(files)
    assert directory.claimed.was_clean == is_clean
    append_to_all(directory)
    read_everything(directory, SEGMENTS + 1)
    directory.abandon()


def test_few_are_open_of_two_thousand_partitions(files: Watched) -> None:
    directory = open_all(files, MANY_PARTITIONS)
    append_to_all(directory)
    read_everything(directory, 1)
    assert len(directory.logs) == MANY_PARTITIONS
    directory.abandon()
