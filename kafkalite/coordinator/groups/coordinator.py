"""The groups of one partition of `__consumer_offsets`: routes events to those who decide them.

Source: Kafka's `GroupCoordinatorShard`.
"""

from __future__ import annotations

from typing import NamedTuple

from kafkalite.core import Outcome
from kafkalite.coordinator.groups.classic.events import Event, TransactionEnded
from kafkalite.coordinator.groups.classic.records import Record
from kafkalite.types import TimestampMs

GroupOutcome = Outcome[Event, Record]


class GroupSettings(NamedTuple):
    """The broker's settings about groups; the names are Kafka's keys."""

    initial_rebalance_delay_ms: int = 0
    """`group.initial.rebalance.delay.ms`. Kafka differs: 3000."""
    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    max_size: int = (1 << 31) - 1
    """`group.max.size`."""
    offset_metadata_max_bytes: int = 4096
    """`offset.metadata.max.bytes`; counted in UTF-16 units, as Kafka does."""
    offsets_retention_ms: int = 7 * 24 * 3_600_000
    """`offsets.retention.minutes`."""
    offsets_retention_check_interval_ms: int = 600_000


class GroupCoordinator:
    """The event-sourced core: `decide` reads, `apply` writes (see `kafkalite/core.py`)."""

    def __init__(self, settings: GroupSettings | None = None) -> None:
        """Without groups: `apply` the log, then decide on `Loaded`."""
        self._settings = settings or GroupSettings()

    def decide(self, event: Event, now: TimestampMs) -> GroupOutcome:
        """Records, replies (of this request or of others that waited) and timers."""
        raise NotImplementedError

    def apply(self, record: Record | TransactionEnded) -> None:
        """Fold one record of the log in, or the end of a transaction."""
        raise NotImplementedError
