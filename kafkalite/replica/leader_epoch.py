"""Whether a client knows the present leader of a partition (KIP-320).

Source: Kafka's `Partition.checkCurrentLeaderEpoch`.
"""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.types import NO_LEADER_EPOCH, LeaderEpoch


def check_leader_epoch(claimed: LeaderEpoch, known: LeaderEpoch) -> ErrorCode:
    """What a client is told that claims one leader epoch, or none (-1), where another is known."""
    if claimed in (NO_LEADER_EPOCH, known):
        return ErrorCode.NONE
    if claimed < known:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.UNKNOWN_LEADER_EPOCH
