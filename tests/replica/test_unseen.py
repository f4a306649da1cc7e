"""How many bytes readers get to see."""

from __future__ import annotations

from kafkalite.replica.unseen import MANY, UnseenBytes
from kafkalite.types import Offset


def test_what_ends_below_the_high_watermark_is_seen_once() -> None:
    unseen = UnseenBytes()
    for end, size in ((2, 100), (3, 50), (7, 10)):
        unseen.add(Offset(end), size)
    assert [unseen.see(Offset(at)) for at in (1, 2, 3, 6, 7)] == [0, 100, 50, 0, 10]
    assert not unseen.appends


def test_of_what_was_there_before_any_part_is_enough_for_all() -> None:
    unseen = UnseenBytes()
    unseen.begin(Offset(3), Offset(9))
    unseen.add(Offset(10), 5)
    assert [unseen.see(Offset(at)) for at in (5, 9, 10)] == [MANY, MANY, 5]


def test_a_log_that_is_seen_to_its_end_has_nothing_to_tell() -> None:
    unseen = UnseenBytes()
    unseen.add(Offset(3), 5)
    unseen.begin(Offset(9), Offset(9))
    assert not unseen.appends


def test_beyond_a_thousand_appends_are_not_told_apart() -> None:
    unseen = UnseenBytes()
    for end in range(1, 1_501):
        unseen.add(Offset(end), 1)
    assert len(unseen.appends) == 1_000
    assert unseen.see(Offset(1_499)) == 999
    assert unseen.see(Offset(1_500)) == 501
