"""The commands of README.md and docs/serving.md: each is one that `kafkalite serve` takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from kafkalite.cli.settings import gather
from kafkalite.config.listeners import parse_listeners
from kafkalite.config.views import BrokerConfig

ROOT = Path(__file__).parent.parent.parent
PAGES = [(ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/serving.md")]
COMMANDS = [
    re.sub(r"\\\n\s*", " ", command)
    for page in PAGES
    for command in re.findall(r"kafkalite serve\s(?:.*\\\n)*.*", page)
    if "--set " in command
]


def test_there_are_recipes() -> None:
    assert len(COMMANDS) >= 6


@pytest.mark.parametrize("command", COMMANDS)
def test_a_recipe_is_taken(command: str) -> None:
    words = shlex.split(command, comments=True)
    texts = [words[n + 1] for n, word in enumerate(words) if word == "--set"]
    assert texts
    settings = gather(files=(), assignments=texts, environment={})
    assert parse_listeners(BrokerConfig.of(settings.values))
