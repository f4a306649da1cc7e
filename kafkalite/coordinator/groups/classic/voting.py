"""Which protocol a generation uses: each member votes for the first of its own that all support.

Between protocols with as many votes Kafka takes the one that comes first in a `java.util.HashMap`,
which is no order that anybody would choose; but it is the same every time, so it is ours too.

Kafka differs: a name that a member gives twice counts twice, and so is none that all members
support: another one is chosen, or where there is none JoinGroup is never answered. Here it counts
once.

Source: Kafka's `ClassicGroup.selectProtocol`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kafkalite.coordinator.partitioner import java_hash

_LEAST_BUCKETS = 16


def select_protocol(preferences: Sequence[Sequence[str]]) -> str:
    """The winner. Each member's names in its order of preference; all have one in common."""
    common = set(preferences[0]).intersection(*preferences[1:])
    assert common, preferences
    votes = Counter(
        next(name for name in preference if name in common) for preference in preferences
    )
    most = max(votes.values())
    buckets = _LEAST_BUCKETS
    while len(votes) > buckets * 3 // 4:
        buckets *= 2
    return min(
        (name for name, count in votes.items() if count == most),
        key=lambda name: _bucket(name, buckets),
    )


def _bucket(name: str, buckets: int) -> int:
    hashed = java_hash(name) & 0xFFFFFFFF
    return (hashed ^ hashed >> 16) & buckets - 1
