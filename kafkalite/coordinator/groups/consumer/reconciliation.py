"""One step of a member towards its target assignment.

What it is to give up it gives up first: it stays in its epoch, UNREVOKED_PARTITIONS, until it says
that it owns none of that any more. Then it comes to the target's epoch and gets what is free of the
rest; while others still have some of it, it is UNRELEASED_PARTITIONS. So a partition has one owner
at any time, and nobody waits for more than those who hold what it is to get.

Source: Kafka's `CurrentAssignmentBuilder`; KIP-848, KIP-1251 (the epoch of each assignment).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import NamedTuple

from kafkalite.coordinator.groups.assignors.subject import Partitions
from kafkalite.coordinator.groups.consumer.state import NOTHING, Member, MemberState, Owned
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.types import Uuid

Reported = Mapping[Uuid, frozenset[int]]
"""What a member says that it owns."""


class Way(NamedTuple):
    """Where a member is to go, and what it may take."""

    target: Partitions
    epoch: int
    """Of the target assignment."""
    subscribed: Container[Uuid]
    """Topics that it reads now: the target may be older."""
    subscription_changed: bool
    """With this heartbeat."""
    is_owned: Callable[[Uuid, int], bool]
    """Whether somebody has the partition, or still gives it up."""
    reported: Reported | None
    """None: the member says nothing of what it owns."""


def reconcile(member: Member, way: Way) -> Member:
    """The member as it is after this step; the same one where it cannot take any.
    `KafkaError(FENCED_MEMBER_EPOCH)` for a state that only a later release knows."""
    match member.state:
        case MemberState.STABLE:
            if member.epoch != way.epoch:
                return _step(member, way, member.epoch)
            return _drop_unsubscribed(member, way) if way.subscription_changed else member
        case MemberState.UNREVOKED_PARTITIONS:
            if not _still_owns(member.revoking, way.reported):
                return _step(member, way, member.epoch)
            return _drop_unsubscribed(member, way) if way.subscription_changed else member
        case MemberState.UNRELEASED_PARTITIONS:
            return _step(member, way, member.epoch)
        case MemberState.UNKNOWN:
            if way.reported is None or any(way.reported.values()):
                raise KafkaError(
                    ErrorCode.FENCED_MEMBER_EPOCH,
                    "The consumer group member is in a unknown state. The member must abandon all"
                    " its partitions and rejoin.",
                )
            return _step(member, way, way.epoch)


def _still_owns(revoking: Owned, reported: Reported | None) -> bool:
    if reported is None:
        return True
    return any(
        not revoking.get(topic, NOTHING).keys().isdisjoint(indexes)
        for topic, indexes in reported.items()
    )


def _step(member: Member, way: Way, epoch: int) -> Member:
    """The next assignment; `epoch` is what the member keeps while it revokes."""
    kept: dict[Uuid, dict[int, int]] = {}
    revoking: dict[Uuid, dict[int, int]] = {}
    free: dict[Uuid, list[int]] = {}
    waits = False
    for topic in dict.fromkeys([*way.target, *member.assigned]):
        target = way.target.get(topic, ()) if topic in way.subscribed else ()
        for index, since in member.assigned.get(topic, NOTHING).items():
            part = kept if index in target else revoking
            part.setdefault(topic, {})[index] = since
        own = member.revoking.get(topic, NOTHING)
        for index in target:
            if index in kept.get(topic, NOTHING):
                continue
            if way.is_owned(topic, index) and index not in own:
                waits = True
            else:
                free.setdefault(topic, []).append(index)
    if revoking and _still_owns(revoking, way.reported):
        return member._replace(
            state=MemberState.UNREVOKED_PARTITIONS,
            epoch=epoch,
            previous_epoch=member.epoch,
            assigned=kept,
            revoking=revoking,
        )
    for topic, indexes in free.items():
        kept.setdefault(topic, {}).update(dict.fromkeys(indexes, way.epoch))
    return member._replace(
        state=MemberState.UNRELEASED_PARTITIONS if waits else MemberState.STABLE,
        epoch=way.epoch,
        previous_epoch=member.epoch,
        assigned={topic: dict(sorted(epochs.items())) for topic, epochs in kept.items()},
        revoking=NOTHING,
    )


def _drop_unsubscribed(member: Member, way: Way) -> Member:
    """Before there is a new target: what the member does not read any more it is to give up."""
    gone = {t: epochs for t, epochs in member.assigned.items() if t not in way.subscribed}
    if not gone:
        return member
    kept = {t: epochs for t, epochs in member.assigned.items() if t not in gone}
    revoking = {
        topic: {**member.revoking.get(topic, NOTHING), **gone.get(topic, NOTHING)}
        for topic in dict.fromkeys([*member.revoking, *gone])
    }
    if _still_owns(revoking, way.reported):
        return member._replace(
            state=MemberState.UNREVOKED_PARTITIONS,
            previous_epoch=member.epoch,
            assigned=kept,
            revoking=revoking,
        )
    return member._replace(previous_epoch=member.epoch, assigned=kept)
