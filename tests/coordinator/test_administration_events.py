from __future__ import annotations

from kafkalite.coordinator.groups.administration_events import (
    DeletedGroup,
    DescribedGroup,
    ListGroups,
)
from kafkalite.errors import ErrorCode


def test_who_names_no_filter_asks_for_all_groups() -> None:
    assert ListGroups(None) == ListGroups(None, states=(), types=())


def test_a_group_that_is_not_there_is_described_without_members() -> None:
    told = DescribedGroup("g", "Dead", code=ErrorCode.GROUP_ID_NOT_FOUND)
    assert (told.protocol_type, told.protocol, told.members) == ("", "", ())


def test_a_group_that_was_deleted_needs_no_words() -> None:
    assert DeletedGroup("g", ErrorCode.NONE).message is None
