"""Which replicas a client can reach, and whom it is told to be the leader.

Source: Kafka's `KRaftMetadataCache` (getPartitionMetadata, isReplicaOffline).
"""

from __future__ import annotations

from typing import NamedTuple

from kafkalite.errors import ErrorCode
from kafkalite.metadata.image import MetadataImage, PartitionImage
from kafkalite.types import NO_LEADER, BrokerId, Uuid


class Leader(NamedTuple):
    """Of a partition, as a client is told."""

    code: ErrorCode
    id: BrokerId
    """`NO_LEADER` with every code but NONE."""


class Availability(NamedTuple):
    """The brokers of one image, as the clients of one listener see them."""

    known: frozenset[BrokerId]
    """Registered, be it fenced."""
    named: frozenset[BrokerId]
    """Of those: that have the listener."""
    online: frozenset[BrokerId]
    """Of those: that are not fenced."""
    log_dirs: dict[BrokerId, tuple[Uuid, ...]]
    folders: frozenset[Uuid]
    """All of these; none where nobody tells of theirs."""
    without_listener: ErrorCode
    """What is told of a leader that lacks the listener."""

    def leader(self, partition: PartitionImage) -> Leader:
        """LEADER_NOT_AVAILABLE while nobody leads, or whoever led is gone."""
        leader = partition.leader
        if leader in self.named:
            return Leader(ErrorCode.NONE, leader)
        if leader in self.known:
            return Leader(self.without_listener, NO_LEADER)
        return Leader(ErrorCode.LEADER_NOT_AVAILABLE, NO_LEADER)

    def offline(self, partition: PartitionImage) -> list[int]:
        """Replicas that cannot be reached, or whose log folder has failed, in their order."""
        if self.online.issuperset(partition.replicas) and (
            not self.folders or self.folders.issuperset(partition.directories)
        ):
            return []  # As nearly always: it is asked of each partition that a client is told of.
        return [
            id
            for id in partition.replicas
            if id not in self.online
            or (self.folders and partition.is_offline(id, self.log_dirs[id]))
        ]


def availability(
    image: MetadataImage,
    listener: str,
    *,
    without_listener: ErrorCode = ErrorCode.LISTENER_NOT_FOUND,
) -> Availability:
    """To clients of that listener. Those of Metadata before version 6 know no LISTENER_NOT_FOUND:
    `without_listener` is LEADER_NOT_AVAILABLE for them."""
    named = [
        broker
        for broker in image.brokers.values()
        if any(endpoint.name == listener for endpoint in broker.endpoints)
    ]
    return Availability(
        known=frozenset(image.brokers),
        named=frozenset(broker.id for broker in named),
        online=frozenset(broker.id for broker in named if not broker.fenced),
        log_dirs={broker.id: broker.log_dirs for broker in named},
        folders=frozenset(folder for broker in named for folder in broker.log_dirs),
        without_listener=without_listener,
    )
