"""Which replica a consumer is sent to that tells its rack (KIP-392).

Source: Kafka's `RackAwareReplicaSelector` and `ReplicaView`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from kafkalite.types import BrokerId, Offset, TimestampMs

RACK_AWARE: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""What `replica.selector.class` names it by."""


class ReplicaView(NamedTuple):
    """A replica that has what is asked for."""

    broker_id: BrokerId
    rack: str | None
    end_offset: Offset
    caught_up_ms: TimestampMs = TimestampMs(0)
    """When it last had all; the later the better."""


def nearest_replica(
    rack: str, leader: ReplicaView, followers: Iterable[ReplicaView]
) -> BrokerId | None:
    """The follower in that rack which has most; None: the leader, who is in it, or none is."""
    if not rack or leader.rack == rack:
        return None
    near = [follower for follower in followers if follower.rack == rack]
    if not near:
        return None
    return max(
        near, key=lambda each: (each.end_offset, each.caught_up_ms, each.broker_id)
    ).broker_id
