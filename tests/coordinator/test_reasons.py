"""Why groups rebalanced."""

from __future__ import annotations

from kafkalite.coordinator.groups.draft import Rebalanced
from kafkalite.coordinator.groups.reasons import FEW_GROUPS, Reasons
from kafkalite.types import TimestampMs


def begun(group_id: str, reason: str = "") -> Rebalanced:
    return Rebalanced(group_id, reason, TimestampMs(0))


def test_each_is_told_once_and_the_last_one_kept() -> None:
    reasons = Reasons()
    both = [begun("g", "first"), begun("g", "second")]
    reasons.keep(both, 1, lambda _: True)
    assert reasons.last == {"g": both[1]}
    assert reasons.take() == both
    assert reasons.take() == []


def test_those_of_groups_that_are_gone_are_not_kept_for_ever() -> None:
    reasons = Reasons()
    for number in range(3 * FEW_GROUPS):
        reasons.keep([begun(f"g{number}")], 1, lambda id: id == "g0")
        assert len(reasons.last) <= FEW_GROUPS + 2
    assert "g0" in reasons.last
