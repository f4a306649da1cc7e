"""What people get: the wheel, the command that it installs, and `make serve` of a clone.

Nothing here needs a package index: the wheel is built with the tools of the environment that runs
the tests, and what kafkalite depends on is lent to the new environment from there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from email.parser import Parser
from pathlib import Path

import pytest

import kafkalite
from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.fetch import FetchResponse
from kafkalite.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.testing.client import Client
from tests.cli.serving import Served, environment, serving, talk
from tests.server.requests import batch, fetch, fetched, produce, produced, values
from tests.server.running import FETCH, PRODUCE

ROOT = Path(__file__).parent.parent
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
END_WITHIN_S = 60
METADATA = 9
SERVE_STAMP = Path(sys.prefix) / ".serve"
"""What the Makefile takes for "the environment is made"."""


def run(*command: str | Path) -> None:
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=END_WITHIN_S
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of a new environment with the wheel in it, and nothing of the clone."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, symlinks=os.name != "nt")
    paths = sysconfig.get_paths(vars={"base": str(folder), "platbase": str(folder)})
    commands = Path(paths["scripts"])
    python = commands / Path(sys.executable).name
    run(
        *PIP[:3],
        "--python",
        python,
        *PIP[3:],
        "install",
        "--no-deps",
        "--no-index",
        "--no-compile",
        wheel,
    )
    # Behind its own packages; an editable kafkalite in there is not found this way.
    lent = Path(paths["purelib"], "lent.pth")
    lent.write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return commands


def test_the_wheel_has_all_of_the_package_and_nothing_else(wheel: Path) -> None:
    ours = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "kafkalite").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert "kafkalite/py.typed" in ours
    assert {Path(name).suffix for name in ours} == {".py", ".typed"}
    about = f"kafkalite-{kafkalite.__version__}.dist-info"
    files = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
    with zipfile.ZipFile(wheel) as archive:
        assert set(archive.namelist()) == ours | {f"{about}/{name}" for name in files}
        metadata = Parser().parsestr(archive.read(f"{about}/METADATA").decode())
    assert (metadata["Name"], metadata["Version"]) == ("kafkalite", kafkalite.__version__)
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"


async def keep_a_record(client: Client) -> None:
    topics = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    made = await client.ask(topics, METADATA, MetadataResponse)
    assert made.topics[0].error_code == ErrorCode.NONE
    sent = await client.ask(produce("t", {0: batch(b"kept")}), PRODUCE, ProduceResponse)
    assert produced(sent)[0].error_code == ErrorCode.NONE
    read = await client.ask(fetch("t", {0: 0}), FETCH, FetchResponse)
    assert values(fetched(read)[0]) == [b"kept"]


@pytest.mark.parametrize("command", [("kafkalite",), ("python", "-m", "kafkalite")])
def test_what_is_installed_serves(
    installed: Path, tmp_path: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    first, *rest = command
    ours = (str(installed / first), *rest)
    with serving("--data", "d", folder=tmp_path, command=ours) as served:
        talk(served.port, keep_a_record)
        assert served.end(signal.SIGTERM)[0] == 0


def test_what_is_installed_is_none_of_the_clone(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    told = subprocess.run(
        [installed / "python", "-c", "import kafkalite; print(kafkalite.__file__)"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        timeout=END_WITHIN_S,
    )
    assert Path(told.stdout).is_relative_to(installed.parent)


@contextmanager
def made_to_serve(data: Path) -> Iterator[tuple[Served, subprocess.Popen[str]]]:
    """`make serve`, as README has it, in a process group of its own, as a terminal gives it one."""
    process = subprocess.Popen(
        [
            "make",
            "--no-print-directory",
            f"VENV={sys.prefix}",
            "--old-file=pyproject.toml",  # Who has just edited it wants no download amid the tests.
            "serve",
            "PORT=0",
            f"DATA={data}",
        ],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield Served(process), process
    finally:
        if group_lives(process):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def group_lives(process: subprocess.Popen[str]) -> bool:
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(("stop", "to"), [(signal.SIGINT, "all"), (signal.SIGTERM, "make")])
def test_make_serve_says_that_it_is_ready_and_stops_cleanly(
    tmp_path: Path, stop: signal.Signals, to: str
) -> None:
    """Ctrl-C goes to `make` and to the broker, `kill` to `make` alone, which passes it on."""
    assert SERVE_STAMP.exists(), "run `make dev`"
    stamped = SERVE_STAMP.stat().st_mtime_ns
    data = tmp_path / "data of a user"
    with made_to_serve(data) as (served, process):
        assert served.where == str(data)
        talk(served.port, keep_a_record)
        if to == "all":
            os.killpg(process.pid, stop)
        else:
            process.send_signal(stop)
        _, log = served.ended()
        assert not group_lives(process)
    assert (data / ".kafka_cleanshutdown").exists()
    assert "Traceback" not in log
    assert "Installing" not in log
    assert SERVE_STAMP.stat().st_mtime_ns == stamped
