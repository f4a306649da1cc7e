from __future__ import annotations

import subprocess
import sys
from typing import get_args

from kafkalite.controller.events import Event, RequestedEvent
from kafkalite.controller.term_events import (
    BrokerRegistered,
    LeaderTimer,
    LoseBroker,
    RegisterBroker,
    StartTerm,
)

BEGUN = """
import sys
from kafkalite.controller.controller import Controller
from kafkalite.controller.term_events import RegisterBroker, StartTerm
from kafkalite.controller.features import SUPPORTED
from kafkalite.metadata.store import BrokerRegistration
controller = Controller()
features = tuple(SUPPORTED.items())
registration = BrokerRegistration(1, bytes(16), (), features)
for event in (StartTerm((1,)), RegisterBroker(None, registration, 1)):
    for record in controller.decide(event, 0).records:
        controller.apply(record)
assert list(controller.image.brokers) == [1]
print(*(name for name in sys.modules if name.startswith("kafkalite.controller.")))
"""


def test_they_are_among_the_events() -> None:
    assert set(get_args(Event)) - set(get_args(RequestedEvent)) == {
        StartTerm,
        RegisterBroker,
        LoseBroker,
    }
    assert set(get_args(LeaderTimer)) < set(get_args(RequestedEvent))
    assert BrokerRegistered not in get_args(Event)


def test_a_term_begins_without_the_others() -> None:
    """Each of them costs a start a tenth of a millisecond, and what decides them more."""
    command = [sys.executable, "-c", BEGUN]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "kafkalite.controller.term_events" in loaded
    late = ("events", "replica_events", "requests", "topics", "configs", "leader_elections")
    assert not {f"kafkalite.controller.{name}" for name in late} & set(loaded)
