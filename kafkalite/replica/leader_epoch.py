"""Whether a client knows the present leader of a partition (KIP-320), and whether its log is that
of the leader as far as it goes (KIP-595).

Source: Kafka's `Partition.checkCurrentLeaderEpoch` and `Partition.readRecords`.
"""

from __future__ import annotations

from kafkalite.errors import ErrorCode
from kafkalite.types import NO_LEADER_EPOCH, LeaderEpoch, Offset


def check_leader_epoch(claimed: LeaderEpoch, known: LeaderEpoch) -> ErrorCode:
    """What a client is told that claims one leader epoch, or none (-1), where another is known."""
    if claimed in (NO_LEADER_EPOCH, known):
        return ErrorCode.NONE
    if claimed < known:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.UNKNOWN_LEADER_EPOCH


def has_parted(
    offset: Offset, epoch: LeaderEpoch, known_epoch: LeaderEpoch, end_offset: Offset
) -> bool:
    """Whether a log whose last record, before `offset`, was appended in `epoch` is another than the
    leader's. There `known_epoch` is the largest up to `epoch`, and ended at `end_offset`."""
    return known_epoch < epoch or end_offset < offset
