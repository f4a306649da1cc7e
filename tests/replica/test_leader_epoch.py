"""Whether a client knows the present leader."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.replica.leader_epoch import check_leader_epoch
from kafkalite.types import LeaderEpoch


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
