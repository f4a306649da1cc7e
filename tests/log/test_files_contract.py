"""What every implementation of the Files port must do: the log is built on nothing else."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalite.log.files import File, Files, FileSlice, Part, read_part, release_parts
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.files_os import OsFiles
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.os_file import OsFile, OsSlice
from kafkalite.ports.entropy import SeededEntropy
from kafkalite.testing.faults import ProcessFiles


@pytest.fixture(params=["os", "os, few descriptors", "memory", "memory in small chunks", "process"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    made: Files
    match request.param:
        case "os":
            made = OsFiles(str(tmp_path / "root"))
        case "os, few descriptors":
            made = OsFiles(str(tmp_path / "root"), limit=0)
        case "memory":
            made = MemoryFiles()
        case "process":
            made = ProcessFiles(MemoryFiles(), SeededEntropy(1), on_death=lambda: None)
        case _:
            made = MemoryFiles(chunk_bytes=4)
    made.make_folder("")
    return made


@pytest.fixture
def file(files: Files) -> Iterator[File]:
    file = files.open("a.log")
    yield file
    file.close()


def content(part: Part) -> bytes:
    """The bytes of a part, by whichever way it offers; gives it back."""
    if isinstance(part, bytes | bytearray):
        return bytes(part)
    data = bytes(part) if isinstance(part, memoryview) else part.read(0, len(part))
    part.release()
    return data


def whole(files: Files, path: str) -> bytes:
    file = files.open_read(path)
    try:
        return file.read(0, file.size)
    finally:
        file.close()


def test_appends_are_read_back(file: File) -> None:
    file.append(b"abc")
    file.append(bytearray(b"de"))
    file.append(memoryview(b"fgh"))
    file.append(b"")
    assert file.size == 8
    assert file.read(0, 8) == b"abcdefgh"
    assert file.read(2, 3) == b"cde"
    assert file.read(6, 100) == b"gh"
    assert file.read(8, 1) == b""


def test_reading_does_not_move_the_end(file: File) -> None:
    file.append(b"abc")
    assert file.read(0, 1) == b"a"
    file.append(b"def")
    assert file.read(0, 6) == b"abcdef"


def test_many_files_take_turns(files: Files) -> None:
    opened = [files.open(f"{number}.log") for number in range(100)]
    for turn in (b"abc", b"de", b"f"):
        for file in opened:
            file.append(turn)
    for file in opened:
        assert file.read(0, 10) == b"abcdef"
        file.write_at(1, b"B")
        file.truncate(4)
        file.sync()
        assert content(file.slice(0, 4)) == b"aBcd"
        file.append(b"E")
    for number, file in enumerate(opened):
        file.close()
        assert whole(files, f"{number}.log") == b"aBcdE"


def test_overwrites_in_place(file: File) -> None:
    file.append(b"abcdef")
    file.write_at(2, b"XY")
    file.append(b"g")
    assert file.read(0, 7) == b"abXYefg"


def test_truncates(file: File) -> None:
    file.append(b"abcdef")
    file.truncate(2)
    assert file.size == 2
    file.append(b"X")
    assert file.read(0, 10) == b"abX"


def test_what_is_reserved_is_not_read_and_not_kept(files: Files, file: File) -> None:
    file.append(b"abc")
    file.reserve(100)
    assert file.size == 3
    assert file.read(0, 10) == b"abc"
    assert file.read(5, 10) == b""
    file.append(b"de")
    file.write_at(1, b"B")
    assert content(file.slice(0, 5)) == b"aBcde"
    file.reserve(0)
    assert files.size("a.log") == 5
    file.reserve(100)
    file.truncate(4)
    assert files.size("a.log") == 4
    file.reserve(100)
    file.reserve(2)
    file.sync()
    file.close()
    assert whole(files, "a.log") == b"aBcd"


def test_the_same_tree_apart(files: Files, file: File) -> None:
    file.append(b"abc")
    apart = files.apart()
    assert whole(apart, "a.log") == b"abc"
    apart.replace("b.log", b"b")
    assert whole(files, "b.log") == b"b"


def test_opens_again_what_was_closed(files: Files, file: File) -> None:
    file.append(b"abc")
    file.close()
    file.close()
    again = files.open("a.log")
    again.append(b"def")
    assert again.size == files.size("a.log") == 6
    assert again.read(0, 6) == b"abcdef"
    again.close()


def test_open_read_wants_an_existing_file(files: Files) -> None:
    with pytest.raises(FileNotFoundError):
        files.open_read("missing")
    with pytest.raises(FileNotFoundError):
        files.size("missing")
    with pytest.raises(FileNotFoundError):
        files.open("no-folder/a.log")
    assert not files.exists("missing")


def test_a_slice_is_a_range(file: File) -> None:
    file.append(b"abcdef")
    part = file.slice(1, 4)
    assert len(part) == 4
    assert content(part) == b"bcde"
    assert content(file.slice(6, 0)) == b""


def test_a_part_is_read_whole_and_given_back(file: File) -> None:
    file.append(b"abcdef")
    assert bytes(read_part(file.slice(1, 3))) == b"bcd"
    assert bytes(read_part(b"xyz")) == b"xyz"
    release_parts([b"bytes", file.slice(0, 1), memoryview(b"view"), file.slice(0, 2)])
    if isinstance(file, OsFile):
        assert file.leases == 0


def test_a_slice_outlives_growth(file: File) -> None:
    file.append(b"abcdef")
    part = file.slice(0, 6)
    for _ in range(100):
        file.append(b"x" * 1000)
    assert content(part) == b"abcdef"


def test_a_slice_outlives_close_and_remove(files: Files) -> None:
    file = files.open("gone.log")
    file.append(b"abcdef")
    first, second = file.slice(0, 3), file.slice(3, 3)
    file.close()
    files.remove("gone.log")
    assert content(first) == b"abc"
    assert content(second) == b"def"
    assert not files.exists("gone.log")


def test_a_slice_outlives_its_folder(files: Files) -> None:
    files.make_folder("t-0")
    file = files.open("t-0/a.log")
    file.append(b"abc")
    part = file.slice(0, 3)
    file.close()
    files.rename("t-0", "t-0-delete")
    files.remove_folder("t-0-delete")
    assert content(part) == b"abc"


def test_replaces_whole_files(files: Files) -> None:
    files.replace("checkpoint", b"one")
    files.replace("checkpoint", b"")
    files.replace("checkpoint", b"three", sync=False)
    assert whole(files, "checkpoint") == b"three"
    assert files.list("") == ["checkpoint"]


def test_folders(files: Files) -> None:
    files.make_folder("a/b")
    files.make_folder("a/b")
    files.replace("a/b/two", b"2")
    files.replace("a/b/one", b"1")
    assert files.list("a/b") == ["one", "two"]
    assert files.list("") == ["a"]
    assert files.exists("a/b")
    files.sync_folder("a/b")
    with pytest.raises(FileNotFoundError):
        files.list("a/c")
    files.remove_folder("a")
    files.remove_folder("a")
    assert files.list("") == []


def test_renames_over_what_is_there(files: Files) -> None:
    files.make_folder("t")
    files.replace("t/new", b"new")
    files.replace("old", b"old")
    files.rename("t/new", "old")
    assert whole(files, "old") == b"new"
    assert files.list("t") == []
    with pytest.raises(FileNotFoundError):
        files.rename("t/new", "old")


def test_remove_wants_an_existing_file(files: Files) -> None:
    with pytest.raises(FileNotFoundError):
        files.remove("missing")


def test_sync_returns(file: File) -> None:
    file.append(b"abc")
    file.sync()
    assert file.read(0, 3) == b"abc"


def test_sync_of_a_path_wants_something_to_be_there(files: Files, file: File) -> None:
    file.append(b"abc")
    files.sync_file("a.log")
    files.sync_folder("")
    for missing in (files.sync_file, files.sync_folder):
        with pytest.raises(FileNotFoundError):
            missing("missing")
    assert files.list("") == ["a.log"]


def test_the_disk_has_space(files: Files, file: File) -> None:
    file.append(b"x" * 1000)
    space = files.space()
    assert 0 < space.usable_bytes < space.total_bytes


def test_files_in_memory_take_space_of_their_own() -> None:
    files = MemoryFiles()
    files.make_folder("a/b")
    before = files.space()
    assert before.usable_bytes == before.total_bytes
    files.open("a/b/c").append(b"x" * 1000)
    assert files.space() == before._replace(usable_bytes=before.total_bytes - 1000)


def test_a_lock_has_one_holder(files: Files) -> None:
    lock = files.lock(".lock")
    with pytest.raises(BlockingIOError):
        files.lock(".lock")
    lock.release()
    lock.release()
    files.lock(".lock").release()


# What only a disk does.


def test_a_lease_keeps_the_descriptor_and_no_longer(tmp_path: Path) -> None:
    files = OsFiles(str(tmp_path))
    file = files.open("a.log")
    file.append(b"abc")
    part = file.slice(1, 2)
    assert isinstance(part, OsSlice)
    as_port: FileSlice = part
    file.close()
    assert os.pread(as_port.fd, 2, as_port.position) == b"bc"
    part.release()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(part.fd)
    with pytest.raises(AssertionError, match="twice"):
        part.release()


def test_a_slice_of_what_was_cut_is_short(tmp_path: Path) -> None:
    file = OsFiles(str(tmp_path)).open("a.log")
    file.append(b"abcdef")
    part = file.slice(0, 6)
    assert isinstance(part, OsSlice)
    file.truncate(2)
    assert part.read(0, 6) == b"ab"
    part.release()
    file.close()


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_failed_replacement_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    files = OsFiles(str(tmp_path))
    files.replace("a", b"old")

    def full_disk(*_args: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, step, full_disk)
        with pytest.raises(OSError, match="No space left"):
            files.replace("a", b"new")
    assert files.list("") == ["a"]
    assert whole(files, "a") == b"old"


def test_a_failed_append_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = OsFiles(str(tmp_path)).open("a.log")
    file.append(b"abc")
    real = os.write

    def half_then_full_disk(fd: int, data: bytes) -> int:
        if len(data) <= 3:
            raise OSError(28, "No space left on device")
        return real(fd, data[:3])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half_then_full_disk)
        with pytest.raises(OSError, match="No space"):
            file.append(b"defghi")
    assert file.size == 3
    file.append(b"xyz")
    assert file.read(0, 100) == b"abcxyz"
    file.close()


def test_a_short_write_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = OsFiles(str(tmp_path)).open("a.log")
    real_write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real_write(fd, data[:2]))
    file.append(b"abcdefg")
    assert file.read(0, 100) == b"abcdefg"
    file.close()


def test_a_folder_that_is_a_link_is_removed_and_what_it_names_is_not(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.log").write_bytes(b"abc")
    files = OsFiles(str(tmp_path))
    (tmp_path / "t-0").symlink_to(elsewhere)
    assert whole(files, "t-0/a.log") == b"abc"
    files.remove_folder("t-0")
    assert files.list("") == ["elsewhere"]
    assert whole(files, "elsewhere/a.log") == b"abc"


def test_what_is_open_apart_closes_nothing_here(tmp_path: Path) -> None:
    files = OsFiles(str(tmp_path))
    here = [files.open(f"{number}.log") for number in range(100)]
    held = [file._fd for file in here]
    apart = files.apart()
    there = [apart.open(f"{number}.log") for number in range(100)]
    assert [file._fd for file in here] == held
    assert sum(file._fd >= 0 for file in there) < 50
    for file in (*here, *there):
        file.close()


def test_works_where_there_is_no_pread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pread")
    file = OsFiles(str(tmp_path)).open("a.log")
    file.append(b"abcdef")
    assert file.read(1, 2) == b"bc"
    file.append(b"g")
    assert file.read(0, 100) == b"abcdefg"
    file.close()


def _try_lock(root: str) -> str:
    try:
        OsFiles(root).lock(".lock")
    except BlockingIOError:
        return "refused"
    return "held"


def test_a_lock_keeps_other_processes_out(tmp_path: Path) -> None:
    lock = OsFiles(str(tmp_path)).lock(".lock")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_try_lock, (str(tmp_path),)) == "refused"
        lock.release()
        assert pool.apply(_try_lock, (str(tmp_path),)) == "held"
        pool.close()
        pool.join()


def test_files_are_not_inherited(tmp_path: Path) -> None:
    file = OsFile(str(tmp_path / "a.log"), os.O_RDWR | os.O_CREAT, OpenFiles(1_000))
    part = file.slice(0, 0)
    assert isinstance(part, OsSlice)
    assert not os.get_inheritable(part.fd)
    part.release()
    file.close()
