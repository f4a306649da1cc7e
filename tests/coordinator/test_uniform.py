"""`uniform`, held against Kafka's, where all members subscribe to the same topics."""

from __future__ import annotations

from kafkalite.coordinator.groups.assignors.subject import Subject, Subscriber
from kafkalite.coordinator.groups.assignors.uniform import assign_uniform
from kafkalite.types import Uuid
from tests.coordinator.kafkas_assignments import Assigned, assigned_by, cases

KAFKAS = assigned_by("uniform", lambda subject: subject.is_homogeneous)
TOPIC = Uuid(bytes(range(16)))


@cases(KAFKAS)
def test_the_assignment_is_kafkas(kafkas: Assigned) -> None:
    made = assign_uniform(kafkas.subject)
    assert {id: parts for id, parts in made.items() if parts} == {
        id: parts for id, parts in kafkas.made.items() if parts
    }


def test_enough_was_asked() -> None:
    assert len(KAFKAS) > 90
    assert max(len(each.subject.members) for each in KAFKAS) > 10


def test_members_without_topics_get_nothing() -> None:
    assert assign_uniform(Subject((Subscriber("m", None, (), {}),), {})) == {}


def test_what_is_not_read_any_more_is_given_up() -> None:
    gone = Uuid(bytes(16))
    member = Subscriber("m", None, (TOPIC,), {gone: (0, 1)})
    assert assign_uniform(Subject((member,), {TOPIC: 2})) == {"m": {TOPIC: (0, 1)}}
