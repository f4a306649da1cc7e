"""What the controller is asked about replicas and leaders, and what it answers: a part of the
closed unions in `events.py`.

Partitions come by topic id from brokers and by name from clients, as on the wire.
"""

# Without the future's annotations: named tuples compile those, field by field, at every start.
from collections.abc import Hashable
from enum import IntEnum
from typing import NamedTuple

from kafkalite.errors import ErrorCode
from kafkalite.types import (
    NO_LEADER,
    BrokerEpoch,
    BrokerId,
    IsrMember,
    LeaderEpoch,
    TopicPartition,
    Uuid,
)


class ProposedIsr(NamedTuple):
    """The in-sync replicas that the leader of one partition wants."""

    topic_id: Uuid
    partition: int
    leader_epoch: LeaderEpoch
    partition_epoch: int
    """The one that the leader has seen: the proposal is refused when there is a newer one."""
    new_isr: tuple[IsrMember, ...]
    leader_recovery_state: int = 0
    """1: the leader came by an unclean election and still recovers."""


class AlterPartitions(NamedTuple):
    """A broker proposes in-sync replicas for partitions that it leads (KIP-497). Answered by
    `PartitionsAltered`; `KafkaError(STALE_BROKER_EPOCH)` for another incarnation."""

    token: Hashable
    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    partitions: tuple[ProposedIsr, ...]


class ElectionType(IntEnum):
    """The protocol's numbers (KIP-460)."""

    PREFERRED = 0
    UNCLEAN = 1


class PartitionsOf(NamedTuple):
    """Some partitions of one topic."""

    topic: str
    partitions: tuple[int, ...]


class ElectLeaders(NamedTuple):
    """Answered by `LeadersElected`; `KafkaError(INVALID_REQUEST)` for a type that there is not."""

    token: Hashable
    election_type: int
    """The number of an `ElectionType`, if there is one."""
    topics: tuple[PartitionsOf, ...] | None
    """None: all; those that need no election are left out of the answer then."""


class ShutDownBroker(NamedTuple):
    """A broker wants to stop: others are to lead what it leads, and it is to leave the in-sync
    replicas (controlled shutdown). Answered by `BrokerShutDown`; `KafkaError(STALE_BROKER_EPOCH)`
    for another incarnation."""

    token: Hashable
    broker_id: BrokerId
    broker_epoch: BrokerEpoch


class UnregisterBroker(NamedTuple):
    """An operator takes a broker out of the cluster's metadata. Answered by `BrokerUnregistered`;
    `KafkaError(BROKER_ID_NOT_REGISTERED)` when it is not there."""

    token: Hashable
    broker_id: BrokerId


class Reassignment(NamedTuple):
    """Where the replicas of one partition are to be."""

    partition: int
    replicas: tuple[BrokerId, ...] | None
    """None: cancel what is under way."""


class ReassignmentsOf(NamedTuple):
    """Those of one topic."""

    topic: str
    partitions: tuple[Reassignment, ...]


class AlterReassignments(NamedTuple):
    """Answered by `ReassignmentsAltered` (KIP-455)."""

    token: Hashable
    topics: tuple[ReassignmentsOf, ...]
    allow_replication_factor_change: bool = True
    """False: refuse a target of more or fewer replicas (KIP-860)."""


class ListReassignments(NamedTuple):
    """Answered by `ReassignmentsListed`."""

    token: Hashable
    topics: tuple[PartitionsOf, ...] | None
    """None: all. What does not exist is passed over."""


class AlteredPartition(NamedTuple):
    """What became of one proposal."""

    topic_id: Uuid
    partition: int
    code: ErrorCode = ErrorCode.NONE
    """With any other than NONE the rest tells nothing. NEW_LEADER_ELECTED: it was taken, and then
    another became the leader."""
    leader: BrokerId = NO_LEADER
    leader_epoch: LeaderEpoch = LeaderEpoch(-1)
    isr: tuple[BrokerId, ...] = ()
    leader_recovery_state: int = 0
    partition_epoch: int = -1


class PartitionsAltered(NamedTuple):
    """In no order that is promised: from another broker they come by topic."""

    partitions: tuple[AlteredPartition, ...]


class PartitionAnswer(NamedTuple):
    """What became of one partition of a request."""

    partition: int
    code: ErrorCode = ErrorCode.NONE
    message: str | None = None


class TopicAnswer(NamedTuple):
    """What became of those of one topic."""

    topic: str
    partitions: tuple[PartitionAnswer, ...]


class LeadersElected(NamedTuple):
    """In the order of the request; of all, every topic is there, be it without partitions."""

    topics: tuple[TopicAnswer, ...]


class BrokerShutDown(NamedTuple):
    """The broker is in controlled shutdown: it leads nothing, and is in no in-sync replicas but
    those that it is the last of."""

    remaining: tuple[TopicPartition, ...]
    """What it leads still, and others could not take over. None with our own controller: such a
    partition has no leader until the broker is back; a controller of Kafka 3.9 tells some."""


class BrokerUnregistered(NamedTuple):
    """It is not in the metadata any more."""

    broker_id: BrokerId


class ReassignmentsAltered(NamedTuple):
    """In the order of the request."""

    topics: tuple[TopicAnswer, ...]


class OngoingReassignment(NamedTuple):
    """A partition whose replicas are moving."""

    partition: int
    replicas: tuple[BrokerId, ...]
    """All, those to come and those to go among them."""
    adding: tuple[BrokerId, ...]
    removing: tuple[BrokerId, ...]


class OngoingReassignmentsOf(NamedTuple):
    """Those of one topic; there is at least one."""

    topic: str
    partitions: tuple[OngoingReassignment, ...]


class ReassignmentsListed(NamedTuple):
    """In the order of the request; of all, in the order of topics."""

    topics: tuple[OngoingReassignmentsOf, ...]


ReplicaEvent = (
    AlterPartitions
    | ElectLeaders
    | ShutDownBroker
    | UnregisterBroker
    | AlterReassignments
    | ListReassignments
)
ReplicaBody = (
    PartitionsAltered
    | LeadersElected
    | BrokerShutDown
    | BrokerUnregistered
    | ReassignmentsAltered
    | ReassignmentsListed
)
