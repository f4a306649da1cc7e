"""The commands that the texts show are commands that there are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from kafkalite.cli.app import new_app

ROOT = Path(__file__).parent.parent.parent
COMMANDS = [
    command
    for text in ("README.md", "docs/command-line.md", "docs/cluster.md", "docs/serving.md")
    for command in re.findall(
        r"^    kafkalite ((?:.*\\\n)*.*)$", (ROOT / text).read_text(encoding="utf-8"), re.MULTILINE
    )
]


def test_there_are_some_of_every_kind() -> None:
    kinds = {command.split()[0] for command in COMMANDS}
    assert kinds == {
        "serve",
        "run",
        "cluster",
        "topics",
        "produce",
        "consume",
        "groups",
        "configs",
        "users",
        "dump-log",
        "verify-log",
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_it_can_be_read(command: str) -> None:
    words = shlex.split(command.replace("\\\n", " "), comments=True)
    new_app().parse_args(words, exit_on_error=False, print_error=False)
