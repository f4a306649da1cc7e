"""Routes what the controller is asked, and does by time, to the nouns that decide it: the other
half of `controller.py`, which loads it with the first of these.
"""

from __future__ import annotations

from typing import NamedTuple, assert_never

from kafkalite.controller.configs import adopt_configs, alter_configs
from kafkalite.controller.departures import shut_down_broker, unregister_broker
from kafkalite.controller.directories import assign_directories, fail_directories, fail_replicas
from kafkalite.controller.events import (
    AdoptConfigs,
    AdoptCredentials,
    AllocateProducerIds,
    AlterConfigs,
    AlterScramCredentials,
    AssignDirectories,
    Body,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    Event,
    FailDirectories,
    FailReplicas,
    FreeName,
    RequestedEvent,
    UpdateFeatures,
)
from kafkalite.controller.features import update_features
from kafkalite.controller.isr_changes import alter_partitions
from kafkalite.controller.leader_elections import (
    balance_leaders,
    elect_leaders,
    elect_unclean_leaders,
)
from kafkalite.controller.leader_timers import next_timer
from kafkalite.controller.partitions import create_partitions
from kafkalite.controller.producer_ids import allocate
from kafkalite.controller.reassignments import alter_reassignments, list_reassignments
from kafkalite.controller.replica_events import (
    AlterPartitions,
    AlterReassignments,
    ElectLeaders,
    ListReassignments,
    ShutDownBroker,
    UnregisterBroker,
)
from kafkalite.controller.scram import adopt_credentials, alter_scram_credentials
from kafkalite.controller.settings import ControllerSettings
from kafkalite.controller.state import ControllerState
from kafkalite.controller.term_events import BalanceLeaders, ElectUncleanLeaders
from kafkalite.controller.topics import create_topics, delete_topics, free_name
from kafkalite.core import SetTimer
from kafkalite.metadata.changes import Change
from kafkalite.types import TimestampMs


class Decided(NamedTuple):
    """What follows from one of them."""

    records: list[Change]
    body: Body | None
    """None: nobody waits for an answer."""
    timers: tuple[SetTimer[Event], ...] = ()


def decide_request(
    state: ControllerState, event: RequestedEvent, settings: ControllerSettings, now: TimestampMs
) -> Decided:
    """`KafkaError` refuses the event as a whole."""
    image = state.image
    match event:
        case CreateTopics():
            return Decided(*create_topics(state, event, settings.topics))
        case DeleteTopics():
            return Decided(*delete_topics(state, event))
        case FreeName():
            return Decided(free_name(state, event), None)
        case CreatePartitions():
            return Decided(*create_partitions(image, event))
        case AlterConfigs():
            return Decided(*alter_configs(image, event))
        case AdoptConfigs():
            return Decided(adopt_configs(image, event), None)
        case AdoptCredentials():
            return Decided(adopt_credentials(image, event), None)
        case UpdateFeatures():
            return Decided(*update_features(image, event, settings))
        case AllocateProducerIds():
            return Decided(*allocate(image, event))
        case AlterScramCredentials():
            return Decided(*alter_scram_credentials(image, event, settings))
        case AssignDirectories():
            return Decided(*assign_directories(image, event))
        case FailDirectories():
            return Decided(*fail_directories(image, event, settings))
        case FailReplicas():
            return Decided(fail_replicas(image, event, settings), None)
        case AlterPartitions():
            return Decided(*alter_partitions(image, event, settings))
        case ElectLeaders():
            return Decided(*elect_leaders(image, event, settings))
        case ShutDownBroker():
            return Decided(*shut_down_broker(image, event, settings))
        case UnregisterBroker():
            return Decided(*unregister_broker(image, event, settings))
        case AlterReassignments():
            return Decided(*alter_reassignments(image, event, settings))
        case ListReassignments():
            return Decided([], list_reassignments(image, event))
        case BalanceLeaders():
            records = balance_leaders(image, settings)
            again = next_timer(event, settings, now, elected=len(records))
            return Decided(records, None, (again,))
        case ElectUncleanLeaders():
            records = elect_unclean_leaders(image, settings)
            again = next_timer(event, settings, now, elected=len(records))
            return Decided(records, None, (again,))
        case _:
            assert_never(event)
