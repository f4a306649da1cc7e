"""What each replica of this broker is: it leads or follows, as the metadata says.

Source: Kafka's `Partition.makeLeader` and `makeFollower`, `ReplicaManager.applyLocalLeadersDelta`
and `applyLocalFollowersDelta`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kafkalite.config.views import BrokerConfig
from kafkalite.metadata.image import MetadataImage, PartitionImage
from kafkalite.ports.clock import Clock
from kafkalite.replica.follower import PartitionFollower
from kafkalite.replica.isr_proposal import IsrProposal
from kafkalite.replica.leader import PartitionLeader
from kafkalite.server.partition import Partition
from kafkalite.server.replication_throttles import ReplicationThrottles
from kafkalite.types import NO_LEADER, BrokerEpoch, BrokerId


class Fetchers(Protocol):
    """Whoever fetches for followers."""

    def follow(self, partition: Partition) -> None:
        """Fetch it from now on as its `follower` says; called anew for another leader or epoch."""
        ...

    def leave(self, partition: Partition) -> None:
        """Fetch it no more, if it was fetched."""
        ...


class _NoFetchers:
    """Of a broker that is alone."""

    def follow(self, partition: Partition) -> None:
        """See `Fetchers`."""

    def leave(self, partition: Partition) -> None:
        """See `Fetchers`."""


class ReplicaRoles:
    """Of one broker."""

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        *,
        fetchers: Fetchers | None = None,
        throttles: ReplicationThrottles | None = None,
        propose_isr: Callable[[Partition, IsrProposal], None] | None = None,
    ) -> None:
        """Without `fetchers` nothing is followed: the broker is alone."""
        self._broker_id = config.node_id
        self._clock = clock
        self._config = config
        self._fetchers = fetchers or _NoFetchers()
        self._propose_isr = propose_isr
        self.throttles = throttles or ReplicationThrottles(config.node_id)
        """What slows copies down."""
        self._active: dict[BrokerId, BrokerEpoch] = {}
        """Shared by all leaders: see `ActiveBrokers`."""

    def follow_brokers(self, image: MetadataImage) -> None:
        """Brokers came, went, or were fenced."""
        self._active.clear()
        self._active.update(
            (broker.id, broker.epoch) for broker in image.brokers.values() if broker.active
        )

    def take(self, partition: Partition, image: PartitionImage) -> None:
        """Have the replica be what the metadata says. `OSError` when the disk does not take the
        new leader epoch."""
        if image.leader == self._broker_id:
            self._lead(partition, image)
            return
        follower = partition.follower
        if (
            follower is None
            or follower.leader != image.leader
            or follower.leader_epoch != image.leader_epoch
        ):
            self._follow(partition, image)

    def leave(self, partition: Partition) -> None:
        """It is none any more, or is out of use."""
        self._fetchers.leave(partition)
        partition.resign()

    def _lead(self, partition: Partition, image: PartitionImage) -> None:
        now = self._clock.now_ms()
        leader, isr = partition.leader, image.isr
        if leader is not None and leader.leader_epoch == image.leader_epoch:
            if leader.change(
                partition_epoch=image.partition_epoch, replicas=image.replicas, isr=isr, now=now
            ):
                partition.isr_changed()
            partition.review_isr(now)
            return
        partition.log.begin_epoch(image.leader_epoch)
        end = partition.settled_end
        if leader is not None:
            leader.begin(
                image.leader_epoch,
                partition_epoch=image.partition_epoch,
                replicas=image.replicas,
                isr=isr,
                end_offset=max(end, leader.end_offset),
                now=now,
            )
            partition.epoch_changed()
            return
        self._fetchers.leave(partition)
        partition.propose_isr = self._propose_isr
        partition.become_leader(
            PartitionLeader(
                self._broker_id,
                leader_epoch=image.leader_epoch,
                partition_epoch=image.partition_epoch,
                replicas=image.replicas,
                isr=isr,
                end_offset=end,
                high_watermark=min(partition.high_watermark, end),
                min_in_sync=partition.config.min_insync_replicas,
                active=self._active,
                lag_time_max_ms=self._config.replica_lag_time_max_ms,
                now=now,
            )
        )

    def _follow(self, partition: Partition, image: PartitionImage) -> None:
        partition.follow(
            PartitionFollower(
                image.leader, image.leader_epoch, backoff_ms=self._config.replica_fetch_backoff_ms
            )
        )
        if image.leader == NO_LEADER:
            self._fetchers.leave(partition)
        else:
            self._fetchers.follow(partition)
