"""Classic groups in every version of their APIs: each answer is the real Kafka's
(`classic_talk.py`)."""

from __future__ import annotations

import json

import pytest

from compat_tests.classic_talk import TALKS, talk
from compat_tests.record_consumer_groups import CLASSIC

RECORDED = {
    row["step"]: row["answer"]
    for row in map(json.loads, CLASSIC.read_text(encoding="utf-8").splitlines())
}


@pytest.mark.parametrize(("version", "part"), TALKS)
def test_the_answers_are_kafkas(bootstrap: str, version: int, part: str) -> None:
    # Through JSON, as the recorded ones.
    told = {
        step.name: json.loads(json.dumps(step.answer)) for step in talk(bootstrap, version, part)
    }
    begins = f"v{version} {part}: "
    assert told == {step: row for step, row in RECORDED.items() if step.startswith(begins)}
    assert len(told) >= 5
