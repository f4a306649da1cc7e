from __future__ import annotations

import pytest

from kafkalite.controller.events import (
    AdoptConfigs,
    AdoptCredentials,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    Event,
    NewTopic,
    PartitionsToAdd,
    TopicToDelete,
)
from kafkalite.controller.replica_events import (
    AlterReassignments,
    ElectionType,
    ElectLeaders,
    PartitionsOf,
    Reassignment,
    ReassignmentsOf,
)
from kafkalite.metadata.image import ConfigResource
from kafkalite.metadata.scram import ScramCredential
from kafkalite.metadata.store import (
    ConfigsEdited,
    CredentialsEdited,
    ForeignEdit,
    LeadersWanted,
    ReplicasWanted,
    TopicAssigned,
    TopicUnwanted,
)
from kafkalite.server.foreign_edits import adopted, event_of
from kafkalite.types import BrokerId, TopicPartition
from tests.controller.sample_cluster import assignment, uuid

ONE, TWO = BrokerId(1), BrokerId(2)
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
TOPIC = ConfigResource(2, "t")


@pytest.mark.parametrize(
    ("edit", "event"),
    [
        (
            TopicAssigned("t", uuid(1), ((ONE, TWO), (TWO,)), 0, (("retention.ms", "5"),)),
            CreateTopics(
                None,
                (
                    NewTopic(
                        "t",
                        assignments=(assignment(0, 1, 2), assignment(1, 2)),
                        configs=(("retention.ms", "5"),),
                    ),
                ),
                (uuid(1),),
                0,
            ),
        ),
        (
            TopicAssigned("t", uuid(1), ((ONE,), (TWO,), (ONE,)), 1),
            CreatePartitions(None, (PartitionsToAdd("t", 3, ((TWO,), (ONE,))),), 0),
        ),
        (TopicUnwanted("t"), DeleteTopics(None, (TopicToDelete("t"),))),
        (
            LeadersWanted((A1, B0, A0)),
            ElectLeaders(
                None,
                ElectionType.PREFERRED,
                (PartitionsOf("a", (1, 0)), PartitionsOf("b", (0,))),
            ),
        ),
        (
            ReplicasWanted(((B0, (ONE,)), (A0, (TWO, ONE)))),
            AlterReassignments(
                None,
                (
                    ReassignmentsOf("a", (Reassignment(0, (TWO, ONE)),)),
                    ReassignmentsOf("b", (Reassignment(0, (ONE,)),)),
                ),
            ),
        ),
    ],
)
def test_what_others_did_is_asked_of_the_controller(edit: ForeignEdit, event: Event) -> None:
    assert event_of(edit) == event
    assert type(event_of(edit)) is type(event)


def test_settings_are_taken_as_they_are_when_they_are_decided_on() -> None:
    settings = {"retention.ms": "5"}
    edit = ConfigsEdited(TOPIC, lambda: settings)
    settings["retention.ms"] = "6"
    assert adopted(edit) == AdoptConfigs(TOPIC, (("retention.ms", "6"),))


def test_so_are_credentials() -> None:
    credentials = {1: ScramCredential(b"a", b"b", b"c", 4096)}
    edit = CredentialsEdited("alice", lambda: credentials)
    credentials[2] = ScramCredential(b"d", b"e", b"f", 8192)
    assert adopted(edit) == AdoptCredentials("alice", tuple(credentials.items()))
