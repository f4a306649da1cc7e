"""The APIs that brokers serve each other, and no client is told of, in key order. A broker that is
a cluster of its own has none of them."""

from __future__ import annotations

from typing import Final

from kafkalite.protocol.api_keys import ApiKey
from kafkalite.server.apis.table import ApiTable

CLUSTER_APIS: Final = ApiTable(
    (
        ApiKey.LEADER_AND_ISR,  # 4
        ApiKey.STOP_REPLICA,  # 5
        ApiKey.UPDATE_METADATA,  # 6
        ApiKey.CONTROLLED_SHUTDOWN,  # 7
        ApiKey.ALTER_PARTITION,  # 56
        ApiKey.ENVELOPE,  # 58
        ApiKey.BROKER_HEARTBEAT,  # 63
        ApiKey.ALLOCATE_PRODUCER_IDS,  # 67
        ApiKey.ASSIGN_REPLICAS_TO_DIRS,  # 73
    )
)
