"""What one broker is told of a change of the metadata, and of a topic that is deleted:
LeaderAndIsr, UpdateMetadata and StopReplica, as a controller of Kafka 3.9 writes them.

Source: Kafka's `AbstractControllerBrokerRequestBatch`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kafkalite.metadata.delta import MetadataDelta, PartitionChange
from kafkalite.metadata.image import BrokerImage, MetadataImage, TopicImage
from kafkalite.protocol.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kafkalite.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from kafkalite.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kafkalite.protocol.schema import Request
from kafkalite.types import BrokerId, Uuid

DURING_DELETE: Final = -2
"""As leader and as leader epoch: the topic is being deleted (`LeaderAndIsr.LeaderDuringDelete`,
`EpochDuringDelete`)."""


def requests_for(
    image: MetadataImage, delta: MetadataDelta, broker: BrokerImage, listener: str
) -> Iterator[Request]:
    """What that broker is told of what changed, in Kafka's order."""
    changes = tuple(delta.partitions())
    own = [change for change in changes if broker.id in change.after.replicas]
    if own and delta.brokers:  # A Kafka follows none that it has not heard to be alive.
        yield _update_metadata(image, (), (), broker)
    if own:
        yield _leader_and_isr(image, own, broker, listener)
    if changes or delta.brokers or delta.deleted:
        yield _update_metadata(image, changes, delta.deleted, broker)
    stopped = _moved_away(changes, broker.id)
    if stopped:
        yield _stop_replica(image, stopped, broker)


def stop_of_deleted(
    image: MetadataImage, topic: TopicImage, broker: BrokerImage
) -> StopReplicaRequest:
    """That the broker is to drop all that it has of a topic that is deleted."""
    state = StopReplicaTopicState(
        topic_name=topic.name,
        partition_states=[
            StopReplicaPartitionState(
                partition_index=index, leader_epoch=DURING_DELETE, delete_partition=True
            )
            for index, partition in enumerate(topic.partitions)
            if broker.id in partition.replicas
        ],
    )
    return _stop_replica(image, [state], broker)


def _stop_replica(
    image: MetadataImage, states: list[StopReplicaTopicState], broker: BrokerImage
) -> StopReplicaRequest:
    return StopReplicaRequest(
        controller_id=image.controller_id,
        controller_epoch=image.epoch,
        broker_epoch=broker.epoch,
        topic_states=states,
    )


def _leader_and_isr(
    image: MetadataImage, changes: Iterable[PartitionChange], broker: BrokerImage, listener: str
) -> LeaderAndIsrRequest:
    topics: dict[Uuid, LeaderAndIsrTopicState] = {}
    leaders: dict[BrokerId, None] = {}
    for change in changes:
        after = change.after
        leaders[after.leader] = None
        topic = topics.setdefault(
            change.topic.id,
            LeaderAndIsrTopicState(topic_name=change.topic.name, topic_id=change.topic.id),
        )
        topic.partition_states.append(
            LeaderAndIsrPartitionState(
                partition_index=change.partition,
                controller_epoch=image.epoch,
                leader=after.leader,
                leader_epoch=after.leader_epoch,
                isr=list(after.isr),
                partition_epoch=after.partition_epoch,
                replicas=list(after.replicas),
                adding_replicas=list(after.adding_replicas),
                removing_replicas=list(after.removing_replicas),
                is_new=change.before is None and after.partition_epoch == 0,
                leader_recovery_state=after.leader_recovery_state,
            )
        )
    live = (image.brokers[id] for id in leaders if id in image.brokers)
    return LeaderAndIsrRequest(
        controller_id=image.controller_id,
        controller_epoch=image.epoch,
        broker_epoch=broker.epoch,
        topic_states=list(topics.values()),
        live_leaders=[
            LeaderAndIsrLiveLeader(broker_id=each.id, host_name=e.host, port=e.port)
            for each in live
            for e in each.endpoints
            if e.name == listener
        ],
    )


def _update_metadata(
    image: MetadataImage,
    changes: Iterable[PartitionChange],
    deleted: Iterable[TopicImage],
    broker: BrokerImage,
) -> UpdateMetadataRequest:
    topics: dict[Uuid, UpdateMetadataTopicState] = {}

    def add(change: PartitionChange, *, is_gone: bool) -> None:
        after = change.after
        topic = topics.setdefault(
            change.topic.id,
            UpdateMetadataTopicState(topic_name=change.topic.name, topic_id=change.topic.id),
        )
        topic.partition_states.append(
            UpdateMetadataPartitionState(
                partition_index=change.partition,
                controller_epoch=image.epoch,
                leader=DURING_DELETE if is_gone else after.leader,
                leader_epoch=DURING_DELETE if is_gone else after.leader_epoch,
                isr=list(after.isr),
                zk_version=after.partition_epoch,
                replicas=list(after.replicas),
                offline_replicas=[id for id in after.replicas if id not in image.brokers],
            )
        )

    for gone in deleted:
        for index, partition in enumerate(gone.partitions):
            add(PartitionChange(gone, index, partition, partition), is_gone=True)
    for change in changes:
        add(change, is_gone=False)
    return UpdateMetadataRequest(
        controller_id=image.controller_id,
        controller_epoch=image.epoch,
        broker_epoch=broker.epoch,
        topic_states=list(topics.values()),
        live_brokers=[
            UpdateMetadataBroker(
                id=each.id,
                endpoints=[
                    UpdateMetadataEndpoint(
                        port=e.port,
                        host=e.host,
                        listener=e.name,
                        security_protocol=e.security_protocol,
                    )
                    for e in each.endpoints
                ],
                rack=each.rack,
            )
            for each in image.brokers.values()
        ],
    )


def _moved_away(changes: Iterable[PartitionChange], id: BrokerId) -> list[StopReplicaTopicState]:
    """Replicas that the broker has no more, since they are elsewhere."""
    topics: dict[str, StopReplicaTopicState] = {}
    for change in changes:
        kept = () if change.before is None else change.before.replicas
        if id in kept and id not in change.after.replicas:
            name = change.topic.name
            state = topics.setdefault(name, StopReplicaTopicState(topic_name=name))
            state.partition_states.append(
                StopReplicaPartitionState(
                    partition_index=change.partition,
                    leader_epoch=change.after.leader_epoch,
                    delete_partition=True,
                )
            )
    return list(topics.values())
