"""What an assignor is given, and what it gives.

Source: Kafka's `GroupSpec`, `SubscribedTopicDescriber`, `GroupAssignment`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from kafkalite.types import Uuid

Partitions = Mapping[Uuid, tuple[int, ...]]
"""Topic -> partitions of it, ascending. No topic without one."""


class Subscriber(NamedTuple):
    """A member, as far as assigning is concerned."""

    member_id: str
    instance_id: str | None
    topics: tuple[Uuid, ...]
    """Those that it subscribes to and that exist, each once."""
    assigned: Partitions
    """Its part of the assignment before."""


class Subject(NamedTuple):
    """All that there is to assign."""

    members: tuple[Subscriber, ...]
    """At least one, in the order in which Kafka goes through them."""
    partition_counts: Mapping[Uuid, int]
    """Of all topics that somebody subscribes to."""

    @property
    def is_homogeneous(self) -> bool:
        """Whether all subscribe to the same topics."""
        topics = self.members[0].topics
        first = frozenset(topics)
        return all(m.topics is topics or frozenset(m.topics) == first for m in self.members)


Assignor = Callable[[Subject], dict[str, Partitions]]
"""Member id -> its part. A member that is left out gets nothing."""


def partitions_of(by_topic: Mapping[Uuid, set[int]]) -> Partitions:
    """In order, without topics of which nothing is left."""
    return {topic: tuple(sorted(indexes)) for topic, indexes in by_topic.items() if indexes}
