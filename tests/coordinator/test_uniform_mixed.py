"""`uniform`, held against Kafka's, where members subscribe to different topics."""

from __future__ import annotations

from kafkalite.coordinator.groups.assignors.subject import Subject, Subscriber
from kafkalite.coordinator.groups.assignors.uniform_mixed import assign_mixed
from kafkalite.types import Uuid
from tests.coordinator.kafkas_assignments import Assigned, assigned_by, cases

KAFKAS = assigned_by("uniform", lambda subject: not subject.is_homogeneous)


@cases(KAFKAS)
def test_the_assignment_is_kafkas(kafkas: Assigned) -> None:
    made = assign_mixed(kafkas.subject)
    assert {id: parts for id, parts in made.items() if parts} == {
        id: parts for id, parts in kafkas.made.items() if parts
    }


def test_enough_was_asked() -> None:
    assert len(KAFKAS) > 60
    assert max(len(each.subject.members) for each in KAFKAS) > 10


def test_nobody_reads_anything() -> None:
    assert assign_mixed(Subject((Subscriber("m", None, (), {}),), {})) == {}


def test_those_who_have_most_pass_on_what_others_may_have() -> None:
    shared, own = Uuid(b"s" * 16), Uuid(b"o" * 16)
    rich = Subscriber("rich", None, (shared, own), {shared: (0, 1, 2, 3), own: (0,)})
    poor = Subscriber("poor", None, (shared,), {})
    assert assign_mixed(Subject((rich, poor), {shared: 4, own: 1})) == {
        "rich": {shared: (0, 1), own: (0,)},
        "poor": {shared: (2, 3)},
    }
