"""Descriptors are few: files take turns, by what is in use."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from kafkalite.log.files import File
from kafkalite.log.files_os import OsFiles
from kafkalite.log.open_files import RESERVED, descriptor_limit
from kafkalite.log.os_file import OsFile, OsSlice

MANY = 1_000_000


def has_descriptor(file: File) -> bool:
    assert isinstance(file, OsFile)
    return file._fd >= 0


def open_some(files: OsFiles, count: int) -> list[File]:
    files.make_folder("")
    return [files.open(f"{number}.log") for number in range(count)]


def close_all(files: list[File]) -> None:
    for file in files:
        file.close()


def test_half_of_the_limit_is_for_files(tmp_path: Path) -> None:
    files = open_some(OsFiles(str(tmp_path), limit=40), 60)
    # The higher numbers are left to others too, whatever a test runner has open.
    assert 0 < sum(map(has_descriptor, files)) <= 20
    close_all(files)
    assert not any(map(has_descriptor, files))


def test_all_keep_theirs_where_there_are_many(tmp_path: Path) -> None:
    files = open_some(OsFiles(str(tmp_path), limit=MANY), 60)
    assert all(map(has_descriptor, files))
    close_all(files)


def test_what_was_used_stays_longer(tmp_path: Path) -> None:
    tree = OsFiles(str(tmp_path), limit=MANY)
    tree._open_files._most = 16
    files = open_some(tree, 17)
    # The first of the next ones found that all had been used, and took the oldest.
    assert not has_descriptor(files[0])
    files[1].append(b"x")
    close_all([tree.open("more.log")])
    assert has_descriptor(files[1])
    assert not has_descriptor(files[2])
    close_all(files)


def test_a_lease_keeps_a_file_open(tmp_path: Path) -> None:
    tree = OsFiles(str(tmp_path), limit=0)
    files = open_some(tree, 1)
    files[0].append(b"abc")
    part = files[0].slice(0, 3)
    assert isinstance(part, OsSlice)
    others: list[File] = [tree.open(f"other-{number}.log") for number in range(40)]
    assert has_descriptor(files[0])
    assert os.pread(part.fd, 3, 0) == b"abc"
    part.release()
    others += [tree.open(f"another-{number}.log") for number in range(40)]
    assert not has_descriptor(files[0])
    assert files[0].read(0, 3) == b"abc"
    close_all(files + others)


def test_a_process_without_descriptors_closes_what_is_idle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = OsFiles(str(tmp_path), limit=MANY)
    files = open_some(tree, 5)
    left = 0
    real_open, real_close = os.open, os.close

    def open_if_any(path: str, flags: int, mode: int = 0o777) -> int:
        nonlocal left
        if not left:
            raise OSError(errno.EMFILE, "Too many open files", path)
        left -= 1
        return real_open(path, flags, mode)

    def close(fd: int) -> None:
        nonlocal left
        left += 1
        real_close(fd)

    monkeypatch.setattr(os, "open", open_if_any)
    monkeypatch.setattr(os, "close", close)
    files.append(tree.open("one-more.log"))
    files[0].append(b"abc")
    assert sum(map(has_descriptor, files)) == 5
    # With nothing idle the error is the caller's.
    parts = [file.slice(0, 0) for file in files if has_descriptor(file)]
    with pytest.raises(OSError, match="Too many open files"):
        tree.open("too-many.log")
    for part in parts:
        assert isinstance(part, OsSlice)
        part.release()
    close_all(files)


def test_another_length_is_not_taken_for_the_same_file(tmp_path: Path) -> None:
    tree = OsFiles(str(tmp_path), limit=0)
    (file,) = open_some(tree, 1)
    file.append(b"abc")
    others = [tree.open(f"other-{number}.log") for number in range(40)]
    (tmp_path / "0.log").write_bytes(b"abcd")
    with pytest.raises(OSError, match="4 bytes are there, not 3"):
        file.read(0, 3)
    close_all([file, *others])


def test_the_limit_is_known() -> None:
    assert descriptor_limit() > RESERVED
