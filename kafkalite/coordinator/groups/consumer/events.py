"""What a consumer group is asked and told, and what it answers: two closed unions.

`ConsumerHeartbeat` is refused with a `KafkaError`, whose message the client is told.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from enum import Enum
from typing import NamedTuple

from kafkalite.coordinator.groups.assignors.subject import Partitions
from kafkalite.errors import ErrorCode
from kafkalite.metadata.image import MetadataImage
from kafkalite.types import Uuid


class ConsumerHeartbeat(NamedTuple):
    """Answered by `ConsumerHeartbeatSeen`. What has not changed may be None."""

    token: Hashable
    group_id: str
    member_id: str
    """Drawn by the client, or empty."""
    member_epoch: int
    """0: joins, or joins again. -1: leaves. -2: a static member leaves for a while."""
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    """-1: as before."""
    topics: tuple[str, ...] | None
    regex: str | None
    assignor: str | None
    owned: Mapping[Uuid, frozenset[int]] | None
    client_id: str
    client_host: str
    """As Kafka shows it: `/127.0.0.1`."""
    new_member_id: str
    """Drawn at random, for a member that brings none."""
    must_bring_id: bool = True
    """From version 1 on."""


class DescribeConsumerGroups(NamedTuple):
    """Answered by `ConsumerGroupsDescribed`."""

    token: Hashable
    group_ids: tuple[str, ...]


class MetadataChanged(NamedTuple):
    """Topics or settings may have changed."""

    image: MetadataImage
    token: None = None


class MemberSilent(NamedTuple):
    """A member sent no heartbeat for its session timeout."""

    group_id: str
    member_id: str
    token: None = None


class RevocationTimedOut(NamedTuple):
    """A member had its rebalance timeout to give partitions up, and still is in that epoch."""

    group_id: str
    member_id: str
    member_epoch: int
    token: None = None


class AwaitedRequest(Enum):
    """What a member that speaks the classic protocol is to send."""

    JOIN = "JoinGroup"
    SYNC = "SyncGroup"


class ClassicMemberLate(NamedTuple):
    """A member had its rebalance timeout to send that."""

    group_id: str
    member_id: str
    awaited: AwaitedRequest
    token: None = None


ConsumerEvent = (
    ConsumerHeartbeat
    | DescribeConsumerGroups
    | MetadataChanged
    | MemberSilent
    | RevocationTimedOut
    | ClassicMemberLate
)


class ConsumerHeartbeatSeen(NamedTuple):
    """Where the member stands."""

    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int = 0
    """0 for one who leaves."""
    assigned: Partitions | None = None
    """None: as before."""


class DescribedPartitions(NamedTuple):
    """Some partitions of a topic."""

    topic_id: Uuid
    topic: str
    partitions: tuple[int, ...]


class DescribedConsumer(NamedTuple):
    """A member."""

    member_id: str
    instance_id: str | None
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    topics: tuple[str, ...]
    regex: str
    assigned: tuple[DescribedPartitions, ...]
    target: tuple[DescribedPartitions, ...]
    is_classic: bool = False
    """It speaks the classic protocol."""


class DescribedConsumerGroup(NamedTuple):
    """A group, in Kafka's words for states; or why there is none."""

    group_id: str
    state: str = ""
    epoch: int = 0
    assignment_epoch: int = 0
    assignor: str = ""
    members: tuple[DescribedConsumer, ...] = ()
    code: ErrorCode = ErrorCode.NONE
    message: str | None = None
    last_rebalance: str = ""
    """Why, of a group of any kind; empty where that is not known."""
    last_rebalance_ms: int = -1


class ConsumerGroupsDescribed(NamedTuple):
    """In the order of the request."""

    groups: tuple[DescribedConsumerGroup, ...]


ConsumerBody = ConsumerHeartbeatSeen | ConsumerGroupsDescribed
