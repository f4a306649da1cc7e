"""Partitions: more of them for a topic that exists.

A topic is refused for the first thing wrong with it, in this order: existence, count, assignments.
Each topic stands alone, but a request that would add too many partitions is refused as a whole.

Source: Kafka's `ControllerApis` (names given twice) and `ReplicationControlManager`; order and
words were asked of the real broker.
"""

from __future__ import annotations

from collections import Counter

from kafkalite.controller.assignments import added_partitions, placed_partitions
from kafkalite.controller.events import (
    CreatePartitions,
    PartitionsCreated,
    PartitionsToAdd,
    TopicGrown,
)
from kafkalite.controller.limits import MAX_PARTITIONS_PER_REQUEST
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import MetadataImage, PartitionImage
from kafkalite.metadata.snapshot import partition_record


def create_partitions(
    image: MetadataImage, event: CreatePartitions
) -> tuple[list[Change], PartitionsCreated]:
    """Records of the partitions that can be made, and an answer for each topic."""
    given = Counter(topic.name for topic in event.topics)
    wanted = [topic for topic in event.topics if given[topic.name] == 1]
    twice = [
        TopicGrown(name, ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        for name, times in given.items()
        if times > 1
    ]
    records: list[Change] = []
    answers = []
    if sum(_additional(image, topic) for topic in wanted) > MAX_PARTITIONS_PER_REQUEST:
        too_many = "Excessively large number of additional partitions per request."
        answers = [TopicGrown(t.name, ErrorCode.POLICY_VIOLATION, too_many) for t in wanted]
    else:
        for index, topic in enumerate(wanted):
            try:
                records += _grow(image, topic, event.placement_seed + index)
            except KafkaError as error:
                answers.append(TopicGrown(topic.name, error.code, error.message or None))
            else:
                answers.append(TopicGrown(topic.name))
    return [] if event.validate_only else records, PartitionsCreated((*answers, *twice))


def _additional(image: MetadataImage, topic: PartitionsToAdd) -> int:
    found = image.topics.get(topic.name)
    return 0 if found is None else max(topic.total - len(found.partitions), 0)


def _grow(image: MetadataImage, topic: PartitionsToAdd, seed: int) -> list[Change]:
    found = image.topics.get(topic.name)
    if found is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    first = len(found.partitions)
    if topic.total == first:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {first} partition(s).")
    if topic.total < first:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {first} partition(s); {topic.total} would not"
            " be an increase.",
        )
    factor = len(found.partitions[0].replicas)
    partitions = _partitions(image, topic, first=first, factor=factor, seed=seed)
    return [partition_record(found, index, each) for index, each in enumerate(partitions, first)]


def _partitions(
    image: MetadataImage, topic: PartitionsToAdd, *, first: int, factor: int, seed: int
) -> list[PartitionImage]:
    additional = topic.total - first
    if topic.assignments is None:
        return placed_partitions(image, count=additional, factor=factor, seed=seed)
    if len(topic.assignments) != additional:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {additional} additional partition(s), but only"
            f" {len(topic.assignments)} assignment(s) were specified.",
        )
    return added_partitions(image, topic.assignments, first=first, factor=factor)
