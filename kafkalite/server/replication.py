"""How a broker's replicas lead and follow: the parts of it, and when they begin and end."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kafkalite.config.views import BrokerConfig
from kafkalite.metadata.image import MetadataImage
from kafkalite.ports.clock import Clock
from kafkalite.server.isr_proposals import IsrProposals, Submit
from kafkalite.server.partition import Partition
from kafkalite.server.peers import Peers
from kafkalite.server.replica_fetchers import ReplicaFetchers
from kafkalite.server.replica_roles import ReplicaRoles
from kafkalite.server.replication_throttles import ReplicationThrottles
from kafkalite.types import NO_BROKER_EPOCH, BrokerEpoch


class Replication:
    """Of one broker of several."""

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        *,
        peers: Peers,
        submit: Submit,
        image: Callable[[], MetadataImage],
        keeps_isr_order: bool,
    ) -> None:
        """`submit` asks the controller; `image` is the newest that the broker has folded;
        `keeps_isr_order`: see `IsrProposals`."""

        def broker_epoch() -> BrokerEpoch:
            me = image().brokers.get(config.node_id)
            return NO_BROKER_EPOCH if me is None else me.epoch

        throttles = ReplicationThrottles(config.node_id)
        self._fetchers = ReplicaFetchers(
            config.node_id, peers, clock, config, throttles, broker_epoch=broker_epoch
        )
        self._proposals = IsrProposals(
            config.node_id,
            submit,
            clock,
            broker_epoch=broker_epoch,
            lag_time_max_ms=config.replica_lag_time_max_ms,
            keeps_order=keeps_isr_order,
        )
        self.roles = ReplicaRoles(
            config,
            clock,
            fetchers=self._fetchers,
            throttles=throttles,
            propose_isr=self._proposals.propose,
        )

    def start(self, partitions: Callable[[], Iterable[Partition]]) -> None:
        """Look after those that lag, from now on. `partitions`: all that are in use."""
        self._proposals.start(partitions)

    def stop(self) -> None:
        """Fetch and ask nothing more."""
        self._fetchers.stop()
        self._proposals.stop()
