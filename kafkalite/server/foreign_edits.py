"""What others did to the metadata store, past the controller, as requests to it."""

from __future__ import annotations

from itertools import groupby
from typing import assert_never

from kafkalite.controller.events import (
    AdoptConfigs,
    AdoptCredentials,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    Event,
    FreeName,
    NewTopic,
    PartitionAssignment,
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
from kafkalite.metadata.store import (
    CredentialsEdited,
    ForeignEdit,
    LeadersWanted,
    ReplicasWanted,
    SetByOthers,
    TopicAssigned,
    TopicGone,
    TopicUnwanted,
)


def event_of(edit: ForeignEdit) -> Event:
    """Nobody waits for its answer."""
    match edit:
        case TopicAssigned():
            return _assigned(edit)
        case TopicUnwanted():
            return DeleteTopics(None, (TopicToDelete(edit.name),))
        case TopicGone():
            return FreeName(edit.name)
        case LeadersWanted():
            ordered = sorted(edit.partitions, key=lambda each: each.topic)
            return ElectLeaders(
                None,
                ElectionType.PREFERRED,
                tuple(
                    PartitionsOf(topic, tuple(each.partition for each in of_topic))
                    for topic, of_topic in groupby(ordered, key=lambda each: each.topic)
                ),
            )
        case ReplicasWanted():
            moves = sorted(edit.partitions, key=lambda each: each[0].topic)
            return AlterReassignments(
                None,
                tuple(
                    ReassignmentsOf(
                        topic,
                        tuple(Reassignment(each.partition, replicas) for each, replicas in moved),
                    )
                    for topic, moved in groupby(moves, key=lambda each: each[0].topic)
                ),
            )
        case _:
            assert_never(edit)


def adopted(edit: SetByOthers) -> Event:
    """To be asked for when the controller decides on it, and on nothing else at that time."""
    if isinstance(edit, CredentialsEdited):
        return AdoptCredentials(edit.user, tuple(edit.newest().items()))
    return AdoptConfigs(edit.resource, tuple(edit.newest().items()))


def _assigned(edit: TopicAssigned) -> Event:
    if edit.known:
        wanted = PartitionsToAdd(edit.name, len(edit.replicas), edit.replicas[edit.known :])
        return CreatePartitions(None, (wanted,), placement_seed=0)
    topic = NewTopic(
        edit.name,
        assignments=tuple(
            PartitionAssignment(index, replicas) for index, replicas in enumerate(edit.replicas)
        ),
        configs=edit.configs,
    )
    return CreateTopics(None, (topic,), (edit.fresh_id,), placement_seed=0)
