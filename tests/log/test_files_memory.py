"""A crash of the files in memory leaves what a disk would have: what was synced, and no more."""

from __future__ import annotations

import weakref

import pytest

from kafkalite.log import files_memory
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.memory_bytes import CHUNK_BYTES, MemoryBytes


@pytest.fixture(params=[2, 3, CHUNK_BYTES])
def files(request: pytest.FixtureRequest) -> MemoryFiles:
    return MemoryFiles(chunk_bytes=request.param, models_crashes=True)


def whole(files: MemoryFiles, path: str) -> bytes:
    return files.open_read(path).read(0, 1 << 20)


def test_unsynced_bytes_are_lost(files: MemoryFiles) -> None:
    file = files.open("a")
    file.append(b"abc")
    file.sync()
    files.sync_folder("")
    file.append(b"def")
    files.crash()
    assert whole(files, "a") == b"abc"


def test_some_of_the_unsynced_bytes_may_survive(files: MemoryFiles) -> None:
    file = files.open("a")
    file.append(b"abc")
    file.sync()
    files.sync_folder("")
    file.append(b"def")
    asked = []

    def keep_one(path: str, unsynced: int) -> int:
        asked.append((path, unsynced))
        return 1

    files.crash(keep_one)
    assert whole(files, "a") == b"abcd"
    assert asked == [("a", 3)]


def test_names_not_synced_are_lost(files: MemoryFiles) -> None:
    files.make_folder("t")
    files.sync_folder("")
    files.open("t/a").sync()
    files.sync_folder("t")
    files.open("t/b").sync()
    files.crash()
    assert files.list("t") == ["a"]


def test_a_folder_not_synced_is_lost_with_all_in_it(files: MemoryFiles) -> None:
    files.make_folder("t")
    files.open("t/a").sync()
    files.sync_folder("t")
    files.crash()
    assert files.list("") == []


def test_a_removal_not_synced_comes_back(files: MemoryFiles) -> None:
    file = files.open("a")
    file.append(b"abc")
    file.sync()
    files.sync_folder("")
    files.remove("a")
    files.crash()
    assert whole(files, "a") == b"abc"
    files.remove("a")
    files.sync_folder("")
    files.crash()
    assert not files.exists("a")


def test_a_rename_survives_but_not_the_bytes_that_were_not_synced(files: MemoryFiles) -> None:
    file = files.open("a")
    file.append(b"abc")
    file.sync()
    files.sync_folder("")
    file.append(b"def")
    files.rename("a", "b")
    files.crash()
    assert files.list("") == ["b"]
    assert whole(files, "b") == b"abc"


def test_replace_is_durable_only_with_sync(files: MemoryFiles) -> None:
    files.replace("a", b"one")
    files.replace("a", b"two", sync=False)
    assert whole(files, "a") == b"two"
    files.crash()
    assert whole(files, "a") == b"one"


def test_a_truncation_not_synced_comes_back(files: MemoryFiles) -> None:
    file = files.open("a")
    file.append(b"abcdef")
    file.sync()
    files.sync_folder("")
    file.truncate(2)
    file.append(b"XYZ")
    file.write_at(0, b"Q")
    assert whole(files, "a") == b"QbXYZ"
    files.crash()
    assert whole(files, "a") == b"abcdef"


def test_an_overwrite_not_synced_comes_back(files: MemoryFiles) -> None:
    file = files.open("a")
    file.append(b"abc")
    file.sync()
    files.sync_folder("")
    file.write_at(1, b"X")
    file.append(b"d")
    assert whole(files, "a") == b"aXcd"
    files.crash()
    assert whole(files, "a") == b"abc"


def test_views_keep_their_bytes_over_truncation_and_new_appends(files: MemoryFiles) -> None:
    file = files.open("a")
    file.append(b"abcdef")
    view = file.slice(0, 6)
    file.truncate(1)
    file.append(b"XYZUVW")
    assert isinstance(view, memoryview)
    assert view.readonly
    assert bytes(view) == b"abcdef"
    assert whole(files, "a") == b"aXYZUVW"


def test_locks_are_free_after_a_crash_and_old_handles_are_dead(files: MemoryFiles) -> None:
    files.lock(".lock")
    file = files.open("a")
    files.sync_folder("")
    files.crash()
    file.append(b"lost")
    files.lock(".lock").release()
    assert whole(files, "a") == b""


def test_what_is_no_folder_is_refused(files: MemoryFiles) -> None:
    files.replace("a", b"")
    files.make_folder("t")
    with pytest.raises(NotADirectoryError):
        files.list("a")
    with pytest.raises(FileExistsError):
        files.make_folder("a/b")
    with pytest.raises(IsADirectoryError):
        files.open("t")
    with pytest.raises(IsADirectoryError):
        files.size("t")
    assert not files.exists("a/b")


def test_growth_copies_no_more_than_a_chunk() -> None:
    files = MemoryFiles(chunk_bytes=4096)
    file = files.open("a")
    file.append(b"x" * 4096)
    view = file.slice(0, 4096)
    for _ in range(20):
        file.append(b"y" * 1000)
    assert isinstance(view, memoryview)
    again = file.slice(0, 4096)
    assert isinstance(again, memoryview)
    assert again.obj is view.obj


class WatchedBytes(MemoryBytes):
    """Takes weak references, having no slots of its own."""


def test_what_is_removed_is_freed_at_once_but_for_views_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(files_memory, "MemoryBytes", WatchedBytes)
    files = MemoryFiles()
    files.make_folder("t")
    file = files.open("t/a")
    file.append(b"abcdef")
    file.sync()
    files.sync_folder("t")
    files.sync_folder("")
    view = file.slice(0, 3)
    file.truncate(3)
    node = weakref.ref(file.node)
    file.close()
    del file
    files.rename("t", "t-delete")
    files.remove_folder("t-delete")
    assert node() is None
    assert isinstance(view, memoryview)
    assert bytes(view) == b"abc"


def test_only_files_that_model_crashes_crash() -> None:
    with pytest.raises(AssertionError, match="do not know what is durable"):
        MemoryFiles().crash()
