"""The broker's settings about groups, as one value."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from kafkalite.config.keys import ASSIGNORS


class MigrationPolicy(Enum):
    """`group.consumer.migration.policy`: which way a group may pass between the protocols while it
    has members."""

    DISABLED = "disabled"
    DOWNGRADE = "downgrade"
    UPGRADE = "upgrade"
    BIDIRECTIONAL = "bidirectional"

    @property
    def allows_upgrade(self) -> bool:
        """From classic to consumer."""
        return self in (MigrationPolicy.UPGRADE, MigrationPolicy.BIDIRECTIONAL)

    @property
    def allows_downgrade(self) -> bool:
        """From consumer to classic."""
        return self in (MigrationPolicy.DOWNGRADE, MigrationPolicy.BIDIRECTIONAL)


class ConsumerSettings(NamedTuple):
    """About groups of the new protocol (KIP-848). Where a default is not Kafka's, see
    `docs/decisions/0014-consumer-groups.md`."""

    is_on: bool = True
    """`consumer` is one of `group.coordinator.rebalance.protocols`."""
    session_timeout_ms: int = 10_000
    """`group.consumer.session.timeout.ms`; 45000 in Kafka."""
    heartbeat_interval_ms: int = 500
    """`group.consumer.heartbeat.interval.ms`; 5000 in Kafka."""
    assignment_interval_ms: int = 0
    """`group.consumer.assignment.interval.ms`: the least time between two target assignments;
    1000 in Kafka."""
    max_size: int = (1 << 31) - 1
    """`group.consumer.max.size`."""
    assignors: tuple[str, ...] = ASSIGNORS
    """`group.consumer.assignors`, by name; the first is the default."""
    migration: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL


class GroupSettings(NamedTuple):
    """The broker's settings about groups; the names are Kafka's keys."""

    initial_rebalance_delay_ms: int = 0
    """`group.initial.rebalance.delay.ms`, which is 3000 in Kafka: see `config/broker_keys.py`."""
    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    max_size: int = (1 << 31) - 1
    """`group.max.size`."""
    offset_metadata_max_bytes: int = 4096
    """`offset.metadata.max.bytes`; counted in UTF-16 units, as Kafka does."""
    offsets_retention_ms: int = 7 * 24 * 3_600_000
    """`offsets.retention.minutes`."""
    offsets_retention_check_interval_ms: int = 600_000
    consumer: ConsumerSettings = ConsumerSettings()
