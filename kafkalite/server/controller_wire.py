"""What a broker itself wants of the controller, as requests of Kafka's protocol, and the answers.

    event                what goes over the wire
    AlterPartitions      AlterPartition
    AllocateProducerIds  AllocateProducerIds
    AssignDirectories    AssignReplicasToDirs
    FailDirectories      BrokerHeartbeat, with the folders that are offline
    ShutDownBroker       ControlledShutdown, which tells what is led still; a heartbeat does not
    CreateTopics         CreateTopics in an Envelope: a topic that a client's request needs; to a
                         Kafka 3.9 over ZooKeeper, which opens none, as it is

All others come from clients, and go to the controller as they came (`forwarding.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any, Final, NamedTuple

from kafkalite.controller.events import (
    AllocateProducerIds,
    AssignDirectories,
    CreatedTopic,
    CreateTopics,
    DirectoriesKnown,
    FailDirectories,
    NewTopic,
    ProducerIdBlock,
    RefusedTopic,
    TopicsCreated,
)
from kafkalite.controller.replica_events import (
    AlteredPartition,
    AlterPartitions,
    BrokerShutDown,
    PartitionsAltered,
    ProposedIsr,
    ShutDownBroker,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.codec import decode
from kafkalite.protocol.headers import read_response_header, request_frame
from kafkalite.protocol.messages import allocate_producer_ids as producer_ids
from kafkalite.protocol.messages import alter_partition, create_topics
from kafkalite.protocol.messages import assign_replicas_to_dirs as directories
from kafkalite.protocol.messages import broker_heartbeat as heartbeat
from kafkalite.protocol.messages import controlled_shutdown as shutdown
from kafkalite.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from kafkalite.protocol.schema import Request
from kafkalite.server.envelopes import envelope, is_from_a_former_controller
from kafkalite.types import BrokerId, LeaderEpoch, ProducerId, TopicPartition, Uuid

CREATE_VERSION: Final = 7
"""Of CreateTopics inside an envelope."""
CLIENT_ID: Final = "kafkalite"


class Translation(NamedTuple):
    """How one kind of event crosses the wire. `Any`: each has its own types."""

    request: Callable[[Any], Request]
    body: Callable[[Any], object]
    """Of the response; raises the `KafkaError` that refuses all of it."""


def translation_of(event: object, *, to_a_kafka: bool = False) -> Translation | None:
    """None for what a broker does not ask by itself. `to_a_kafka`: to one over ZooKeeper."""
    if to_a_kafka and isinstance(event, CreateTopics):
        return _OPENLY
    return _TRANSLATIONS.get(type(event))


def raise_for(error_code: int, message: str | None = None) -> None:
    """The refusal of a whole request, if it is one."""
    if error_code:
        raise KafkaError(ErrorCode(error_code), message or "")


# AlterPartition.


def _alter_partition(event: AlterPartitions) -> alter_partition.AlterPartitionRequest:
    by_topic: dict[Uuid, list[ProposedIsr]] = {}
    for proposed in event.partitions:
        by_topic.setdefault(proposed.topic_id, []).append(proposed)
    return alter_partition.AlterPartitionRequest(
        broker_id=event.broker_id,
        broker_epoch=event.broker_epoch,
        topics=[
            alter_partition.AlterPartitionRequestTopicData(
                topic_id=topic_id, partitions=list(map(_proposal, proposals))
            )
            for topic_id, proposals in by_topic.items()
        ],
    )


def _proposal(proposed: ProposedIsr) -> alter_partition.AlterPartitionRequestPartitionData:
    return alter_partition.AlterPartitionRequestPartitionData(
        partition_index=proposed.partition,
        leader_epoch=proposed.leader_epoch,
        new_isr_with_epochs=[
            alter_partition.BrokerState(broker_id=each.broker_id, broker_epoch=each.broker_epoch)
            for each in proposed.new_isr
        ],
        leader_recovery_state=proposed.leader_recovery_state,
        partition_epoch=proposed.partition_epoch,
    )


def _altered(response: alter_partition.AlterPartitionResponse) -> PartitionsAltered:
    raise_for(response.error_code)
    return PartitionsAltered(
        tuple(
            AlteredPartition(
                topic.topic_id,
                each.partition_index,
                ErrorCode(each.error_code),
                BrokerId(each.leader_id),
                LeaderEpoch(each.leader_epoch),
                tuple(map(BrokerId, each.isr)),
                each.leader_recovery_state,
                each.partition_epoch,
            )
            for topic in response.topics
            for each in topic.partitions
        )
    )


# Producer ids, folders, the end.


def _allocate(event: AllocateProducerIds) -> producer_ids.AllocateProducerIdsRequest:
    return producer_ids.AllocateProducerIdsRequest(
        broker_id=event.broker_id, broker_epoch=event.broker_epoch
    )


def _block(response: producer_ids.AllocateProducerIdsResponse) -> ProducerIdBlock:
    raise_for(response.error_code)
    return ProducerIdBlock(ProducerId(response.producer_id_start), response.producer_id_len)


def _assign(event: AssignDirectories) -> directories.AssignReplicasToDirsRequest:
    replicas = sorted(event.replicas, key=lambda each: (each.directory, each.topic_id))
    return directories.AssignReplicasToDirsRequest(
        broker_id=event.broker_id,
        broker_epoch=event.broker_epoch,
        directories=[
            directories.AssignReplicasToDirsRequestDirectoryData(
                id=directory,
                topics=[
                    directories.AssignReplicasToDirsRequestTopicData(
                        topic_id=topic_id,
                        partitions=[
                            directories.AssignReplicasToDirsRequestPartitionData(
                                partition_index=each.partition
                            )
                            for each in of_topic
                        ],
                    )
                    for topic_id, of_topic in groupby(in_it, lambda each: each.topic_id)
                ],
            )
            for directory, in_it in groupby(replicas, lambda each: each.directory)
        ],
    )


def _assigned(response: directories.AssignReplicasToDirsResponse) -> DirectoriesKnown:
    """What it changed the wire does not tell, and nobody asks."""
    raise_for(response.error_code)
    return DirectoriesKnown(0)


def _fail(event: FailDirectories) -> heartbeat.BrokerHeartbeatRequest:
    return heartbeat.BrokerHeartbeatRequest(
        broker_id=event.broker_id,
        broker_epoch=event.broker_epoch,
        offline_log_dirs=list(event.failed),
    )


def _failed(response: heartbeat.BrokerHeartbeatResponse) -> DirectoriesKnown:
    raise_for(response.error_code)
    return DirectoriesKnown(0)


def _shut_down(event: ShutDownBroker) -> shutdown.ControlledShutdownRequest:
    return shutdown.ControlledShutdownRequest(
        broker_id=event.broker_id, broker_epoch=event.broker_epoch
    )


def _remaining(response: shutdown.ControlledShutdownResponse) -> BrokerShutDown:
    raise_for(response.error_code)
    return BrokerShutDown(
        tuple(
            TopicPartition(each.topic_name, each.partition_index)
            for each in response.remaining_partitions
        )
    )


# Topics that a request needs.


def _create(event: CreateTopics) -> create_topics.CreateTopicsRequest:
    return create_topics.CreateTopicsRequest(
        topics=list(map(_creatable, event.topics)), validate_only=event.validate_only
    )


def _create_sealed(event: CreateTopics) -> EnvelopeRequest:
    request = _create(event)
    frame = b"".join(
        part
        for part in request_frame(request, CREATE_VERSION, correlation_id=0, client_id=CLIENT_ID)
        if isinstance(part, bytes)
    )
    return envelope(frame[4:], host="")


def _creatable(topic: NewTopic) -> create_topics.CreatableTopic:
    return create_topics.CreatableTopic(
        name=topic.name,
        num_partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=[
            create_topics.CreatableReplicaAssignment(
                partition_index=each.partition, broker_ids=list(each.replicas)
            )
            for each in topic.assignments
        ],
        configs=[create_topics.CreatableTopicConfig(name=k, value=v) for k, v in topic.configs],
    )


def _created_sealed(response: EnvelopeResponse) -> TopicsCreated:
    raise_for(response.error_code)
    data = response.response_data or b""
    _, position = read_response_header(ApiKey.CREATE_TOPICS, CREATE_VERSION, data)
    return _created(decode(create_topics.CreateTopicsResponse, CREATE_VERSION, data, position))


def _created(answer: create_topics.CreateTopicsResponse) -> TopicsCreated:
    if is_from_a_former_controller(answer):
        raise KafkaError(ErrorCode.NOT_CONTROLLER)
    return TopicsCreated(
        tuple(
            RefusedTopic(each.name, ErrorCode(each.error_code), each.error_message or "")
            if each.error_code
            else CreatedTopic(
                each.name, each.topic_id, each.num_partitions, each.replication_factor, ()
            )
            for each in answer.topics
        )
    )


_TRANSLATIONS: Final[dict[type, Translation]] = {
    AlterPartitions: Translation(_alter_partition, _altered),
    AllocateProducerIds: Translation(_allocate, _block),
    AssignDirectories: Translation(_assign, _assigned),
    FailDirectories: Translation(_fail, _failed),
    ShutDownBroker: Translation(_shut_down, _remaining),
    CreateTopics: Translation(_create_sealed, _created_sealed),
}
_OPENLY: Final = Translation(_create, _created)
