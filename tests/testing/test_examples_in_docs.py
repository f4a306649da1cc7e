"""The tests that README and docs show, run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = [
    pytest.param(example, id=f"{page.stem}-{number}")
    for page in (ROOT / "README.md", ROOT / "docs" / "testing-with-kafkalite.md")
    for number, example in enumerate(
        re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    )
    if "def test_" in example
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_passes(pytester: pytest.Pytester, example: str) -> None:
    pytester.makepyfile(example)
    result = pytester.runpytest_inprocess("--strict-markers")
    result.assert_outcomes(passed=len(re.findall(r"\bdef test_", example)))


def test_there_are_examples() -> None:
    clients = {"confluent_kafka", "kafka", "aiokafka"}
    text = "\n".join(str(example.values[0]) for example in EXAMPLES)
    assert clients <= set(re.findall(r"^from (\w+) import", text, re.MULTILINE))
    assert any(str(example.id).startswith("README") for example in EXAMPLES)
