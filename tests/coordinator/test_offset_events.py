from __future__ import annotations

from kafkalite.coordinator.groups.offset_events import (
    CommitOffsets,
    CommitTransactionalOffsets,
    FetchedOffset,
)
from kafkalite.errors import ErrorCode
from kafkalite.types import ProducerEpoch, ProducerId


def test_what_was_never_committed_is_minus_one_and_no_error() -> None:
    assert FetchedOffset("t", 0) == ("t", 0, -1, -1, "", ErrorCode.NONE)


def test_offsets_in_a_transaction_are_of_the_group_that_commits_them() -> None:
    commit = CommitOffsets(None, "group", -1, "", None, ())
    event = CommitTransactionalOffsets("who", commit, ProducerId(7), ProducerEpoch(0))
    assert event.group_id == "group"
