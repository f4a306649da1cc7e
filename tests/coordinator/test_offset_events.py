from __future__ import annotations

from kafkalite.coordinator.groups.offset_events import (
    NO_GENERATION,
    CommitOffsets,
    CommitTransactionalOffsets,
    FetchedOffset,
    OffsetToCommit,
)
from kafkalite.errors import ErrorCode
from kafkalite.types import Offset, ProducerEpoch, ProducerId


def test_a_commit_in_a_transaction_is_of_the_group_that_it_commits_for() -> None:
    commit = CommitOffsets(None, "g", NO_GENERATION, "", None, ())
    event = CommitTransactionalOffsets(None, commit, ProducerId(7), ProducerEpoch(0))
    assert event.group_id == "g"


def test_what_was_never_committed_is_no_offset_and_no_error() -> None:
    told = FetchedOffset("t", 0)
    assert (told.offset, told.leader_epoch, told.metadata) == (-1, -1, "")
    assert told.code is ErrorCode.NONE


def test_who_commits_an_offset_alone_knows_no_leader_epoch() -> None:
    assert OffsetToCommit("t", 0, Offset(3)).leader_epoch == -1
