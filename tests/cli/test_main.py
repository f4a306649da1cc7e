"""The command itself: versions, help, and wrong use."""

from __future__ import annotations

import pytest

from kafkalite import __version__
from kafkalite.cli.main import main
from tests.cli.serving import ran


def test_the_module_tells_its_version() -> None:
    ended = ran("--version")
    assert (ended.returncode, ended.stdout) == (0, f"kafkalite {__version__}\n")
    assert ended.stderr == ""


def test_wrong_use_of_the_module_ends_with_2() -> None:
    ended = ran("serve", "--no-such-option")
    assert ended.returncode == 2
    assert "--no-such-option" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "COMMAND"),
        (["fly"], "fly"),
        (["serve", "--port", "70000"], "70000"),
        (["serve", "--port", "-1"], "--port"),
        (["serve", "--port", "http"], "'http' is not a number"),
        (["serve", "--ephemeral", "--data", "d"], "not allowed with"),
        (["serve", "more"], "more"),
    ],
)
def test_wrong_use_is_told(
    capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    captured = capsys.readouterr()
    assert told in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("arguments", "told"), [(["--help"], "serve"), (["serve", "--help"], "--data")]
)
def test_help_is_told(capsys: pytest.CaptureFixture[str], arguments: list[str], told: str) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 0
    assert told in capsys.readouterr().out
