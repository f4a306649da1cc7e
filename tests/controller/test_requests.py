from __future__ import annotations

from typing import get_args

from kafkalite.controller.controller import Controller
from kafkalite.controller.events import RequestedEvent
from kafkalite.controller.requests import decide_request
from kafkalite.controller.settings import ControllerSettings
from kafkalite.controller.state import ControllerState
from kafkalite.metadata.image import MetadataImage
from tests.controller.sample_cluster import NOW
from tests.controller.sample_events import ANSWERS


def test_whatever_is_asked_is_decided_as_the_controller_tells() -> None:
    """Its records are applied to two states, one of them the controller's."""
    settings = ControllerSettings()
    controller, state = Controller(settings), ControllerState(MetadataImage(), ())
    asked = set()
    for event, body in ANSWERS:
        outcome = controller.decide(event, NOW)
        if isinstance(event, RequestedEvent):
            decided = decide_request(state, event, settings, NOW)
            assert type(decided.body) is (body or type(None))
            assert (tuple(decided.records), decided.timers) == (outcome.records, outcome.timers)
            asked.add(type(event))
        for record in outcome.records:
            controller.apply(record)
            state.apply(record)
    assert asked == set(get_args(RequestedEvent))
