"""Classic groups in every version of their APIs: each answer is the real Kafka's
(`classic_talk.py`)."""

from __future__ import annotations

import pytest

from compat_tests.classic_talk import TALKS, talk
from compat_tests.record_consumer_groups import CLASSIC
from compat_tests.recorded_steps import read_steps, told

RECORDED = read_steps(CLASSIC)


@pytest.mark.parametrize(("version", "part"), TALKS)
def test_the_answers_are_kafkas(bootstrap: str, version: int, part: str) -> None:
    answers = told(talk(bootstrap, version, part))
    begins = f"v{version} {part}: "
    assert answers == {step: row for step, row in RECORDED.items() if step.startswith(begins)}
    assert len(answers) >= 5
