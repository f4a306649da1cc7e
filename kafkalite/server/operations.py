"""What a client may do, as the bit fields of authorized operations tell it: bit n stands for
operation n of Kafka's `AclOperation`. Everybody may do everything."""

from __future__ import annotations

from typing import Final

TOPIC_OPERATIONS: Final = sum(1 << operation for operation in (3, 4, 5, 6, 7, 8, 10, 11))
"""Read, Write, Create, Delete, Alter, Describe, DescribeConfigs, AlterConfigs."""
GROUP_OPERATIONS: Final = sum(1 << operation for operation in (3, 6, 8, 10, 11))
"""Read, Delete, Describe, DescribeConfigs, AlterConfigs."""
CLUSTER_OPERATIONS: Final = sum(1 << operation for operation in (5, 7, 8, 9, 10, 11, 12))
"""Create, Alter, Describe, ClusterAction, DescribeConfigs, AlterConfigs, IdempotentWrite."""
NOT_ASKED: Final = -(1 << 31)
"""Stands in the field of who did not ask, or asked of what is not there."""
