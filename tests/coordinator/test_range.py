"""`range`, held against Kafka's."""

from __future__ import annotations

from kafkalite.coordinator.groups.assignors.range import assign_range
from tests.coordinator.kafkas_assignments import Assigned, assigned_by, cases

KAFKAS = assigned_by("range", lambda subject: True)


@cases(KAFKAS)
def test_the_assignment_is_kafkas(kafkas: Assigned) -> None:
    assert assign_range(kafkas.subject) == kafkas.made


def test_enough_was_asked() -> None:
    assert {each.subject.is_homogeneous for each in KAFKAS} == {True, False}
    assert any(member.instance_id for each in KAFKAS for member in each.subject.members)
