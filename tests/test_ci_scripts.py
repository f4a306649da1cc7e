"""What `make compat` does where toolchains are missing: it names them, and fails in CI alone; and
which ports its brokers get."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from compat_tests import programs
from compat_tests.oracle.free_port import COUNT, FIRST, free_ports

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the scripts are for POSIX shells")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder for PATH with bash alone, and beside it `bin`, whose pytest notes its arguments and
    whose python says that Go's and kcat's clients are built."""
    (tmp_path / "path").mkdir()
    bash = shutil.which("bash")
    assert bash is not None
    (tmp_path / "path" / "bash").symlink_to(bash)
    (tmp_path / "bin").mkdir()
    for name, does in (
        ("pytest", f'echo "$@" >> "{tmp_path}/asked"'),
        ("python", "echo go or kcat"),
    ):
        script = tmp_path / "bin" / name
        script.write_text(f"#!{bash}\n{does}\n")
        script.chmod(0o755)
    return tmp_path


def compat(machine: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [machine / "path" / "bash", ROOT / ".ci" / "compat", machine / "bin", "--an-option"],
        env={"PATH": str(machine / "path"), **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_java_the_other_languages_are_still_run(machine: Path) -> None:
    ran = compat(machine)
    assert ran.returncode == 0, ran.stderr
    assert "not on PATH: java mvn" in ran.stdout
    assert (machine / "asked").read_text() == "-q --an-option compat_tests -m go or kcat\n"


def test_a_missing_toolchain_is_a_failure_in_ci(machine: Path) -> None:
    ran = compat(machine, CI="true")
    assert ran.returncode == 1
    assert "not on PATH: java mvn" in ran.stdout
    assert not (machine / "asked").exists()


@pytest.mark.parametrize(("ci", "code"), [("true", 1), ("", 0)])
def test_each_language_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ci: str, code: int
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CI", ci)
    assert programs.main() == code
    told = capsys.readouterr()
    assert told.out == "\n"
    for name, language in programs.LANGUAGES.items():
        assert f"clients in {name}: left out, not on PATH: {', '.join(language.tools)}" in told.err


def test_nobody_else_is_told_the_same_port_at_once() -> None:
    """Not while a JVM starts that is to bind it."""
    ports = [*free_ports(3), *free_ports(3)]
    assert len(set(ports)) == 6
    assert set(ports) < set(range(FIRST, FIRST + COUNT))


def test_a_port_that_somebody_has_is_not_told() -> None:
    (before,) = free_ports(1)
    following = FIRST + (before + 1 - FIRST) % COUNT
    with socket.create_server(("127.0.0.1", following)):
        assert free_ports(1) != [following]
