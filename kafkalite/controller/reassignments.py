"""Reassignments: replicas of a partition move to other brokers (KIP-455).

    replicas [1 2], to be [2 3]      ->   replicas [2 3 1], adding [3], removing [1]
    3 is in sync (`isr_changes.py`)  ->   replicas [2 3]
    cancelled before that            ->   replicas [2 1]
    to be [1 2] again                ->   replicas [1 2 3], adding [3], removing [3]

The last one never ends, as in Kafka 4.4: 3 is to come and to go, until somebody cancels.

Kafka differs: a 3.9 over ZooKeeper takes back at once what is added and no longer asked for
(`ReplicaAssignment.reassignTo`). Here it is as in 4.4 there too.

Source: Kafka's `ReplicationControlManager.alterPartitionReassignments`,
`PartitionReassignmentReplicas` and `PartitionReassignmentRevert`; words were asked of the real
broker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafkalite.controller.assignments import check_replicas, default_directory
from kafkalite.controller.partition_change import (
    Candidates,
    Election,
    Target,
    candidates_of,
    partition_change,
    target_of,
)
from kafkalite.controller.replica_events import (
    AlterReassignments,
    ListReassignments,
    OngoingReassignment,
    OngoingReassignmentsOf,
    PartitionAnswer,
    Reassignment,
    ReassignmentsAltered,
    ReassignmentsListed,
    TopicAnswer,
)
from kafkalite.controller.settings import ControllerSettings
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import MetadataImage, PartitionImage, TopicImage
from kafkalite.protocol.messages.metadata_records import PartitionChangeRecord
from kafkalite.types import BrokerId


def alter_reassignments(
    image: MetadataImage, event: AlterReassignments, settings: ControllerSettings
) -> tuple[list[Change], ReassignmentsAltered]:
    """A record for each partition that changes, and an answer for each asked."""
    candidates = candidates_of(image)
    records: list[Change] = []
    answers = []
    for topic in event.topics:
        of_topic = []
        for asked in topic.partitions:
            try:
                found = _found(image, topic.topic, asked.partition)
                if asked.replicas is None:
                    change = _cancel(image, found, asked, candidates, settings)
                else:
                    change = _reassign(
                        image,
                        found,
                        asked.partition,
                        asked.replicas,
                        candidates,
                        settings,
                        allow_factor_change=event.allow_replication_factor_change,
                    )
            except KafkaError as error:
                of_topic.append(PartitionAnswer(asked.partition, error.code, error.message or None))
            else:
                of_topic.append(PartitionAnswer(asked.partition))
                if change is not None:
                    records.append(change)
        answers.append(TopicAnswer(topic.topic, tuple(of_topic)))
    return records, ReassignmentsAltered(tuple(answers))


def list_reassignments(image: MetadataImage, event: ListReassignments) -> ReassignmentsListed:
    """Those under way among the partitions asked for."""
    if event.topics is None:
        found = (_ongoing(topic, range(len(topic.partitions))) for topic in image.topics.values())
    else:
        found = (
            _ongoing(image.topics[asked.topic], asked.partitions)
            for asked in event.topics
            if asked.topic in image.topics
        )
    return ReassignmentsListed(tuple(topic for topic in found if topic.partitions))


def _ongoing(topic: TopicImage, indexes: Iterable[int]) -> OngoingReassignmentsOf:
    def ongoing() -> Iterator[OngoingReassignment]:
        for index in indexes:
            if not 0 <= index < len(topic.partitions):
                continue
            partition = topic.partitions[index]
            if _is_under_way(partition):
                yield OngoingReassignment(
                    index,
                    partition.replicas,
                    partition.adding_replicas,
                    partition.removing_replicas,
                )

    return OngoingReassignmentsOf(topic.name, tuple(ongoing()))


def _is_under_way(partition: PartitionImage) -> bool:
    return bool(partition.adding_replicas or partition.removing_replicas)


def _found(image: MetadataImage, name: str, index: int) -> TopicImage:
    topic = image.topics.get(name)
    if topic is None:
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}."
        )
    if not 0 <= index < len(topic.partitions):
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {name}:{index}."
        )
    return topic


def _reassign(
    image: MetadataImage,
    topic: TopicImage,
    index: int,
    replicas: tuple[BrokerId, ...],
    candidates: Candidates,
    settings: ControllerSettings,
    *,
    allow_factor_change: bool,
) -> PartitionChangeRecord | None:
    check_replicas(image, replicas)
    partition = topic.partitions[index]
    if not allow_factor_change:
        _check_factor(partition, len(replicas))
    removing = tuple(sorted(set(partition.replicas) - set(replicas)))
    adding = tuple(sorted(set(replicas) - set(partition.replicas)))
    target = target_of(partition)
    return partition_change(
        topic,
        index,
        target._replace(
            replicas=(*replicas, *removing),
            # What was under way before goes on where this one asks for nothing of its kind.
            removing=removing or target.removing,
            adding=adding or target.adding,
        ),
        candidates,
        rules=settings.rules(image, topic)._replace(election=Election.ONLINE),
        directory_for=lambda id: default_directory(image, id),
    )


def _check_factor(partition: PartitionImage, wanted: int) -> None:
    removing = set(partition.removing_replicas)
    factor = len({*partition.replicas, *partition.adding_replicas} - removing)
    if factor != wanted:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {factor} to {wanted}",
        )


def _cancel(
    image: MetadataImage,
    topic: TopicImage,
    asked: Reassignment,
    candidates: Candidates,
    settings: ControllerSettings,
) -> PartitionChangeRecord | None:
    """Back to the replicas that were there before; only an unclean election leads back when none
    of them is in sync."""
    index = asked.partition
    partition = topic.partitions[index]
    if not _is_under_way(partition):
        raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    replicas = tuple(id for id in partition.replicas if id not in partition.adding_replicas)
    isr = tuple(id for id in partition.isr if id not in partition.adding_replicas)
    rules = settings.rules(image, topic)
    if not isr:
        if not replicas:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                "Invalid replica assignment: addingReplicas contains all replicas.",
            )
        if rules.election is not Election.UNCLEAN:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Unable to revert partition assignment for {topic.name}:{index} because it would"
                " require an unclean leader election.",
            )
        isr = replicas[:1]
    target = Target(replicas, isr, (), (), partition.leader_recovery_state)
    return partition_change(topic, index, target, candidates, rules=rules)
