"""`verify-log` tells what is wrong with a data folder, and leaves it as it is."""

from __future__ import annotations

import json
import shutil
import sys
from io import StringIO
from pathlib import Path

import pytest

from kafkalite.cli.errors import CommandError
from kafkalite.cli.output import Output
from kafkalite.cli.verify_log import verify_log
from kafkalite.log.files_os import OsFiles

ROOT = Path(__file__).parent.parent / "data" / "log-dirs"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Of a broker with two partitions, which stopped cleanly."""
    folder = tmp_path / "data"
    for name in ("plain-0", "segments-0"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "meta.properties", folder)
    (folder / ".kafka_cleanshutdown").write_text("")
    (folder / ".lock").write_text("")
    return folder


def stat(folder: Path) -> list[tuple[str, int, int]]:
    return sorted(
        (str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")
    )


def damage(data: Path) -> Path:
    log = data / "plain-0" / f"{0:020d}.log"
    content = bytearray(log.read_bytes())
    content[100] ^= 1
    log.write_bytes(content)
    return log


def test_a_sound_folder(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = stat(data)
    verify_log(data)
    (data / ".kafka_cleanshutdown").unlink()
    verify_log(data)
    size = sum(log.stat().st_size for log in data.rglob("*.log"))
    told = f"2 partitions with {size} bytes of records: sound"
    assert capsys.readouterr().out.splitlines() == [
        told,
        f"{told}; its broker did not stop cleanly",
    ]
    assert [each for each in before if "clean" not in each[0]] == stat(data)


@pytest.mark.parametrize("where", ["", "plain-0"])
def test_findings_are_lines_and_the_end_is_a_failure(
    data: Path, where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(data)
    with pytest.raises(CommandError, match="1 finding in "):
        verify_log(data / where)
    assert capsys.readouterr().out == (
        f"plain-0/{0:020d}.log: the batch at offset 0 has a wrong CRC, at byte 0\n"
    )
    verify_log(data / "segments-0")


def test_json(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage(data)
    with pytest.raises(CommandError):
        verify_log(data, output=Output(json=True))
    document = json.loads(capsys.readouterr().out)
    assert document["findings"] == [
        {
            "file": f"plain-0/{0:020d}.log",
            "problem": "the batch at offset 0 has a wrong CRC, at byte 0",
        }
    ]
    assert (document["partitions"], document["clean_stop"]) == (2, True)


@pytest.mark.parametrize("where", ["", "plain-0"])
def test_a_broker_that_runs_is_told_of(data: Path, where: str) -> None:
    lock = OsFiles(str(data)).lock(".lock")
    with pytest.raises(CommandError, match="a broker runs on"):
        verify_log(data / where)
    lock.release()
    verify_log(data / where)


def test_what_is_no_data_folder(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="neither a broker's data folder nor a partition's"):
        verify_log(tmp_path)
    with pytest.raises(CommandError, match="no such folder"):
        verify_log(tmp_path / "none")


def test_the_folder_of_a_cluster_has_several(tmp_path: Path) -> None:
    (tmp_path / "metadata").mkdir()
    (tmp_path / "broker-1").mkdir()
    (tmp_path / "metadata" / "meta.properties").touch()
    with pytest.raises(CommandError, match="the folder of a cluster: verify those in it"):
        verify_log(tmp_path)


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_findings_stay_on_standard_output_beside_a_bar(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(data)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with pytest.raises(CommandError):
        verify_log(data)
    assert "wrong CRC" in capsys.readouterr().out
    assert "wrong CRC" not in terminal.getvalue()
    assert "/" in terminal.getvalue()  # The bar's bytes of all bytes.
