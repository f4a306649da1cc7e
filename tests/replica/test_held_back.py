"""What is to be on the disk first: who sees it before, and who waits."""

from __future__ import annotations

import pytest

from kafkalite.replica.held_back import ACKS_ALL, is_answered_once_committed, settled_end
from kafkalite.types import Offset


@pytest.mark.parametrize(
    ("recovery_point", "start", "high_watermark", "end"),
    [(2, 1, 0, 2), (2, 5, 0, 5), (2, 1, 6, 6)],
    ids=["on the disk", "nothing is left below", "seen before"],
)
def test_how_much_of_what_is_held_back_a_leader_may_show(
    recovery_point: int, start: int, high_watermark: int, end: int
) -> None:
    assert end == settled_end(Offset(recovery_point), Offset(start), Offset(high_watermark))


@pytest.mark.parametrize(
    ("acks", "is_held_back", "in_sync", "waits"),
    [
        (ACKS_ALL, False, 3, True),
        (ACKS_ALL, True, 1, True),
        (1, False, 1, False),
        (1, True, 1, True),
        (1, True, 2, False),
        (0, True, 1, False),
    ],
)
def test_which_produces_wait_for_the_commit(
    acks: int, is_held_back: bool, in_sync: int, waits: bool
) -> None:
    answered_later = is_answered_once_committed(acks, is_held_back=is_held_back, in_sync=in_sync)
    assert answered_later is waits
