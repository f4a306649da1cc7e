"""Sends consumers that tell their rack to a replica in it, with
`replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector` (KIP-392).

Followers that count are in sync, have the offset, and the listener that the consumer came in by; of
several in a rack the one with most, then the one that caught up last. Only leaders send consumers
away: who has come to a follower is served there.

Kafka differs: it loads selectors that are classes of the user's own; here consumers read from the
leader then.

Source: Kafka's `ReplicaManager.findPreferredReadReplica`.
"""

from __future__ import annotations

from kafkalite.replica.read_replica import RACK_AWARE, ReplicaView, nearest_replica
from kafkalite.server.addresses import nodes
from kafkalite.server.partition import Partition
from kafkalite.server.request import RequestContext
from kafkalite.types import BrokerId


class PreferredReplicas:
    """What one fetch needs to choose by, gathered once."""

    __slots__ = ("_leader", "_rack", "_racks")

    def __init__(self, ctx: RequestContext, rack: str) -> None:
        self._leader = ctx.services.broker_id
        self._rack = rack
        self._racks = {node.broker_id: node.rack for node in nodes(ctx)}

    @classmethod
    def of(cls, ctx: RequestContext, rack: str) -> PreferredReplicas | None:
        """None where every consumer of this kind reads from the leader."""
        if not rack or ctx.services.config.replica_selector_class != RACK_AWARE:
            return None
        return cls(ctx, rack)

    def choose(self, partition: Partition, offset: int) -> BrokerId | None:
        """The follower to read from; None: this broker."""
        leader = partition.leader
        if leader is None or offset < partition.log.log_start_offset:
            return None
        return nearest_replica(
            self._rack,
            ReplicaView(self._leader, self._racks.get(self._leader), leader.end_offset),
            (
                ReplicaView(id, self._racks.get(id), follower.end_offset, follower.caught_up_ms)
                for id, follower in leader.followers_with(offset).items()
            ),
        )
