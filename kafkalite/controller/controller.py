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
)
from kafkalite.controller.features import bootstrap
from kafkalite.controller.isr_changes import alter_partitions
from kafkalite.controller.partitions import create_partitions
from kafkalite.controller.producer_ids import allocate
from kafkalite.controller.replica_events import (
    AlterPartitions,
    AlterReassignments,
    ElectLeaders,
    ListReassignments,
    ShutDownBroker,
    UnregisterBroker,
)
from kafkalite.controller.settings import ControllerSettings
from kafkalite.controller.state import ControllerState
from kafkalite.controller.topics import create_topics, delete_topics
from kafkalite.core import Outcome, Reply, SetTimer
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import MetadataImage
from kafkalite.types import TimestampMs

ControllerOutcome = Outcome[Event, Change]


class Controller:
    """The event-sourced core: `decide` reads, `apply` writes (see `kafkalite/core.py`)."""

    def __init__(
        self, settings: ControllerSettings | None = None, image: MetadataImage | None = None
    ) -> None:
        """`image` is what the log has made so far: an empty one when None."""
        self._settings = settings or ControllerSettings()
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
                records, body = create_topics(self._state, event, self._settings.topics)
            case DeleteTopics():
                records, body = delete_topics(self._state, event)
            case CreatePartitions():
                records, body = create_partitions(self._state.image, event)
            case AlterConfigs():
                records, body = alter_configs(self._state.image, event)
            case AllocateProducerIds():
                records, body = allocate(self._state.image, event)
            case AssignDirectories():
                records, body = assign_directories(self._state.image, event)
            case FailDirectories():
                records, body = fail_directories(self._state.image, event, self._settings)
            case RegisterBroker():
                records, body = register_broker(self._state.image, event, self._settings)
            case LoseBroker():
                records = lose_broker(self._state.image, event, self._settings)
            case StartTerm():
                min_in_sync = self._settings.topics.min_in_sync_replicas
                records = bootstrap(self._state.image, min_in_sync)
                timers = await_missing(self._state.image, event, now)
            case AlterPartitions():
                records, body = alter_partitions(self._state.image, event, self._settings)
            case (
                ElectLeaders()
                | ShutDownBroker()
                | UnregisterBroker()
                | AlterReassignments()
                | ListReassignments()
            ):
                raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
            case _:
                assert_never(event)
        replies = () if event.token is None or body is None else (Reply(event.token, body),)
        return Outcome(tuple(records), replies, timers=timers)

    def apply(self, record: Change) -> None:
        """Fold one committed record in."""
        self._state.apply(record)
