"""The assignor `uniform`: members have as many partitions as each other, give or take one, and keep
what they have where they can.

Here for members that all subscribe to the same topics; else see `uniform_mixed.py`. The one
partition more goes to those who have it already, in Kafka's order of members, and what is left of
these to the last ones.

Source: Kafka's `UniformAssignor` and `UniformHomogeneousAssignmentBuilder`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from kafkalite.coordinator.groups.assignors.subject import (
    Partitions,
    Subject,
    Subscriber,
    partitions_of,
)
from kafkalite.coordinator.groups.assignors.uniform_mixed import assign_mixed
from kafkalite.coordinator.java_maps import (
    hash_map_order,
    hash_set_order,
    int_hash,
    uuid_hash,
)
from kafkalite.types import Uuid

_Slot = tuple[Uuid, int]
"""A topic and a partition of it."""


def assign_uniform(subject: Subject) -> dict[str, Partitions]:
    """See the module."""
    if not subject.is_homogeneous:
        return assign_mixed(subject)
    topics = hash_set_order(subject.members[0].topics, uuid_hash)
    if not topics:
        return {}
    free = _unassigned(subject, topics)
    total = sum(subject.partition_counts[topic] for topic in topics)
    least, more = divmod(total, len(subject.members))
    parts: dict[str, dict[Uuid, set[int]]] = {}
    rooms: list[tuple[str, int]] = []
    for still_to_come, member in zip(_countdown(subject), subject.members, strict=True):
        quota = least + (more > 0)
        part, dropped = _kept(member, frozenset(topics), quota)
        parts[member.member_id] = part
        free += dropped
        room = quota - sum(map(len, part.values()))
        has_more = more > 0 and (not room or still_to_come < more)
        room -= more > 0 and not has_more
        more -= has_more
        if room:
            rooms.append((member.member_id, room))
    slots = iter(free)
    for member_id, room in rooms:
        for topic, index in islice(slots, room):
            parts[member_id].setdefault(topic, set()).add(index)
    return {member_id: partitions_of(part) for member_id, part in parts.items()}


def _countdown(subject: Subject) -> range:
    """How many members come after each."""
    return range(len(subject.members) - 1, -1, -1)


def _unassigned(subject: Subject, topics: list[Uuid]) -> list[_Slot]:
    """What no member has, by topic and partition."""
    taken = {slot for member in subject.members for slot in _slots(member)}
    return [
        (topic, index)
        for topic in topics
        for index in range(subject.partition_counts[topic])
        if (topic, index) not in taken
    ]


def _slots(member: Subscriber) -> Iterator[_Slot]:
    for topic, indexes in member.assigned.items():
        for index in indexes:
            yield topic, index


def _kept(
    member: Subscriber, topics: frozenset[Uuid], quota: int
) -> tuple[dict[Uuid, set[int]], list[_Slot]]:
    """What a member keeps of what it has, up to its quota, and what it gives up of these topics."""
    kept: dict[Uuid, set[int]] = {}
    dropped: list[_Slot] = []
    if not member.assigned:  # Of a large group most have nothing.
        return kept, dropped
    for topic in hash_map_order(member.assigned, uuid_hash):
        if topic not in topics:
            continue
        indexes = hash_set_order(member.assigned[topic], int_hash)
        kept[topic] = set(indexes[:quota])
        dropped += [(topic, index) for index in indexes[quota:]]
        quota -= len(kept[topic])
    return kept, dropped
