from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest

from kafkalite.cli import watched_input
from kafkalite.cli.watched_input import watched


@contextmanager
def pipe() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    reading, writing = os.pipe()
    with ExitStack() as stack:
        reader = stack.enter_context(os.fdopen(reading, "rb", buffering=0))
        yield reader, stack.enter_context(os.fdopen(writing, "wb", buffering=0))


class LookedUpError(Exception):
    pass


def no_look() -> None:
    raise AssertionError("there is something to read")


def test_whoever_waits_looks_up_and_reads_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched_input, "_LOOK_EVERY_S", 0.001)
    with pipe() as (reader, writer):
        looks = 0

        def look() -> None:
            nonlocal looks
            looks += 1
            if looks == 3:
                writer.write(b"one\ntw")
            if looks == 6:
                writer.write(b"o\nrest")
                writer.close()

        lines = watched(reader, look)
        assert lines.readline() == b"one\n"
        assert lines.readline() == b"two\n"
        assert lines.readline() == b"rest"
        assert lines.readline() == lines.readline() == b""


def test_what_a_look_raises_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched_input, "_LOOK_EVERY_S", 0.001)

    def look() -> None:
        raise LookedUpError

    with pipe() as (reader, writer):
        writer.write(b"one\nhalf of the ne")
        lines = watched(reader, look)
        assert lines.readline() == b"one\n"
        with pytest.raises(LookedUpError):
            lines.readline()
        writer.close()


def test_long_lines_come_whole() -> None:
    rows = [b"x" * 60_000 + b"\n", b"y" * 5_000 + b"\n"]
    with pipe() as (reader, writer):
        lines = watched(reader, lambda: None)
        for row in rows * 20:
            writer.write(row)
            assert lines.readline() == row
        writer.close()
        assert lines.readline() == b""


def test_an_error_of_the_input_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a terminal that has gone."""

    def read(descriptor: int, size: int) -> bytes:
        raise OSError("gone")

    with pipe() as (reader, _):
        monkeypatch.setattr(os, "read", read)
        lines = watched(reader, lambda: None)
        with pytest.raises(OSError, match="gone"):
            lines.readline()


def test_files_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"one\n")
    with path.open("rb") as file:
        assert watched(file, no_look) is file
    without_descriptor = io.BytesIO(b"one\n")
    assert watched(without_descriptor, no_look) is without_descriptor
