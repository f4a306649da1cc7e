"""The assignor `range`: of each topic, every subscriber gets a run of neighbouring partitions.

Members are in the order of their ids, static ones first in the order of their instance ids; those
at the front get one more where the numbers do not come out even. So topics with as many partitions
go to members alike, which joins need. The assignment before does not count.

Source: Kafka's `RangeAssignor` (of 4.4, which does not look at racks).
"""

from __future__ import annotations

from collections import Counter

from kafkalite.coordinator.groups.assignors.subject import Partitions, Subject, Subscriber
from kafkalite.types import Uuid


def assign_range(subject: Subject) -> dict[str, Partitions]:
    """See the module."""
    subscribers = Counter(topic for member in subject.members for topic in member.topics)
    given: Counter[Uuid] = Counter()
    """Topic -> subscribers that have their run."""
    assignment: dict[str, Partitions] = {}
    for member in sorted(subject.members, key=_place):
        part: dict[Uuid, tuple[int, ...]] = {}
        for topic in member.topics:
            least, more = divmod(subject.partition_counts[topic], subscribers[topic])
            before = given[topic]
            given[topic] += 1
            begin = before * least + min(before, more)
            end = begin + least + (before < more)
            if begin < end:
                part[topic] = tuple(range(begin, end))
        assignment[member.member_id] = part
    return assignment


def _place(member: Subscriber) -> tuple[bool, bytes]:
    """Java compares texts by their UTF-16 code units."""
    name = member.member_id if member.instance_id is None else member.instance_id
    return member.instance_id is None, name.encode("utf-16-be", "surrogatepass")
