"""The target assignment of a consumer group: who is to have what, of the topics as they are now.

Source: Kafka's `TargetAssignmentBuilder`, `ModernGroup`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b

from kafkalite.config.keys import RANGE, UNIFORM
from kafkalite.coordinator.groups.assignors.range import assign_range
from kafkalite.coordinator.groups.assignors.subject import (
    Assignor,
    Partitions,
    Subject,
    Subscriber,
)
from kafkalite.coordinator.groups.assignors.uniform import assign_uniform
from kafkalite.coordinator.groups.consumer.state import (
    NOTHING,
    ConsumerGroup,
    Member,
    ResolvedRegex,
    Subscription,
    names_of,
)
from kafkalite.coordinator.java_maps import hash_map_order, timeline_order
from kafkalite.coordinator.partitioner import java_hash
from kafkalite.metadata.image import MetadataImage
from kafkalite.types import Uuid

ASSIGNORS: Mapping[str, Assignor] = {UNIFORM: assign_uniform, RANGE: assign_range}
"""By all the names that `group.consumer.assignors` may have."""

_HASH_BYTES = 8


def metadata_hash(names: Iterable[str], image: MetadataImage) -> int:
    """Of the topics of these names, as they are now: another one when one of them was made,
    deleted, or has more partitions. 0 where none exists. Signed, in 64 bits.

    Kafka differs: it hashes in another way, and racks too, so that a group which moves between the
    two is assigned anew at its first heartbeat."""
    digest = blake2b(digest_size=_HASH_BYTES)
    exist = False
    for name in sorted(names):
        topic = image.topics.get(name)
        if topic is not None:
            exist = True
            digest.update(topic.id + len(topic.partitions).to_bytes(4) + name.encode() + b"\0")
    return int.from_bytes(digest.digest(), signed=True) if exist else 0


def preferred_assignor(wishes: Mapping[str, int], default: str) -> str:
    """What most members ask for, of those who ask for one. `wishes`: how many ask for each."""
    ordered = hash_map_order(wishes, java_hash)
    return max(ordered, key=lambda name: wishes[name], default=default)


def make_targets(
    group: ConsumerGroup,
    members: Mapping[str, Member],
    regexes: Mapping[str, ResolvedRegex],
    targets: Mapping[str, Partitions],
    image: MetadataImage,
    assignor: str,
) -> dict[str, Partitions]:
    """What each of `members` is to have, who had `targets` to go to before. All three may be ahead
    of `group`, which knows in which order they came."""
    assign = ASSIGNORS[assignor]
    subscribers = []
    counts: dict[Uuid, int] = {}
    topics_of: dict[Subscription, tuple[Uuid, ...]] = {}
    for member_id in _in_order(group, members):
        member = members[member_id]
        said = member.subscription
        if said not in topics_of:
            names = sorted(names_of(said, regexes))
            found = [image.topics.get(name) for name in hash_map_order(names, java_hash)]
            topics = [topic for topic in found if topic is not None]
            topics_of[said] = tuple(topic.id for topic in topics)
            counts |= {topic.id: len(topic.partitions) for topic in topics}
        before = targets.get(member_id, NOTHING)
        subscribers.append(Subscriber(member_id, member.instance_id, topics_of[said], before))
    made = assign(Subject(tuple(subscribers), counts))
    return {member.member_id: made.get(member.member_id, NOTHING) for member in subscribers}


def _in_order(group: ConsumerGroup, members: Mapping[str, Member]) -> list[str]:
    """As Kafka goes through them: a hash map, filled from the group, and what is new behind it."""
    known = [member_id for member_id in members if member_id in group.members]
    new = [member_id for member_id in members if member_id not in group.members]
    return hash_map_order([*timeline_order(known, java_hash), *new], java_hash)
