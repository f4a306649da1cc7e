"""Groups that pass between the classic and the consumer protocol while they are in use: each answer
is the real Kafka's (`migration_talk.py`)."""

from __future__ import annotations

from typing import Any

import pytest

from compat_tests.migration_talk import talk
from compat_tests.record_consumer_groups import MIGRATIONS
from compat_tests.recorded_steps import read_steps, told

RECORDED = read_steps(MIGRATIONS)


@pytest.fixture(scope="module")
def answers(bootstrap: str) -> dict[str, Any]:
    """All steps with that broker."""
    return told(talk(bootstrap))


def test_all_steps_are_recorded(answers: dict[str, Any]) -> None:
    assert list(answers) == list(RECORDED)


@pytest.mark.parametrize("step", RECORDED)
def test_the_answer_is_kafkas(answers: dict[str, Any], step: str) -> None:
    assert answers[step] == RECORDED[step]
