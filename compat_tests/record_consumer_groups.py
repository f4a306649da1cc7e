"""Writes what a broker answers in the talk with consumer groups: how `consumer-groups.jsonl` was
made, of the real Kafka 4.4.0.

    python -m compat_tests.record_consumer_groups HOST:PORT
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from compat_tests.consumer_group_talk import talk

RECORD = Path(__file__).parent / "consumer-groups.jsonl"
VERSIONS = (0, 1)


def main() -> None:
    """A row for each step, in the order of the talk."""
    steps = [step for version in VERSIONS for step in talk(sys.argv[1], version)]
    rows = (json.dumps({"step": step.name, "answer": step.answer}) for step in steps)
    RECORD.write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
