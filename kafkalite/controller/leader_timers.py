"""When the controller looks for leaders by itself, and not because somebody comes, goes or asks:
`leader_elections.py` is what it does then.

Source: see there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.controller.settings import ControllerSettings
from kafkalite.controller.term_events import BalanceLeaders, ElectUncleanLeaders, LeaderTimer
from kafkalite.core import SetTimer
from kafkalite.types import TimestampMs

if TYPE_CHECKING:
    from kafkalite.controller.events import Event

MAX_ELECTIONS_AT_ONCE = 1_000
"""By time; the others follow at once."""


def first_timers(settings: ControllerSettings, now: TimestampMs) -> tuple[SetTimer[Event], ...]:
    """Of a new term."""
    timers = [next_timer(ElectUncleanLeaders(), settings, now, elected=0)]
    if settings.leader_balance_interval_ms is not None:
        timers.append(_timer(BalanceLeaders(), TimestampMs(now + settings.first_balance_ms)))
    return tuple(timers)


def next_timer(
    event: LeaderTimer, settings: ControllerSettings, now: TimestampMs, *, elected: int
) -> SetTimer[Event]:
    """When the same is to be done again: at once after as many elections as there may be."""
    if elected == MAX_ELECTIONS_AT_ONCE:
        wait_ms = 0
    elif isinstance(event, ElectUncleanLeaders):
        wait_ms = settings.unclean_election_interval_ms
    else:
        assert settings.leader_balance_interval_ms is not None, "leaders are not balanced"
        wait_ms = settings.leader_balance_interval_ms
    return _timer(event, TimestampMs(now + wait_ms))


def _timer(event: LeaderTimer, at_ms: TimestampMs) -> SetTimer[Event]:
    return SetTimer(type(event).__name__, at_ms, event)
