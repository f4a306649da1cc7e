"""Routes events to the nouns that decide them. No rule of Kafka's stands here.

Source: Kafka's `QuorumController`.
"""

from __future__ import annotations

from typing import assert_never

from kafkalite.controller.brokers import await_missing, lose_broker, register_broker
from kafkalite.controller.configs import alter_configs
from kafkalite.controller.directories import assign_directories, fail_directories
from kafkalite.controller.events import (
    AllocateProducerIds,
    AlterConfigs,
    AssignDirectories,
    Body,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    Event,
    FailDirectories,
    LoseBroker,
    RegisterBroker,
    StartTerm,
    UpdateFeatures,
)
from kafkalite.controller.features import bootstrap, update_features
from kafkalite.controller.partitions import create_partitions
from kafkalite.controller.producer_ids import allocate
from kafkalite.controller.state import ControllerState
from kafkalite.controller.topics import TopicDefaults, create_topics, delete_topics
from kafkalite.core import Outcome, Reply, SetTimer
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import MetadataImage
from kafkalite.types import TimestampMs

ControllerOutcome = Outcome[Event, Change]


class Controller:
    """The event-sourced core: `decide` reads, `apply` writes (see `kafkalite/core.py`)."""

    def __init__(
        self, defaults: TopicDefaults | None = None, image: MetadataImage | None = None
    ) -> None:
        """`image` is what the log has made so far: an empty one when None."""
        self._defaults = defaults or TopicDefaults()
        self._state = ControllerState(image or MetadataImage())

    @property
    def image(self) -> MetadataImage:
        """What the applied records made."""
        return self._state.image

    def decide(self, event: Event, now: TimestampMs) -> ControllerOutcome:
        """Records and the reply. `KafkaError` refuses the event as a whole."""
        records: list[Change]
        body: Body | None = None
        timers: tuple[SetTimer[Event], ...] = ()
        match event:
            case CreateTopics():
                records, body = create_topics(self._state, event, self._defaults)
            case DeleteTopics():
                records, body = delete_topics(self._state, event)
            case CreatePartitions():
                records, body = create_partitions(self._state.image, event)
            case AlterConfigs():
                records, body = alter_configs(self._state.image, event)
            case UpdateFeatures():
                records, body = update_features(self._state.image, event)
            case AllocateProducerIds():
                records, body = allocate(self._state.image, event)
            case AssignDirectories():
                records, body = assign_directories(self._state.image, event)
            case FailDirectories():
                records, body = fail_directories(self._state.image, event)
            case RegisterBroker():
                records, body = register_broker(self._state.image, event)
            case LoseBroker():
                records = lose_broker(self._state.image, event)
            case StartTerm():
                records = bootstrap(self._state.image, self._defaults.min_in_sync_replicas)
                timers = await_missing(self._state.image, event, now)
            case _:
                assert_never(event)
        replies = () if event.token is None or body is None else (Reply(event.token, body),)
        return Outcome(tuple(records), replies, timers=timers)

    def apply(self, record: Change) -> None:
        """Fold one committed record in."""
        self._state.apply(record)
