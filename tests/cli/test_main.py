"""The command itself: versions, help, wrong use, and ends that nobody foresaw."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from resource import RLIMIT_FSIZE, setrlimit

import pytest

from kafkalite import __version__
from kafkalite.cli import app
from kafkalite.cli.errors import CommandError
from kafkalite.cli.main import main
from tests.cli.serving import COMMAND, environment, ran


def test_the_module_tells_its_version() -> None:
    ended = ran("--version")
    assert (ended.returncode, ended.stdout) == (0, f"{__version__}\n")
    assert ended.stderr == ""


def test_garbage_is_collected_again_where_a_start_came_to_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["serve", "--port", "-1"]) == 2
    assert capsys.readouterr().err.startswith("kafkalite: ")
    assert gc.isenabled()


def test_wrong_use_of_the_module_ends_with_2() -> None:
    ended = ran("serve", "--no-such-option")
    assert ended.returncode == 2
    assert ended.stderr.startswith("kafkalite: ")
    assert "--no-such-option" in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["fly"], "fly"),
        (["serve", "--port", "70000"], "--port: 70000 is not from 0 to 65535"),
        (["serve", "--port", "-1"], "--port"),
        (["serve", "--port", "http"], "--port http: expected a whole number"),
        (["serve", "--port"], "--port"),
        (["serve", "--port", "1", "--port", "2"], "--port"),
        (["serve", "--ephemeral", "--data", "d"], "--data"),
        (["serve", "--ephemeral", "--fsync"], "--fsync"),
        (["serve", "--data", ""], "the empty name is no folder"),
        (["serve", "--topic", "a:b"], "NAME:PARTITIONS"),
        (["serve", "--topic", "a:0"], "NAME:PARTITIONS"),
        (["serve", "--topic", "a", "--topic", "a:3"], "named twice"),
        (["serve", "--log-format", "xml"], "xml"),
        (["serve", "--prot", "1"], "no option --prot (is it --port?)"),
        (["serve", "more"], "more"),
        (["topic"], "topics"),
        (["topics", "describe", "a\udcff"], r"'a\udcff' is no text in the encoding"),
        (["topics", "create"], "NAME[:PARTITIONS] is missing"),
        (["topics", "create", ""], "NAME:PARTITIONS"),
        (["topics", "create", "a", "--partitions", "0"], "--partitions"),
        (["topics", "create", "a", "--partitions", "2147483648"], "--partitions"),
        (["topics", "create", "a", "--replication-factor", "32768"], "--replication-factor"),
        (["topics", "alter", "a", "--partitions", "0"], "--partitions"),
        (["produce", "__consumer_offsets"], "__consumer_offsets is a topic of the brokers"),
        (["produce", "__cluster_metadata"], "__cluster_metadata is a topic of the brokers"),
        (["topics", "describe", "a", ""], "the empty text is no name"),
        (["topics", "delete", ""], "the empty text is no name"),
        (["produce", ""], "the empty text is no name"),
        (["consume", ""], "the empty text is no name"),
        (["consume", "t", "--group", ""], "the empty text is no name"),
        (["groups", "describe", ""], "the empty text is no name"),
        (["groups", "reset", "", "--to", "latest"], "the empty text is no name"),
        (["configs", "describe", "topic", ""], "the empty text is no name"),
        (["configs", "set", "broker", "", "a=1"], "the empty text is no name"),
        (["configs", "delete", "group", "", "a"], "the empty text is no name"),
    ],
)
def test_wrong_use_is_told_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert told in captured.err
    assert captured.err.startswith("kafkalite: ")
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], ["serve", "run", "topics", "produce", "consume", "groups", "configs"]),
        (["--help"], ["serve", "topics"]),
        (["help"], ["serve", "topics"]),
        (["help", "groups", "reset"], ["--execute", "--shift"]),
        (["help", "run"], ["KAFKA_BOOTSTRAP_SERVERS"]),
        (["serve", "--help"], ["--data", "--ready-file", "--log-format"]),
        (["topics", "--help"], ["list", "create", "describe", "alter", "delete"]),
        (["groups", "reset", "--help"], ["--execute", "--shift"]),
        (["run", "--help"], ["KAFKA_BOOTSTRAP_SERVERS"]),
    ],
)
def test_help_is_told(
    capsys: pytest.CaptureFixture[str], arguments: list[str], told: list[str]
) -> None:
    assert main(arguments) == 0
    output = capsys.readouterr().out
    for text in told:
        assert text in output


def test_several_problems_are_several_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(arguments: list[str]) -> int:
        raise CommandError("a: gone", "b: gone")

    monkeypatch.setattr(app, "run", fail)
    assert main(["topics"]) == 1
    assert capsys.readouterr().err == "kafkalite: a: gone\nkafkalite: b: gone\n"


def test_a_fault_of_ours_is_no_traceback_unless_it_is_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(arguments: list[str]) -> int:
        raise ZeroDivisionError("by nothing\nat all")

    monkeypatch.setattr(app, "run", fail)
    assert main(["topics"]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first == "kafkalite: ZeroDivisionError: by nothing"
    assert "KAFKALITE_TRACEBACK=1" in second
    monkeypatch.setenv("KAFKALITE_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        main(["topics"])


def test_ctrl_c_ends_with_130_and_says_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(arguments: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "run", interrupt)
    assert main(["topics"]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_who_stops_reading_ends_it_with_141(word: str) -> None:
    """rich, which writes the help, would say 1."""
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as output:
        ended = subprocess.run(
            [*COMMAND, word], stdout=output, stderr=subprocess.PIPE, env=environment(), check=False
        )
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_output_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with (tmp_path / "output").open("w") as output:
        ended = subprocess.run(
            [*COMMAND, "completion", "bash"],
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            preexec_fn=lambda: setrlimit(RLIMIT_FSIZE, (0, 0)),
        )
    assert ended.returncode == 1
    assert ended.stderr == "kafkalite: cannot go on: File too large\n"


@pytest.mark.parametrize(
    ("words", "closed", "code"),
    [
        ("run -- sh -c 'exit 7'", "<&-", 7),
        ("run -- sh -c 'exit 7'", ">&- 2>&-", 7),
        ("run -- sh -c 'cat; echo hi >&2; exit 7'", "<&- >&- 2>&-", 7),
        ("produce t --bootstrap 127.0.0.1:1", "<&-", 1),
        ("fly", "2>&-", 2),
    ],
)
def test_streams_that_are_closed_are_empty_ones(words: str, closed: str, code: int) -> None:
    """A job of cron or a service manager may begin like this. uvloop aborts the process when one of
    its own descriptors has the number of a standard one."""
    ended = subprocess.run(
        ["sh", "-c", f'exec "$@" {words} {closed}', "sh", *COMMAND],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(),
        check=False,
    )
    assert ended.returncode == code
    assert ended.stdout == b""


def test_importing_the_quick_way_imports_no_library() -> None:
    heavy = ("cyclopts", "rich", "kafka")
    program = (
        "import sys\n"
        "from kafkalite.cli.main import main\n"
        "main(['serve', '--set', 'num.partitions=0'])\n"
        f"print([name for name in {heavy} if name in sys.modules])\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ended.stdout == "[]\n"
