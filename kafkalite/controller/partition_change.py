"""What becomes of one partition: its in-sync replicas, its leader, a reassignment that is done.

Every decision about a partition is made here, from the partition as it is and what it is to be:

    1. a reassignment whose new replicas are all in sync is done: the old ones go
    2. a leader is elected among the in-sync replicas that may lead
    3. the record tells what differs; there is none when nothing does

Where nobody is in sync any more, eligible replicas lead (`eligible_replicas.py`). In a cluster that
keeps none, a partition whose last in-sync replica goes keeps it, without a leader, and waits for
it: another could lack acknowledged records. Only an unclean election takes one of the others.

Source: Kafka's `PartitionChangeBuilder`, `PartitionReassignmentReplicas`; its answers to hundreds
of changes are in `tests/controller/partition-changes.txt`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

from kafkalite.controller.eligible_replicas import eligible_replicas, last_leader_to_keep
from kafkalite.metadata.image import (
    MIGRATING_DIRECTORY,
    UNASSIGNED_DIRECTORY,
    BrokerImage,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from kafkalite.metadata.registrations import KEEP_LEADER
from kafkalite.protocol.messages.metadata_records import PartitionChangeRecord
from kafkalite.types import NO_LEADER, BrokerId, Uuid

RECOVERED = 0
RECOVERING = 1
"""The leader came by an unclean election and has not yet said that it has recovered (KIP-704)."""


class Election(Enum):
    """Whom to prefer."""

    ONLINE = "the present leader, then the order of the assignment"
    PREFERRED = "the first of the assignment, then as ONLINE"
    UNCLEAN = "as ONLINE, and when there is nobody, any replica that is active"


class Rules(NamedTuple):
    """By which a topic's leaders are elected."""

    election: Election = Election.ONLINE
    min_in_sync: int | None = None
    """While fewer are in sync, those that leave are eligible; None: the cluster keeps none."""


ONLINE: Final = Rules()


class Candidates(NamedTuple):
    """Brokers that may lead, with the log folders that they have."""

    log_dirs: Mapping[BrokerId, Sequence[Uuid]]

    def may_lead(self, partition: PartitionImage, id: BrokerId) -> bool:
        """Whether the broker is active, and its replica in a folder that it has."""
        log_dirs = self.log_dirs.get(id)
        return log_dirs is not None and not partition.is_offline(id, log_dirs)

    def without(self, id: BrokerId) -> Candidates:
        """Those but one."""
        return Candidates({each: dirs for each, dirs in self.log_dirs.items() if each != id})

    def joined_by(self, broker: BrokerImage) -> Candidates:
        """Those and one more, or that one as it is now."""
        return Candidates({**self.log_dirs, broker.id: broker.log_dirs})


def candidates_of(image: MetadataImage) -> Candidates:
    """All active brokers."""
    return Candidates({each.id: each.log_dirs for each in image.brokers.values() if each.active})


class Target(NamedTuple):
    """What a partition is to be. Elections happen within it."""

    replicas: tuple[BrokerId, ...]
    isr: tuple[BrokerId, ...]
    """Empty: the last one goes. Where none are eligible it is kept, as the one to wait for."""
    adding: tuple[BrokerId, ...]
    removing: tuple[BrokerId, ...]
    leader_recovery_state: int
    unclean_stop: BrokerId | None = None
    """A replica that may have lost records: it is not eligible any more."""

    def completed(self) -> Target:
        """After the reassignment, if it can be done: all that are added are in sync, and no fewer
        than were before would be."""
        if not self.adding and not self.removing:
            return self
        isr = tuple(id for id in self.isr if id not in self.removing)
        replicas = tuple(id for id in self.replicas if id not in self.removing)
        if not isr or not replicas or not set(self.adding) <= set(isr):
            return self
        if len(self.adding) < len(self.removing) and not set(replicas) <= set(isr):
            return self
        return self._replace(replicas=replicas, isr=isr, adding=(), removing=())


def target_of(partition: PartitionImage) -> Target:
    """As it is."""
    return Target(
        partition.replicas,
        partition.isr,
        partition.adding_replicas,
        partition.removing_replicas,
        partition.leader_recovery_state,
    )


class _Elected(NamedTuple):
    leader: BrokerId
    is_unclean: bool = False


def partition_change(
    topic: TopicImage,
    index: int,
    target: Target,
    candidates: Candidates,
    *,
    rules: Rules = ONLINE,
    directory_for: Callable[[BrokerId], Uuid] = lambda id: UNASSIGNED_DIRECTORY,
) -> PartitionChangeRecord | None:
    """The record that makes the partition what it is to be, with a leader; None: it is so.
    `directory_for`: the folder of a replica that is new."""
    before = topic.partitions[index]
    target = target.completed()
    change = _no_change(topic, index)
    keeps_eligible = rules.min_in_sync is not None
    eligible = before.eligible_leader_replicas
    if rules.min_in_sync is not None:
        eligible = eligible_replicas(
            before,
            target.isr,
            rules.min_in_sync,
            replicas=target.replicas,
            unclean_stop=target.unclean_stop,
        )
    elected = _elect(before, target, candidates, rules, eligible)
    if elected.leader != before.leader:
        change.leader = elected.leader
        if elected.is_unclean or elected.leader in eligible:
            target = target._replace(isr=(elected.leader,))
        if elected.is_unclean:
            eligible = ()
            if before.leader_recovery_state != RECOVERING:
                change.leader_recovery_state = RECOVERING
    elif not set(before.replicas) <= set(target.replicas):
        change.leader = before.leader  # In a new epoch, so that those that go fetch no more.
    is_enough = rules.min_in_sync is None or len(target.isr) >= rules.min_in_sync
    eligible = () if is_enough else tuple(id for id in eligible if id not in target.isr)
    if eligible != before.eligible_leader_replicas:
        change.eligible_leader_replicas = list(eligible)
    if (target.isr or keeps_eligible) and target.isr != before.isr:
        change.isr = list(target.isr)
    if keeps_eligible:
        chosen = None if change.leader == KEEP_LEADER else BrokerId(change.leader)
        last = last_leader_to_keep(before, chosen)
        change.last_known_elr = None if last is None else list(last)
    _assign(change, before, target, directory_for)
    if target.leader_recovery_state != before.leader_recovery_state:
        change.leader_recovery_state = target.leader_recovery_state
    return None if change == _no_change(topic, index) else change


def _no_change(topic: TopicImage, index: int) -> PartitionChangeRecord:
    return PartitionChangeRecord(partition_id=index, topic_id=topic.id)


def _elect(
    before: PartitionImage,
    target: Target,
    candidates: Candidates,
    rules: Rules,
    eligible: tuple[BrokerId, ...],
) -> _Elected:
    have_all = target.isr or eligible

    def may_lead(id: BrokerId) -> bool:
        return id in have_all and candidates.may_lead(before, id)

    order = target.replicas
    if rules.election is Election.PREFERRED:
        order = (order[0], before.leader, *order)
    else:
        order = (before.leader, *order)
    for id in order:
        if may_lead(id):
            return _Elected(id)
    last = before.last_known_elr if rules.min_in_sync is not None else ()
    if not have_all and len(last) == 1:
        (id,) = last
        if id in target.replicas and candidates.may_lead(before, id):
            return _Elected(id, is_unclean=True)
    if rules.election is Election.UNCLEAN:
        for id in target.replicas:
            if candidates.may_lead(before, id):
                return _Elected(id, is_unclean=True)
    return _Elected(NO_LEADER)


def _assign(
    change: PartitionChangeRecord,
    before: PartitionImage,
    target: Target,
    directory_for: Callable[[BrokerId], Uuid],
) -> None:
    if target.replicas != before.replicas:
        change.replicas = list(target.replicas)
        change.directories = [
            _directory(before, id) if id in before.replicas else directory_for(id)
            for id in target.replicas
        ]
    if target.removing != before.removing_replicas:
        change.removing_replicas = list(target.removing)
    if target.adding != before.adding_replicas:
        change.adding_replicas = list(target.adding)


def _directory(partition: PartitionImage, id: BrokerId) -> Uuid:
    return partition.directory_of(id) if partition.directories else MIGRATING_DIRECTORY
