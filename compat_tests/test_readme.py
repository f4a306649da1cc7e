"""The examples of README and docs/clients.md, run as they stand but for address and topic."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = [
    example
    for page in ("README.md", "docs/clients.md")
    for example in re.findall(
        r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL
    )
    if "def test_" not in example  # Those are run by tests/testing/test_examples_in_docs.py.
]


def first_import(example: str) -> str:
    names = re.findall(r"^from (\w+) import", example, re.MULTILINE)
    return str(names[-1])


@pytest.mark.parametrize("example", EXAMPLES, ids=first_import)
def test_an_example_reads_what_it_wrote(bootstrap: str, topic: str, example: str) -> None:
    assert "localhost:9092" in example
    program = example.replace("localhost:9092", bootstrap).replace("greetings", topic)
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "b'hello'\n"


def test_every_client_has_an_example() -> None:
    assert {first_import(example) for example in EXAMPLES} == {
        "confluent_kafka",
        "kafka",
        "aiokafka",
    }
