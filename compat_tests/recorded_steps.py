"""Talks of several steps, as they were recorded and as they are held now: answers by step."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from compat_tests.consumer_group_talk import Step


def read_steps(file: Path) -> dict[str, Any]:
    """One line of JSON for each, in their order."""
    rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return {row["step"]: row["answer"] for row in rows}


def told(steps: Iterable[Step]) -> dict[str, Any]:
    """Through JSON, as the recorded ones. `AssertionError` when two steps have one name."""
    answers: dict[str, Any] = {}
    for step in steps:
        assert step.name not in answers, step.name
        answers[step.name] = json.loads(json.dumps(step.answer))
    return answers
