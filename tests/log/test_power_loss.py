"""What has to be on the disk before something else is."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.files_os import OsFiles
from kafkalite.log.log_cuts import delete_records
from kafkalite.types import Offset, Uuid
from tests.log.log_fixtures import FOLDER, append, batch, open_log
from tests.log.test_directories import ORDERS, open_directory, open_orders, stop


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the disk is told, in order."""
    told: list[str] = []
    sync, replace = os.fsync, os.replace

    def fsync(fd: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(fd).st_mode)
        told.append("sync folder" if is_folder else "sync file")
        sync(fd)

    def rename(source: str, target: str) -> None:
        told.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", rename)
    return told


def test_a_file_is_whole_on_the_disk_before_it_takes_the_place_of_the_old_one(
    tmp_path: Path, steps: list[str]
) -> None:
    files = OsFiles(str(tmp_path))
    files.replace("a", b"new")
    assert steps == ["sync file", "rename", "sync folder"]
    steps.clear()
    files.replace("a", b"newer", sync=False)
    assert steps == ["rename"]


def test_a_rename_is_on_the_disk_when_it_returns(tmp_path: Path, steps: list[str]) -> None:
    files = OsFiles(str(tmp_path))
    files.make_folder("f")
    files.make_folder("g")
    files.rename("f", "h")
    assert steps == ["rename", "sync folder"]
    steps.clear()
    files.rename("h", "g/f")
    assert steps == ["rename", "sync folder", "sync folder"]
    steps.clear()
    files.rename("g/f", "f", sync=False)
    assert steps == ["rename"]


def test_what_recovery_cut_does_not_come_back() -> None:
    """The recovery point may stand right where it was cut, and then nobody looks again."""
    files = MemoryFiles(models_crashes=True)
    log = open_log(files)
    append(log, batch())
    log.sync()
    size = log.size_bytes
    log.release_files()
    file = files.open(f"{FOLDER}/{0:020d}.log")
    file.append(b"torn")
    file.sync()
    again = open_log(files, clean=False)
    assert len(again.cuts) == 1
    files.crash()
    assert files.size(f"{FOLDER}/{0:020d}.log") == size


def test_a_topic_that_is_made_again_keeps_its_records_over_a_crash() -> None:
    """A checkpoint that tells where the old one began would have them dropped, and one that tells
    how far the old one was synced would have them believed."""
    files = MemoryFiles(models_crashes=True)
    directory = open_directory(files)
    log = open_orders(directory)
    for _ in range(3):
        append(log, batch())
    delete_records(log, Offset(2))
    stop(directory)
    directory = open_directory(files)
    open_orders(directory)
    directory.delete_partition(ORDERS, Uuid(bytes(16)))
    other = Uuid(b"another topic id")
    append(open_orders(directory, other), batch())
    directory.abandon()
    log = open_orders(open_directory(files), other)
    assert (log.log_start_offset, log.end_offset, log.recovery_point) == (0, 1, 0)


def test_a_log_that_was_synced_before_it_had_a_folder_is_synced_whole_afterwards() -> None:
    """Found by the machine of all histories of a log."""
    files = MemoryFiles(models_crashes=True)
    log = open_log(files)
    log.sync()
    append(log, batch())
    log.sync()
    files.crash()
    files.make_folder("")
    assert open_log(files, clean=False).end_offset == log.end_offset


def test_a_new_log_folder_is_on_the_disk_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a loss of power takes all that was synced in it."""
    synced: list[int] = []
    sync = os.fsync

    def fsync(fd: int) -> None:
        synced.append(os.fstat(fd).st_ino)
        sync(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    files = OsFiles(str(tmp_path / "a" / "b"))
    files.make_folder("")
    assert set(synced) == {tmp_path.stat().st_ino, (tmp_path / "a").stat().st_ino}
    synced.clear()
    files.make_folder("")
    assert synced == []
