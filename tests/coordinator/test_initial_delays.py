"""How long a new classic group waits for more members: as the real Kafka 4.4.0 did
(`compat_tests/record_initial_delays.py`)."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kafkalite.coordinator.groups.settings import GroupSettings
from tests.coordinator.sample_groups import Stage

DELAYS = Path(__file__).parent / "initial-delays.jsonl"
HALF_MS = 1_500
"""Of the delay; the unit of time in that file."""
ROWS = [json.loads(line) for line in DELAYS.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["group"])
def test_it_waits_as_long_as_kafka_for_as_many(row: dict[str, Any]) -> None:
    stage = Stage(GroupSettings(initial_rebalance_delay_ms=2 * HALF_MS))
    events = [stage.join_event(rebalance_ms=timeout * HALF_MS) for _, timeout in row["joins"]]
    times = [at for at, _ in row["joins"]]
    for event, (at, until) in zip(events, pairwise([*times, row["waited"]]), strict=True):
        stage.feed(event)
        stage.advance((until - at) * HALF_MS - 1)
        assert events[0].token not in stage.replies
        stage.advance(1)
    assert len(stage.joined(events[0]).members) == row["members"] == len(events)
