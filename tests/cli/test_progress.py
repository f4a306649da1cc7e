"""Who is shown how far a file is."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from kafkalite.cli.progress import progress_of

LINES = 2_500


class Screen(io.StringIO):
    """Standard error, as people see it."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lines"
    path.write_bytes(b"123456789\n" * LINES)
    return path


def shown(file: Path, screen: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with file.open("rb") as lines, progress_of(lines) as advanced:
        for _ in lines:
            advanced()
    return screen.getvalue()


def test_a_person_sees_how_much_of_a_file_is_read(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "20.0/25.0 kB" in shown(file, Screen(), monkeypatch), "the last of its looks"


def test_a_machine_sees_nothing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(file, io.StringIO(), monkeypatch) == ""


def test_what_has_no_size_has_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(Path(os.devnull), Screen(), monkeypatch) == ""
