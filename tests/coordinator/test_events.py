from __future__ import annotations

from typing import get_args

import pytest

from kafkalite.coordinator.groups.classic.events import (
    InitialDelayOver,
    JoinTimedOut,
    Loaded,
    MemberDisconnected,
    SessionTimedOut,
    SyncTimedOut,
)
from kafkalite.coordinator.groups.consumer.events import (
    ClassicMemberLate,
    MemberSilent,
    MetadataChanged,
    RevocationTimedOut,
)
from kafkalite.coordinator.groups.events import Body, Event
from kafkalite.coordinator.groups.offset_events import ExpireOffsets, TopicsDeleted


@pytest.mark.parametrize("cls", get_args(Event))
def test_every_event_tells_who_waits(cls: type[Loaded]) -> None:
    assert "token" in cls._fields


@pytest.mark.parametrize("cls", [*get_args(Event), *get_args(Body)])
def test_events_and_answers_cannot_be_changed(cls: type[Loaded]) -> None:
    event = cls._make(cls._fields)
    with pytest.raises(AttributeError):
        setattr(event, cls._fields[0], "other")


def test_nobody_waits_for_timers() -> None:
    silent = {cls for cls in get_args(Event) if cls._field_defaults.get("token", 0) is None}
    assert silent == {
        ClassicMemberLate,
        ExpireOffsets,
        InitialDelayOver,
        JoinTimedOut,
        Loaded,
        MemberDisconnected,
        MemberSilent,
        MetadataChanged,
        RevocationTimedOut,
        SessionTimedOut,
        SyncTimedOut,
        TopicsDeleted,
    }
