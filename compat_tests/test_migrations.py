"""Groups that pass between the classic and the consumer protocol while they are in use: each answer
is the real Kafka's (`migration_talk.py`)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compat_tests.migration_talk import talk
from compat_tests.record_consumer_groups import MIGRATIONS

RECORDED = {
    row["step"]: row["answer"]
    for row in map(json.loads, MIGRATIONS.read_text(encoding="utf-8").splitlines())
}


@pytest.fixture(scope="module")
def answers(bootstrap: str) -> dict[str, Any]:
    """All steps with that broker."""
    steps = list(talk(bootstrap))
    assert len({step.name for step in steps}) == len(steps)
    # Through JSON, as the recorded ones.
    return {step.name: json.loads(json.dumps(step.answer)) for step in steps}


def test_all_steps_are_recorded(answers: dict[str, Any]) -> None:
    assert list(answers) == list(RECORDED)


@pytest.mark.parametrize("step", RECORDED)
def test_the_answer_is_kafkas(answers: dict[str, Any], step: str) -> None:
    assert answers[step] == RECORDED[step]
