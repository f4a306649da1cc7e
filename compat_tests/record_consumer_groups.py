"""Writes what a broker answers in the talks with groups: how `consumer-groups.jsonl`,
`migrations.jsonl` and `classic-groups.jsonl` were made, of the real Kafka 4.4.0 with a
`group.initial.rebalance.delay.ms` of 0.

    python -m compat_tests.record_consumer_groups HOST:PORT
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from compat_tests import classic_talk, migration_talk
from compat_tests.consumer_group_talk import Step, talk

RECORD = Path(__file__).parent / "consumer-groups.jsonl"
MIGRATIONS = Path(__file__).parent / "migrations.jsonl"
CLASSIC = Path(__file__).parent / "classic-groups.jsonl"
VERSIONS = (0, 1)


def main() -> None:
    """A row for each step, in the order of the talk."""
    address = sys.argv[1]
    write(RECORD, (step for version in VERSIONS for step in talk(address, version)))
    write(MIGRATIONS, migration_talk.talk(address))
    classic = (step for which in classic_talk.TALKS for step in classic_talk.talk(address, *which))
    write(CLASSIC, classic)


def write(path: Path, steps: Iterable[Step]) -> None:
    """All at once, so that a talk that fails leaves the record as it was."""
    rows = [json.dumps({"step": step.name, "answer": step.answer}) for step in steps]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
