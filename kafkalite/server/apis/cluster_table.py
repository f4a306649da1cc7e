"""The APIs that brokers serve each other, and no client is told of, in key order. A broker that is
a cluster of its own has none of them."""

from __future__ import annotations

from kafkalite.server.apis import (
    allocate_producer_ids,
    alter_partition,
    assign_replicas_to_dirs,
    broker_heartbeat,
    controlled_shutdown,
    envelope,
    leader_and_isr,
    stop_replica,
    update_metadata,
)
from kafkalite.server.apis.api import ApiModule

CLUSTER_APIS: tuple[ApiModule, ...] = (
    leader_and_isr,  # 4
    stop_replica,  # 5
    update_metadata,  # 6
    controlled_shutdown,  # 7
    alter_partition,  # 56
    envelope,  # 58
    broker_heartbeat,  # 63
    allocate_producer_ids,  # 67
    assign_replicas_to_dirs,  # 73
)
