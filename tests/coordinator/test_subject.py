"""What assignors are given."""

from __future__ import annotations

from kafkalite.coordinator.groups.assignors.subject import Subject, Subscriber, partitions_of
from kafkalite.types import Uuid

A, B = Uuid(b"a" * 16), Uuid(b"b" * 16)


def test_partitions_are_in_order_and_no_topic_is_empty() -> None:
    assert partitions_of({A: {2, 0, 1}, B: set()}) == {A: (0, 1, 2)}


def test_members_are_alike_whatever_the_order_of_their_topics() -> None:
    first, second = Subscriber("m", None, (A, B), {}), Subscriber("n", None, (B, A), {})
    assert Subject((first, second), {A: 1, B: 1}).is_homogeneous
    assert not Subject((first, second._replace(topics=(A,))), {A: 1, B: 1}).is_homogeneous
