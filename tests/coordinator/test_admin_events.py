from __future__ import annotations

from kafkalite.coordinator.groups.admin_events import DescribedGroup, ListGroups
from kafkalite.errors import ErrorCode


def test_who_filters_nothing_asks_for_all() -> None:
    assert ListGroups("who") == ("who", (), ())


def test_a_group_that_is_there_is_no_error() -> None:
    empty = DescribedGroup("group", "Empty")
    assert (empty.members, empty.code, empty.message) == ((), ErrorCode.NONE, None)
