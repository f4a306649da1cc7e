"""Whether a client knows the present leader, and has its log."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.replica.leader_epoch import check_leader_epoch, has_parted
from kafkalite.types import LeaderEpoch, Offset


@pytest.mark.parametrize(
    ("claimed", "told"),
    [
        (-1, ErrorCode.NONE),
        (4, ErrorCode.NONE),
        (3, ErrorCode.FENCED_LEADER_EPOCH),
        (5, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_a_claimed_epoch_is_checked(claimed: int, told: ErrorCode) -> None:
    assert check_leader_epoch(LeaderEpoch(claimed), LeaderEpoch(4)) is told


@pytest.mark.parametrize(
    ("offset", "epoch", "known_epoch", "end_offset", "parted"),
    [
        (5, 3, 3, 5, False),
        (5, 3, 3, 9, False),
        (6, 3, 3, 5, True),
        (5, 3, 2, 5, True),
        (5, 3, 2, 9, True),
    ],
    ids=["at the end", "within", "longer than it", "an epoch it has not", "and within"],
)
def test_where_logs_part(
    offset: int, epoch: int, known_epoch: int, end_offset: int, parted: bool
) -> None:
    known = LeaderEpoch(known_epoch), Offset(end_offset)
    assert has_parted(Offset(offset), LeaderEpoch(epoch), *known) is parted
