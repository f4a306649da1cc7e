"""Kafka's own tools, unmodified, say here what they say on the real Kafka: `transcripts`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path

import pytest

from compat_tests.java.differences import as_here
from compat_tests.java.transcript import Stage, read, text
from compat_tests.language_cases import is_foreign

pytestmark = pytest.mark.jvm

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))


@pytest.fixture
def stage(bootstrap: str, tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(bootstrap, tmp_path)
    yield stage
    stage.close()


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: str(path.stem))
def test_transcript(path: Path, stage: Stage, record: bool) -> None:
    recorded = read(path)
    played = [replace(step, said=stage.play(step)) if step.command else step for step in recorded]
    if record:
        path.write_text(text(played), encoding="utf-8")
        return
    if not is_foreign():
        recorded, played = [as_here(step) for step in recorded], [as_here(step) for step in played]
    recorded_lines, played_lines = text(recorded).splitlines(), text(played).splitlines()
    difference = unified_diff(recorded_lines, played_lines, "recorded", "now", n=8, lineterm="")
    assert played_lines == recorded_lines, "\n".join(["", *difference])
