"""All that this broker follows, by leader: partitions move from one fetcher to another as the
metadata says.

Kafka differs: it shares the partitions of one leader among `num.replica.fetchers` threads. Here one
fetch after the other has them all; they would run on the same processor.

Source: Kafka's `ReplicaFetcherManager`.
"""

from __future__ import annotations

from collections.abc import Callable

from kafkalite.config.views import BrokerConfig
from kafkalite.ports.clock import Clock
from kafkalite.server.followed_partition import FollowedPartition
from kafkalite.server.partition import Partition
from kafkalite.server.peers import Peers
from kafkalite.server.replica_fetcher import ReplicaFetcher
from kafkalite.server.replication_throttles import ReplicationThrottles
from kafkalite.types import BrokerEpoch, BrokerId


class ReplicaFetchers:
    """Of one broker; see `replica_roles.Fetchers`."""

    def __init__(
        self,
        broker_id: BrokerId,
        peers: Peers,
        clock: Clock,
        config: BrokerConfig,
        throttles: ReplicationThrottles,
        *,
        broker_epoch: Callable[[], BrokerEpoch],
    ) -> None:
        """`broker_epoch`: this broker's own, as it is registered now."""
        self._broker_id = broker_id
        self._peers = peers
        self._clock = clock
        self._config = config
        self._throttles = throttles
        self._broker_epoch = broker_epoch
        self._fetchers: dict[BrokerId, ReplicaFetcher] = {}
        self._followed: dict[Partition, FollowedPartition] = {}

    def follow(self, partition: Partition) -> None:
        """See `replica_roles.Fetchers`."""
        core = partition.follower
        assert core is not None, "a partition that is followed knows whom it follows"
        before = self._followed.get(partition)
        if before is not None and before.core.leader != core.leader:
            self.leave(partition)
        followed = FollowedPartition(
            partition, core, self._throttles, max_bytes=self._config.replica_fetch_max_bytes
        )
        self._followed[partition] = followed
        self._fetcher(core.leader).follow(followed)

    def leave(self, partition: Partition) -> None:
        """See `replica_roles.Fetchers`."""
        followed = self._followed.pop(partition, None)
        if followed is None:
            return
        fetcher = self._fetchers[followed.core.leader]
        fetcher.leave(followed.key)
        if not len(fetcher):
            fetcher.stop()
            del self._fetchers[followed.core.leader]

    def stop(self) -> None:
        """Fetch nothing more."""
        for fetcher in self._fetchers.values():
            fetcher.stop()
        self._fetchers.clear()
        self._followed.clear()

    def _fetcher(self, leader: BrokerId) -> ReplicaFetcher:
        fetcher = self._fetchers.get(leader)
        if fetcher is None:
            fetcher = self._fetchers[leader] = ReplicaFetcher(
                leader,
                self._broker_id,
                broker_epoch=self._broker_epoch,
                peers=self._peers,
                clock=self._clock,
                config=self._config,
            )
        return fetcher
