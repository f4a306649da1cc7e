"""An image as the changes that fold into it: what a new controller loads, and what a checkpoint
holds.

The order is that of Kafka's `MetadataImage.write`: features, brokers and controllers, topics,
settings, producer ids, SCRAM credentials. Folding them into an empty image gives an equal one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from kafkalite.metadata.changes import Change, UnheldChange, UnknownChange
from kafkalite.metadata.image import (
    BrokerImage,
    ControllerImage,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from kafkalite.protocol.messages.metadata_records import (
    BrokerEndpoint,
    BrokerFeature,
    ConfigRecord,
    ControllerEndpoint,
    ControllerFeature,
    FeatureLevelRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    TopicRecord,
    UserScramCredentialRecord,
)
from kafkalite.types import NO_LEADER

_NOT_HELD = (*get_args(UnheldChange), UnknownChange)


def changes_of(image: MetadataImage) -> Iterator[Change]:
    """Changes that make `image` out of an empty one, its position in the log aside."""
    for name, level in image.features.items():
        yield FeatureLevelRecord(name=name, feature_level=level)
    for broker in image.brokers.values():
        yield register_broker(broker)
    for controller in image.controllers.values():
        yield register_controller(controller)
    for topic in image.topics.values():
        yield TopicRecord(name=topic.name, topic_id=topic.id)
        for index, partition in enumerate(topic.partitions):
            yield partition_record(topic, index, partition)
    for resource, values in image.configs.items():
        for key, value in values.items():
            yield ConfigRecord(
                resource_type=resource.type, resource_name=resource.name, name=key, value=value
            )
    if image.next_producer_id:
        yield ProducerIdsRecord(
            broker_id=NO_LEADER, broker_epoch=-1, next_producer_id=image.next_producer_id
        )
    for (mechanism, user), credential in image.scram_credentials.items():
        yield UserScramCredentialRecord(name=user, mechanism=mechanism, **credential._asdict())


def is_held(change: Change) -> bool:
    """Whether the image keeps what the change says, so that a snapshot of it loses nothing."""
    return not isinstance(change, _NOT_HELD)


def partition_record(topic: TopicImage, index: int, partition: PartitionImage) -> PartitionRecord:
    """The record that makes this partition as it is."""
    return PartitionRecord(
        partition_id=index,
        topic_id=topic.id,
        replicas=list(partition.replicas),
        isr=list(partition.isr),
        removing_replicas=list(partition.removing_replicas),
        adding_replicas=list(partition.adding_replicas),
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=list(partition.directories),
        # Empty and absent mean the same; Kafka writes the shorter one.
        eligible_leader_replicas=list(partition.eligible_leader_replicas) or None,
        last_known_elr=list(partition.last_known_elr) or None,
    )


def register_broker(broker: BrokerImage) -> RegisterBrokerRecord:
    """The record that registers this broker as it is."""
    return RegisterBrokerRecord(
        broker_id=broker.id,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=[
            BrokerEndpoint(
                name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol
            )
            for e in broker.endpoints
        ],
        features=[
            BrokerFeature(
                name=name, min_supported_version=levels.min, max_supported_version=levels.max
            )
            for name, levels in broker.features.items()
        ],
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=list(broker.log_dirs),
    )


def register_controller(controller: ControllerImage) -> RegisterControllerRecord:
    """The record that registers this controller as it is."""
    return RegisterControllerRecord(
        controller_id=controller.id,
        incarnation_id=controller.incarnation_id,
        zk_migration_ready=controller.zk_migration_ready,
        end_points=[
            ControllerEndpoint(
                name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol
            )
            for e in controller.endpoints
        ],
        features=[
            ControllerFeature(
                name=name, min_supported_version=levels.min, max_supported_version=levels.max
            )
            for name, levels in controller.features.items()
        ],
    )
