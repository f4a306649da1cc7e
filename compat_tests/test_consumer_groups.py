"""Consumer groups of the new protocol (KIP-848): each answer is the real Kafka's, to the order of
members and the partitions that each of them has (`consumer_group_talk.py`).

Our own codecs encode and decode here; `tests/protocol/test_oracles.py` holds them against kio's.
"""

from __future__ import annotations

from typing import Any

import pytest

from compat_tests.consumer_group_talk import talk
from compat_tests.record_consumer_groups import RECORD, VERSIONS
from compat_tests.recorded_steps import read_steps, told

RECORDED = read_steps(RECORD)


@pytest.fixture(scope="module")
def answers(bootstrap: str) -> dict[str, Any]:
    """All steps with that broker."""
    return told(step for version in VERSIONS for step in talk(bootstrap, version))


def test_all_steps_are_recorded(answers: dict[str, Any]) -> None:
    assert list(answers) == list(RECORDED)


@pytest.mark.parametrize("step", RECORDED)
def test_the_answer_is_kafkas(answers: dict[str, Any], step: str) -> None:
    assert answers[step] == RECORDED[step]


@pytest.mark.parametrize("version", VERSIONS)
def test_both_apis_are_asked_in_each_version(version: int) -> None:
    asked = [answer for step, answer in RECORDED.items() if step.startswith(f"v{version} ")]
    assert sum("member_epoch" in answer for answer in asked) > 20
    assert sum("group_epoch" in str(answer) for answer in asked) > 10
