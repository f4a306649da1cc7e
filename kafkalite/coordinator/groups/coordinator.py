"""The groups of one partition of `__consumer_offsets`: routes events to those who decide them.

Source: Kafka's `GroupCoordinatorShard`.
"""

from __future__ import annotations

from kafkalite.coordinator.groups.classic.events import Event, TransactionEnded
from kafkalite.coordinator.groups.classic.records import Record
from kafkalite.coordinator.groups.settings import GroupSettings
from kafkalite.core import Outcome
from kafkalite.types import TimestampMs

GroupOutcome = Outcome[Event, Record]


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
