from __future__ import annotations

from kafkalite.controller.leader_timers import MAX_ELECTIONS_AT_ONCE, first_timers, next_timer
from kafkalite.controller.settings import ControllerSettings
from kafkalite.controller.term_events import BalanceLeaders, ElectUncleanLeaders
from kafkalite.core import SetTimer
from kafkalite.types import TimestampMs
from tests.controller.sample_cluster import NOW


def test_a_term_starts_the_timers() -> None:
    settings = ControllerSettings(
        leader_balance_interval_ms=7_000, first_balance_ms=5_000, unclean_election_interval_ms=9_000
    )
    unclean = SetTimer("ElectUncleanLeaders", TimestampMs(NOW + 9_000), ElectUncleanLeaders())
    balance = SetTimer("BalanceLeaders", TimestampMs(NOW + 5_000), BalanceLeaders())
    assert first_timers(settings, NOW) == (unclean, balance)
    assert next_timer(BalanceLeaders(), settings, NOW, elected=0).at_ms == NOW + 7_000
    assert first_timers(settings._replace(leader_balance_interval_ms=None), NOW) == (unclean,)


def test_after_as_many_as_there_may_be_the_others_follow_at_once() -> None:
    settings = ControllerSettings(leader_balance_interval_ms=7_000)
    for event in (BalanceLeaders(), ElectUncleanLeaders()):
        most = next_timer(event, settings, NOW, elected=MAX_ELECTIONS_AT_ONCE)
        fewer = next_timer(event, settings, NOW, elected=MAX_ELECTIONS_AT_ONCE - 1)
        assert most.at_ms == NOW < fewer.at_ms
