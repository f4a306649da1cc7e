"""What a start that fails leaves in a log folder, and a stop that comes early."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.files_os import OsFiles
from kafkalite.types import TopicPartition, Uuid
from tests.log.log_fixtures import NOW, append, batch
from tests.log.test_directories import ORDERS, UNIQUE, open_directory, open_orders, stop
from tests.log.trees import tree


@pytest.fixture
def files() -> MemoryFiles:
    return MemoryFiles(models_crashes=True)


def test_a_first_start_that_fails_leaves_nothing(tmp_path: Path) -> None:
    files = OsFiles(str(tmp_path / "made" / "here"))
    directory = open_directory(files)
    directory.claimed.undo()
    directory.abandon()
    assert list((tmp_path / "made").iterdir()) == []


def test_a_first_start_that_fails_leaves_an_empty_folder_empty(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    files = OsFiles(str(tmp_path))
    directory = open_directory(files)
    files.make_folder("__cluster_metadata-0")
    directory.claimed.undo()
    directory.abandon()
    assert files.list("") == ["lost+found"]
    assert open_directory(files).claimed.meta.cluster_id == "the-cluster"


def test_a_start_that_fails_takes_nothing_from_a_folder_that_was_in_use(
    files: MemoryFiles,
) -> None:
    directory = open_directory(files)
    append(open_orders(directory), batch())
    stop(directory)
    before = tree(files)
    again = open_directory(files)
    assert tree(files) != before, "what was clean is not, once it is open"
    again.claimed.undo()
    again.abandon()
    assert tree(files) == before


def test_a_stop_before_all_is_checked_that_a_crash_has_left_is_no_clean_one(
    files: MemoryFiles,
) -> None:
    directory = open_directory(files)
    append(open_orders(directory), batch())
    other = TopicPartition("other", 0)
    log = directory.open_partition(other, topic_id=UNIQUE, config=TopicConfig(), now=NOW)
    append(log, batch())
    directory.abandon()
    again = open_directory(files)
    open_orders(again)
    stop(again)
    third = open_directory(files)
    assert not third.claimed.was_clean
    open_orders(third)
    third.open_partition(other, topic_id=UNIQUE, config=TopicConfig(), now=NOW)
    stop(third)
    assert open_directory(files).claimed.was_clean


def test_what_checkpoints_tell_of_those_not_open_stays(files: MemoryFiles) -> None:
    directory = open_directory(files)
    append(open_orders(directory), batch())
    stop(directory, high_watermark=1)
    stop(open_directory(files), high_watermark=7)
    again = open_directory(files)
    assert (again.claimed.was_clean, again.checkpoints.high_watermarks) == (True, {ORDERS: 1})
    assert open_orders(again).recovery_point == 1


def test_a_deleted_partition_without_a_folder_leaves_nothing_to_remove(files: MemoryFiles) -> None:
    directory = open_directory(files)
    open_orders(directory)
    assert directory.delete_partition(ORDERS, UNIQUE) is None
    assert directory.logs == {}
    append(open_orders(directory, Uuid(b"another topic id")), batch())
