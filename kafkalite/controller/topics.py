"""Topics: creation with all its checks, and deletion.

A topic is refused for the first thing wrong with it, in this order: name, existence, collision,
settings, then assignment or factor and count. Each topic stands alone, but a request that would
make too many partitions or records is refused as a whole.

Source: Kafka's `ControllerApis` (names given twice) and `ReplicationControlManager`; order and
words were asked of the real broker.
"""

from __future__ import annotations

from collections import Counter

from kafkalite.controller.assignments import manual_partitions, placed_partitions
from kafkalite.controller.configs import new_topic_config, topic_config_records
from kafkalite.controller.eligible_replicas import clearing
from kafkalite.controller.events import (
    CreatedTopic,
    CreateTopics,
    DeletedTopic,
    DeleteTopics,
    FreeName,
    NewTopic,
    RefusedTopic,
    TopicsCreated,
    TopicsDeleted,
    TopicToDelete,
)
from kafkalite.controller.limits import (
    MAX_PARTITIONS_PER_REQUEST,
    MAX_RECORDS_PER_REQUEST,
    TOO_MANY_RECORDS,
)
from kafkalite.controller.settings import TopicDefaults
from kafkalite.controller.state import ControllerState
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import PartitionImage, TopicImage
from kafkalite.metadata.snapshot import partition_record
from kafkalite.metadata.topic_names import CLUSTER_METADATA, validate_topic_name
from kafkalite.protocol.messages.metadata_records import (
    RemoveTopicRecord,
    TopicRecord,
)
from kafkalite.types import ZERO_UUID, Uuid


def create_topics(
    state: ControllerState, event: CreateTopics, defaults: TopicDefaults
) -> tuple[list[Change], TopicsCreated]:
    """Records of the topics that can be made, and an answer for each."""
    given = Counter(topic.name for topic in event.topics)
    twice = [
        RefusedTopic(name, ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        for name, times in given.items()
        if times > 1
    ]
    internal = [
        RefusedTopic(
            name, ErrorCode.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited."
        )
        for name, times in given.items()
        if name == CLUSTER_METADATA and times == 1
    ]
    wanted = [
        (topic, id)
        for topic, id in zip(event.topics, event.topic_ids, strict=True)
        if given[topic.name] == 1 and topic.name != CLUSTER_METADATA
    ]
    topics = [topic for topic, _ in wanted]
    if sum(_partitions_asked(topic, defaults) for topic in topics) > MAX_PARTITIONS_PER_REQUEST:
        refused = _too_large(topics, "Excessively large number of partitions per request.")
        return [], TopicsCreated((*refused, *twice, *internal))
    records: list[Change] = []
    answers: list[CreatedTopic | RefusedTopic] = []
    for index, (topic, id) in enumerate(wanted):
        try:
            made, answer = _create(state, topic, id, defaults, event.placement_seed + index)
        except KafkaError as error:
            answers.append(RefusedTopic(topic.name, error.code, error.message))
            continue
        records += made
        answers.append(answer)
        if len(records) > MAX_RECORDS_PER_REQUEST:  # What the rest would be does not matter.
            records = []
            answers = _too_large(topics, TOO_MANY_RECORDS)
            break
    return ([] if event.validate_only else records), TopicsCreated((*answers, *twice, *internal))


def _too_large(topics: list[NewTopic], why: str) -> list[CreatedTopic | RefusedTopic]:
    return [RefusedTopic(topic.name, ErrorCode.POLICY_VIOLATION, why) for topic in topics]


def _partitions_asked(topic: NewTopic, defaults: TopicDefaults) -> int:
    if topic.assignments:
        return len(topic.assignments)
    return defaults.num_partitions if topic.num_partitions == -1 else max(topic.num_partitions, 0)


def _create(
    state: ControllerState, topic: NewTopic, id: Uuid, defaults: TopicDefaults, seed: int
) -> tuple[list[Change], CreatedTopic]:
    validate_topic_name(topic.name)
    if topic.name in state.image.topics:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
    if topic.name in state.going:
        raise KafkaError(
            ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' is marked for deletion."
        )
    other = state.colliding_topic(topic.name)
    if other is not None:
        raise KafkaError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic '{topic.name}' collides with existing topic: {other}",
        )
    configs = new_topic_config(topic.configs)
    partitions = _partitions(state, topic, defaults, seed)
    image = TopicImage(topic.name, id, tuple(partitions))
    records: list[Change] = [TopicRecord(name=topic.name, topic_id=id)]
    if configs:
        settings = topic_config_records(topic.name, configs)
        records += [*settings, *clearing(state.image, settings)]
    records += [partition_record(image, i, partition) for i, partition in enumerate(partitions)]
    answer = CreatedTopic(
        topic.name, id, len(partitions), len(partitions[0].replicas), tuple(configs.items())
    )
    return records, answer


def _partitions(
    state: ControllerState, topic: NewTopic, defaults: TopicDefaults, seed: int
) -> list[PartitionImage]:
    count, factor = topic.num_partitions, topic.replication_factor
    if topic.assignments:
        given = "A manual partition assignment was specified, but"
        if factor != -1:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, f"{given} replication factor was not set to -1."
            )
        if count != -1:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{given} numPartitions was not set to -1.")
        return manual_partitions(state.image, topic.assignments)
    if factor < -1 or factor == 0:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if count < -1 or count == 0:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        )
    return placed_partitions(
        state.image,
        # More than a request may have is refused anyway: do not place a thousand million first.
        count=min(defaults.num_partitions if count == -1 else count, MAX_PARTITIONS_PER_REQUEST),
        factor=defaults.replication_factor if factor == -1 else factor,
        seed=seed,
    )


def delete_topics(
    state: ControllerState, event: DeleteTopics
) -> tuple[list[Change], TopicsDeleted]:
    """Records that remove the topics found, and an answer for each topic asked, repeats once."""
    names = Counter(topic.name for topic in event.topics if _is_by_name(topic))
    ids = Counter(topic.id for topic in event.topics if _is_by_id(topic))
    records: list[Change] = []
    answers: dict[TopicToDelete, DeletedTopic] = {}
    for topic in event.topics:
        if topic in answers:
            continue
        answer = _delete(state, topic, names, ids)
        if answer.code is ErrorCode.NONE:
            if len(records) < MAX_RECORDS_PER_REQUEST:
                records.append(RemoveTopicRecord(topic_id=answer.topic_id))
            else:
                code = ErrorCode.UNKNOWN_SERVER_ERROR
                answer = DeletedTopic(answer.name, answer.topic_id, code)
        answers[topic] = answer
    # A topic given by name and by id is refused once, under both.
    return records, TopicsDeleted(tuple(dict.fromkeys(answers.values())))


def free_name(state: ControllerState, event: FreeName) -> list[Change]:
    """No record: the store alone knows."""
    state.going.pop(event.name, None)
    return []


def _is_by_name(topic: TopicToDelete) -> bool:
    return topic.name is not None and topic.id == ZERO_UUID


def _is_by_id(topic: TopicToDelete) -> bool:
    return topic.name is None and topic.id != ZERO_UUID


def _delete(
    state: ControllerState, topic: TopicToDelete, names: Counter[str | None], ids: Counter[Uuid]
) -> DeletedTopic:
    image = state.image
    if topic.name is None and topic.id == ZERO_UUID:
        return _refused(topic, "Neither topic name nor id were specified.")
    if topic.name is not None and topic.id != ZERO_UUID:
        return _refused(topic, "You may not specify both topic name and topic id.")
    if topic.name is not None:
        if names[topic.name] > 1:
            return _refused(topic, "Duplicate topic name.")
        found = image.topics.get(topic.name)
        if found is None:
            return DeletedTopic(
                topic.name,
                ZERO_UUID,
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                "This server does not host this topic-partition.",
            )
    else:
        if ids[topic.id] > 1:
            return _refused(topic, "Duplicate topic id.")
        found = image.topics_by_id.get(topic.id)
        if found is None:
            return DeletedTopic(
                None,
                topic.id,
                ErrorCode.UNKNOWN_TOPIC_ID,
                "This server does not host this topic ID.",
            )
    if names[found.name] and ids[found.id]:
        return DeletedTopic(
            found.name,
            found.id,
            ErrorCode.INVALID_REQUEST,
            "The provided topic name maps to an ID that was already supplied.",
        )
    return DeletedTopic(found.name, found.id)


def _refused(topic: TopicToDelete, message: str) -> DeletedTopic:
    return DeletedTopic(topic.name, topic.id, ErrorCode.INVALID_REQUEST, message)
