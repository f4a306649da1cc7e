"""The assignor `uniform` where members subscribe to different topics.

1. Members keep what they have of their topics.
2. What is free goes to the subscriber that has the least, topic by topic: first those with the most
   partitions for each subscriber.
3. Of each topic, those with the most pass partitions on to those with the least, until all
   subscribers are level or nothing moves any more.

Source: Kafka's `UniformHeterogeneousAssignmentBuilder`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heapreplace

from kafkalite.coordinator.groups.assignors.subject import Partitions, Subject, partitions_of
from kafkalite.types import Uuid

_MAX_ROUNDS = 16
"""Over all topics, while partitions still move."""
_NOBODY = -1


def assign_mixed(subject: Subject) -> dict[str, Partitions]:
    """See the module. Members and topics as in `Subject`."""
    return _Plan(subject).made()


class _Plan:
    """Who owns what so far. Members are numbered in their order."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._sizes = [0] * len(subject.members)
        """Member -> how many partitions it has."""
        self._subscribers: dict[Uuid, list[int]] = {}
        for number, member in enumerate(subject.members):
            for topic in member.topics:
                self._subscribers.setdefault(topic, []).append(number)
        self._owners = {
            topic: [_NOBODY] * subject.partition_counts[topic] for topic in self._subscribers
        }
        for number, member in enumerate(subject.members):
            for topic in set(member.topics) & member.assigned.keys():
                for index in member.assigned[topic]:
                    self._give(topic, index, number)

    def made(self) -> dict[str, Partitions]:
        """The assignment."""
        topics = sorted(self._subscribers, key=self._urgency)
        for topic in topics:
            self._fill(topic)
        self._level([topic for topic in topics if len(self._subscribers[topic]) > 1])
        parts: list[dict[Uuid, set[int]]] = [{} for _ in self._subject.members]
        for topic, owners in self._owners.items():
            for index, owner in enumerate(owners):
                parts[owner].setdefault(topic, set()).add(index)
        if not topics:
            return {}
        members = zip(self._subject.members, parts, strict=True)
        return {member.member_id: partitions_of(part) for member, part in members}

    def _urgency(self, topic: Uuid) -> tuple[float, int, int, int]:
        count, subscribers = len(self._owners[topic]), len(self._subscribers[topic])
        high = int.from_bytes(topic[:8], signed=True)
        return -count / subscribers, subscribers, high, int.from_bytes(topic[8:], signed=True)

    def _give(self, topic: Uuid, index: int, member: int) -> None:
        before = self._owners[topic][index]
        if before != _NOBODY:
            self._sizes[before] -= 1
        self._owners[topic][index] = member
        self._sizes[member] += 1

    def _by_size(self, topic: Uuid) -> list[int]:
        return sorted(self._subscribers[topic], key=lambda member: (self._sizes[member], member))

    def _fill(self, topic: Uuid) -> None:
        """Give away what nobody has: to whoever has least, in the order of what they had."""
        line = self._by_size(topic)
        waiting = [(self._sizes[member], place) for place, member in enumerate(line)]
        heapify(waiting)
        for index, owner in enumerate(self._owners[topic]):
            if owner == _NOBODY:
                size, place = waiting[0]
                self._give(topic, index, line[place])
                heapreplace(waiting, (size + 1, place))

    def _level(self, topics: list[Uuid]) -> None:
        last_moved: Uuid | None = None
        for _ in range(_MAX_ROUNDS):
            for topic in topics:
                if topic == last_moved:
                    return
                if self._level_topic(topic) or last_moved is None:
                    last_moved = topic

    def _level_topic(self, topic: Uuid) -> int:
        """How many partitions have moved."""
        line = self._by_size(topic)
        if self._sizes[line[-1]] - self._sizes[line[0]] <= 1:
            return 0
        owned: dict[int, list[int]] = {}
        for index, owner in enumerate(self._owners[topic]):
            owned.setdefault(owner, []).append(index)
        scale = _Scale(line, self._sizes)
        moved = 0
        while not scale.is_level():
            donor = scale.next_donor(owned)
            if donor is None:
                break
            index = owned[donor].pop()
            taker = scale.next_taker()
            if scale.is_level():
                break
            self._give(topic, index, taker)
            moved += 1
        return moved


class _Scale:
    """Subscribers in the order of their sizes, from whose ends two groups grow to the middle:
    takers, who are all filled to one level before the next joins them, and donors, who are all
    lowered to one level."""

    def __init__(self, line: Sequence[int], sizes: Sequence[int]) -> None:
        self._line = list(line)
        self._sizes = sizes
        """Changes as partitions move."""
        self._taking_level = sizes[line[0]] - 1
        self._takers_end = 0
        self._turns: Iterator[int] = iter(())
        self._giving_level = sizes[line[-1]] + 1
        self._donors_begin = self._donors_end = len(line)
        self._next_donor = len(line) - 1

    def is_level(self) -> bool:
        """Whether nothing is to be won any more."""
        return self._giving_level - self._taking_level <= 1

    def next_taker(self) -> int:
        """The next of those with the least."""
        place = next(self._turns, None)
        if place is None:
            self._taking_level += 1
            end = self._takers_end
            while end < len(self._line) and self._sizes[self._line[end]] == self._taking_level:
                end += 1
            self._takers_end = end
            self._turns = iter(range(end))
            place = next(self._turns)
        return self._line[place]

    def next_donor(self, owned: dict[int, list[int]]) -> int | None:
        """The next of those with the most, who have something of the topic; None: nobody has."""
        while True:
            place = self._next_donor
            if place < self._donors_begin:
                self._widen_donors()
                place = self._next_donor
                if place < 0:
                    return None
            self._next_donor -= 1
            donor = self._line[place]
            if owned.get(donor):
                return donor
            self._donors_end -= 1
            end = self._donors_end
            self._line[place], self._line[end] = self._line[end], donor

    def _widen_donors(self) -> None:
        begin = self._donors_begin
        if self._donors_end <= begin and begin > 0:
            self._giving_level = self._sizes[self._line[begin - 1]]
        else:
            self._giving_level -= 1
        while begin > 0 and self._sizes[self._line[begin - 1]] == self._giving_level:
            begin -= 1
        self._donors_begin = begin
        self._next_donor = self._donors_end - 1
