"""Routes events to the nouns that decide them. No rule of Kafka's stands here. What is asked, and
not part of every term, `requests.py` routes further.

Source: Kafka's `QuorumController`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kafkalite.controller.brokers import await_missing, lose_broker, register_broker
from kafkalite.controller.elections import without_leader
from kafkalite.controller.eligible_replicas import forgotten
from kafkalite.controller.features import bootstrap
from kafkalite.controller.leader_timers import first_timers
from kafkalite.controller.partition_change import candidates_of
from kafkalite.controller.settings import ControllerSettings
from kafkalite.controller.state import ControllerState
from kafkalite.controller.term_events import LoseBroker, RegisterBroker, StartTerm
from kafkalite.core import Outcome, Reply, SetTimer
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import MetadataImage
from kafkalite.types import TimestampMs

if TYPE_CHECKING:
    from kafkalite.controller.events import Body, Event

    ControllerOutcome = Outcome[Event, Change]


class Controller:
    """The event-sourced core: `decide` reads, `apply` writes (see `kafkalite/core.py`)."""

    def __init__(
        self,
        settings: ControllerSettings | None = None,
        image: MetadataImage | None = None,
        going: Iterable[str] = (),
    ) -> None:
        """`image` is what the log has made so far: an empty one when None; `going`: names of
        topics that are deleted, and taken still."""
        self._settings = settings or ControllerSettings()
        self._state = ControllerState(
            image or MetadataImage(), going, keeps_names=self._settings.over_zookeeper
        )

    @property
    def image(self) -> MetadataImage:
        """What the applied records made."""
        return self._state.image

    def decide(self, event: Event, now: TimestampMs) -> ControllerOutcome:
        """Records and the reply. `KafkaError` refuses the event as a whole."""
        records: list[Change]
        body: Body | None = None
        timers: tuple[SetTimer[Event], ...] = ()
        image, settings = self._state.image, self._settings
        match event:
            case RegisterBroker():
                records, body = register_broker(image, event, settings)
            case LoseBroker():
                records = lose_broker(image, event, settings)
            case StartTerm():
                records = bootstrap(image, settings.topics.min_in_sync_replicas)
                records += forgotten(image)
                records += without_leader(image, candidates_of(image), settings)
                timers = (*await_missing(image, event, now), *first_timers(settings, now))
            case _:
                # All that a broker or a client asks for: a start needs none of it.
                from kafkalite.controller.requests import decide_request

                records, body, timers = decide_request(self._state, event, settings, now)
        replies = () if event.token is None or body is None else (Reply(event.token, body),)
        return Outcome(tuple(records), replies, timers=timers)

    def apply(self, record: Change) -> None:
        """Fold one committed record in."""
        self._state.apply(record)
