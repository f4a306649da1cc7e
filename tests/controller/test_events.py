from __future__ import annotations

from typing import get_args

import pytest

from kafkalite.controller.events import (
    AdoptConfigs,
    AdoptCredentials,
    Body,
    Event,
    FailReplicas,
    FreeName,
)
from kafkalite.controller.term_events import (
    BalanceLeaders,
    ElectUncleanLeaders,
    LoseBroker,
    StartTerm,
)


@pytest.mark.parametrize("cls", get_args(Event))
def test_every_event_tells_who_waits(cls: type[LoseBroker]) -> None:
    assert "token" in cls._fields


@pytest.mark.parametrize("cls", [cls for cls in (*get_args(Event), *get_args(Body)) if cls._fields])
def test_events_and_answers_cannot_be_changed(cls: type[LoseBroker]) -> None:
    event = cls._make(cls._fields)
    with pytest.raises(AttributeError):
        setattr(event, next(iter(cls._fields), "any"), "other")


def test_nobody_waits_for_what_the_store_and_timers_tell() -> None:
    silent = {cls for cls in get_args(Event) if cls._field_defaults.get("token", 0) is None}
    assert silent == {
        LoseBroker,
        StartTerm,
        BalanceLeaders,
        ElectUncleanLeaders,
        FailReplicas,
        FreeName,
        AdoptConfigs,
        AdoptCredentials,
    }
