"""Writes how long a new classic group waits for more members, and how many it has then: how the
answers in `tests/coordinator/initial-delays.jsonl` were made, of the real Kafka 4.4.0 with its
default `group.initial.rebalance.delay.ms`, whose half is the unit of time there.

    python -m compat_tests.record_initial_delays HOST:PORT

Another group to ask about is another row of that file, whose answers are made up.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

from compat_tests.classic_talk import Group
from compat_tests.consumer_group_talk import Names

DELAYS = Path(__file__).parents[1] / "tests" / "coordinator" / "initial-delays.jsonl"
HALF_S = 1.5
EARLY_S = 0.2
"""A delay that is measured from elsewhere may seem shorter by that."""
JOIN_VERSION = 3
"""A new member is in with its first request."""


def main() -> None:
    """All groups at once."""
    address = sys.argv[1]
    rows = [json.loads(line) for line in DELAYS.read_text(encoding="utf-8").splitlines()]
    with ThreadPoolExecutor(len(rows)) as threads:
        answered = list(threads.map(lambda row: row | _asked(address, row), rows))
    DELAYS.write_text("".join(json.dumps(row) + "\n" for row in answered), encoding="utf-8")


def _asked(address: str, row: dict[str, Any]) -> dict[str, int]:
    """What became of a group whose members came at those times, with those rebalance timeouts."""
    with closing(Group(address, Names().of_here("delayed"), JOIN_VERSION)) as group:
        group.wait_for_coordinator()
        members = [
            group.member(str(at), rebalance_ms=round(timeout * HALF_S * 1_000))
            for at, timeout in row["joins"]
        ]
        began_s = time.perf_counter()
        for member, (at, _) in zip(members, row["joins"], strict=True):
            Event().wait(began_s + at * HALF_S - time.perf_counter())
            member.ask_to_join()
        told = members[0].joined()
        waited_s = time.perf_counter() - began_s
        return {"waited": int((waited_s + EARLY_S) / HALF_S), "members": len(told["members"])}


if __name__ == "__main__":
    main()
