"""kafkalite's own commands, called as a person calls them, but in this process."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from kafkalite.cli.main import main

PATIENCE_S = 60


class Ended(NamedTuple):
    """What a command left behind."""

    code: int
    output: str
    errors: str

    @property
    def document(self) -> Any:  # `Any`: whatever the command answers in JSON.
        return json.loads(self.output)

    @property
    def documents(self) -> list[Any]:
        return [json.loads(line) for line in self.output.splitlines()]


class CommandLine:
    """Commands on the cluster of the test."""

    def __init__(self, capture: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self._capture = capture
        self._patch = patch

    def ended(self, *words: str, typed: bytes = b"") -> Ended:
        """Whatever comes of it; `typed` is its standard input."""
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed)))
        code = main(list(words))
        return Ended(code, *self._capture.readouterr())

    def __call__(self, *words: str, typed: bytes = b"") -> str:
        """What it prints; it must go well."""
        ended = self.ended(*words, typed=typed)
        assert ended.code == 0, ended
        return ended.output

    def json(self, *words: str, typed: bytes = b"") -> Any:
        """The document that it prints; it must go well."""
        return json.loads(self(*words, "--json", typed=typed))

    def records(self, *words: str) -> list[Any]:
        """What `consume` prints; it must go well."""
        return [json.loads(line) for line in self("consume", *words, "--json").splitlines()]

    def refusal(self, *words: str, code: int = 1) -> str:
        """The one line that says why it failed."""
        ended = self.ended(*words)
        assert ended.code == code, ended
        (line,) = ended.errors.splitlines()
        assert line.startswith("kafkalite: ")
        return line


def until(see: Callable[[], object], expected: object) -> None:
    """The real Kafka answers before all of its brokers have learnt of a change."""
    deadline = time.monotonic() + PATIENCE_S  # noqa: TID251  # Of a real client's patience.
    while see() != expected:
        assert time.monotonic() < deadline, see()  # noqa: TID251
