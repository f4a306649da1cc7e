from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import get_args

import pytest

from kafkalite.controller.events import Body, Event, LoseBroker, StartTerm


@pytest.mark.parametrize("cls", get_args(Event))
def test_every_event_tells_who_waits_and_cannot_be_changed(cls: type) -> None:
    assert "token" in {field.name for field in fields(cls)}
    assert cls.__dataclass_params__.frozen  # type: ignore[attr-defined]  # dataclasses have it.


@pytest.mark.parametrize("cls", get_args(Body))
def test_every_answer_cannot_be_changed(cls: type) -> None:
    assert is_dataclass(cls)
    assert cls.__dataclass_params__.frozen  # type: ignore[attr-defined]  # dataclasses have it.


def test_nobody_waits_for_what_the_store_tells() -> None:
    assert {cls for cls in get_args(Event) if getattr(cls, "token", 0) is None} <= {
        LoseBroker,
        StartTerm,
    }
