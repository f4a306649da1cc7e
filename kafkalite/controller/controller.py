"""Routes events to the nouns that decide them. No rule of Kafka's stands here.

Source: Kafka's `QuorumController`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from kafkalite.controller.brokers import await_missing, lose_broker, register_broker
from kafkalite.controller.configs import adopt_configs, alter_configs
from kafkalite.controller.departures import shut_down_broker, unregister_broker
from kafkalite.controller.directories import assign_directories, fail_directories, fail_replicas
from kafkalite.controller.elections import without_leader
from kafkalite.controller.eligible_replicas import forgotten
from kafkalite.controller.events import (
    AdoptConfigs,
    AllocateProducerIds,
    AlterConfigs,
    AssignDirectories,
    Body,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    Event,
    FailDirectories,
    FailReplicas,
    FreeName,
    LoseBroker,
    RegisterBroker,
    StartTerm,
    UpdateFeatures,
)
from kafkalite.controller.features import bootstrap, update_features
from kafkalite.controller.isr_changes import alter_partitions
from kafkalite.controller.leader_elections import (
    balance_leaders,
    elect_leaders,
    elect_unclean_leaders,
    first_timers,
    next_timer,
)
from kafkalite.controller.partition_change import candidates_of
from kafkalite.controller.partitions import create_partitions
from kafkalite.controller.producer_ids import allocate
from kafkalite.controller.reassignments import alter_reassignments, list_reassignments
from kafkalite.controller.replica_events import (
    AlterPartitions,
    AlterReassignments,
    BalanceLeaders,
    ElectLeaders,
    ElectUncleanLeaders,
    ListReassignments,
    ShutDownBroker,
    UnregisterBroker,
)
from kafkalite.controller.settings import ControllerSettings
from kafkalite.controller.state import ControllerState
from kafkalite.controller.topics import create_topics, delete_topics, free_name
from kafkalite.core import Outcome, Reply, SetTimer
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import MetadataImage
from kafkalite.types import TimestampMs

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
            case CreateTopics():
                records, body = create_topics(self._state, event, settings.topics)
            case DeleteTopics():
                records, body = delete_topics(self._state, event)
            case FreeName():
                records = free_name(self._state, event)
            case CreatePartitions():
                records, body = create_partitions(image, event)
            case AlterConfigs():
                records, body = alter_configs(image, event)
            case AdoptConfigs():
                records = adopt_configs(image, event)
            case UpdateFeatures():
                records, body = update_features(image, event, settings)
            case AllocateProducerIds():
                records, body = allocate(image, event)
            case AssignDirectories():
                records, body = assign_directories(image, event)
            case FailDirectories():
                records, body = fail_directories(image, event, settings)
            case FailReplicas():
                records = fail_replicas(image, event, settings)
            case RegisterBroker():
                records, body = register_broker(image, event, settings)
            case LoseBroker():
                records = lose_broker(image, event, settings)
            case StartTerm():
                records = bootstrap(image, settings.topics.min_in_sync_replicas)
                records += forgotten(image)
                records += without_leader(image, candidates_of(image), settings)
                timers = (*await_missing(image, event, now), *first_timers(settings, now))
            case AlterPartitions():
                records, body = alter_partitions(image, event, settings)
            case ElectLeaders():
                records, body = elect_leaders(image, event, settings)
            case ShutDownBroker():
                records, body = shut_down_broker(image, event, settings)
            case UnregisterBroker():
                records, body = unregister_broker(image, event, settings)
            case AlterReassignments():
                records, body = alter_reassignments(image, event, settings)
            case ListReassignments():
                records, body = [], list_reassignments(image, event)
            case BalanceLeaders():
                records = balance_leaders(image, settings)
                timers = (next_timer(event, settings, now, elected=len(records)),)
            case ElectUncleanLeaders():
                records = elect_unclean_leaders(image, settings)
                timers = (next_timer(event, settings, now, elected=len(records)),)
            case _:
                assert_never(event)
        replies = () if event.token is None or body is None else (Reply(event.token, body),)
        return Outcome(tuple(records), replies, timers=timers)

    def apply(self, record: Change) -> None:
        """Fold one committed record in."""
        self._state.apply(record)
