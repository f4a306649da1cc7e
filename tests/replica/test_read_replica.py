from __future__ import annotations

import pytest

from kafkalite.replica.read_replica import ReplicaView, nearest_replica
from kafkalite.types import BrokerId, Offset, TimestampMs


def replica(id: int, rack: str | None, end: int = 9, caught_up_ms: int = 0) -> ReplicaView:
    return ReplicaView(BrokerId(id), rack, Offset(end), TimestampMs(caught_up_ms))


LEADER = replica(1, "a")


@pytest.mark.parametrize(
    ("rack", "followers", "chosen"),
    [
        ("", [replica(2, "")], None),
        ("a", [replica(2, "a")], None),
        ("b", [], None),
        ("b", [replica(2, "c"), replica(3, None)], None),
        ("b", [replica(2, "a"), replica(3, "b")], 3),
        ("b", [replica(2, "b", 9), replica(3, "b", 8)], 2),
        ("b", [replica(2, "b", 9, 5), replica(3, "b", 9, 4)], 2),
        ("b", [replica(2, "b"), replica(3, "b")], 3),
    ],
    ids=[
        "no rack",
        "the leader's",
        "alone",
        "none there",
        "one",
        "who has most",
        "who caught up last",
        "as much",
    ],
)
def test_the_replica_in_the_consumers_rack(
    rack: str, followers: list[ReplicaView], chosen: int | None
) -> None:
    assert nearest_replica(rack, LEADER, followers) == chosen
