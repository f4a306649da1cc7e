"""How many members a group takes, also of a broker that was started again with room for fewer: each
answer is the real Kafka's (`group_limits_talk.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from compat_tests.group_limits_talk import talk
from compat_tests.process import KafkaliteProcess
from compat_tests.record_group_limits import LIMITS
from compat_tests.recorded_steps import read_steps, told

RECORDED = read_steps(LIMITS)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All steps with kafkalite."""
    data: Path = tmp_path_factory.mktemp("limits") / "data"

    @contextmanager
    def started(settings: Mapping[str, str]) -> Iterator[str]:
        process = KafkaliteProcess.start(data, settings=settings)
        try:
            yield process.address
        finally:
            process.stop()

    return told(talk(started))


def test_all_steps_are_recorded(answers: dict[str, Any]) -> None:
    assert list(answers) == list(RECORDED)


@pytest.mark.parametrize("step", RECORDED)
def test_the_answer_is_kafkas(answers: dict[str, Any], step: str) -> None:
    assert answers[step] == RECORDED[step]
