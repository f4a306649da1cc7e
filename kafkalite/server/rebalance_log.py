"""Tells people why groups rebalance: one line in the log for each.

Cores do not log: this one hands on what it is asked, and then looks at what has begun.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from kafkalite.coordinator.groups.coordinator import GroupCoordinator
from kafkalite.coordinator.groups.draft import GroupOutcome
from kafkalite.coordinator.groups.events import Event
from kafkalite.coordinator.groups.log_record import JournalRecord
from kafkalite.errors import KafkaError
from kafkalite.types import TimestampMs

_log = logging.getLogger(__name__)


class LoggedGroups:
    """A coordinator and its log; see `CoordinatorCore`."""

    def __init__(self, core: GroupCoordinator) -> None:
        self._core = core
        self.apply: Callable[[JournalRecord], None] = core.apply
        """See `Core`. Not one call more, where a log of a million records is loaded."""

    def decide(self, event: Event, now: TimestampMs) -> GroupOutcome:
        """See `Core`."""
        outcome = self._core.decide(event, now)
        self._tell()
        return outcome

    def refused(
        self, records: tuple[JournalRecord, ...], error: KafkaError, now: TimestampMs
    ) -> GroupOutcome:
        """See `CoordinatorCore`."""
        outcome = self._core.refused(records, error, now)
        self._tell()
        return outcome

    def _tell(self) -> None:
        for each in self._core.take_rebalances():
            _log.info("Group %s rebalances: %s", each.group_id, each.reason)
