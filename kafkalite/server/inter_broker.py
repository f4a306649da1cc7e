"""What a controller over ZooKeeper tells the other brokers: LeaderAndIsr, UpdateMetadata and
StopReplica, as Kafka 3.9's does.

A broker of Kafka knows of the metadata only what it is told so. One of ours reads ZooKeeper itself;
its answer says that it has folded what it was told of, and a commit waits for that. A broker that
does not answer is told everything again.

Source: Kafka's `ControllerChannelManager`, `AbstractControllerBrokerRequestBatch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final, Protocol

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.delta import MetadataDelta, PartitionChange, whole
from kafkalite.metadata.image import BrokerImage, MetadataImage, TopicImage
from kafkalite.ports.clock import Clock
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
from kafkalite.protocol.schema import Request, Response
from kafkalite.server.peer_connection import OnResponse
from kafkalite.types import BrokerEpoch, BrokerId, Uuid

PURPOSE: Final = "controller-to-broker"
TIMEOUT_MS: Final = 10_000
AGAIN_MS: Final = 100
DURING_DELETE: Final = -2
"""As leader and as leader epoch: the topic is being deleted (`LeaderAndIsr.LeaderDuringDelete`,
`EpochDuringDelete`)."""


class Asks(Protocol):
    """What `Peers` is for this."""

    def ask(
        self,
        broker_id: BrokerId,
        request: Request,
        on_reply: OnResponse,
        *,
        timeout_ms: int,
        purpose: str = "",
    ) -> None:
        """See `Peers.ask`."""
        ...


class InterBrokerPushes:
    """Of one broker: silent while it is not the controller."""

    def __init__(self, broker_id: BrokerId, listener: str, peers: Asks, clock: Clock) -> None:
        """`listener`: the name of the one that brokers talk on."""
        self._broker_id = broker_id
        self._listener = listener
        self._peers = peers
        self._clock = clock
        self._image = MetadataImage()
        self._is_controller = False
        self._numbers = 0
        self._unanswered: set[int] = set()
        self._waiting: list[tuple[set[int], Callable[[], None]]] = []
        self._silent: set[tuple[BrokerId, BrokerEpoch]] = set()
        """Who is to be told everything again, however much of it had no answer."""

    def apply(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Tell of it, if this broker is the controller; of everything, if it has become that."""
        was_controller = self._is_controller
        before, self._image = self._image, image
        self._is_controller = image.controller_id == self._broker_id
        if not self._is_controller:
            return
        for broker in image.brokers.values():
            if broker.id == self._broker_id:
                continue
            known = before.brokers.get(broker.id)
            is_new = known is None or known.epoch != broker.epoch
            if is_new or not was_controller:
                self._push(broker, whole(image))
            else:
                self._push(broker, delta)

    def wait_answered(self, on_answered: Callable[[], None]) -> None:
        """Call back when all that was told so far is answered, or its broker is gone."""
        if self._unanswered:
            self._waiting.append((set(self._unanswered), on_answered))
        else:
            on_answered()

    def _push(self, broker: BrokerImage, delta: MetadataDelta) -> None:
        for request in requests_for(self._image, delta, broker, self._listener):
            self._numbers += 1
            number = self._numbers
            self._unanswered.add(number)
            self._peers.ask(
                broker.id,
                request,
                partial(self._answered, number, broker.id, broker.epoch),
                timeout_ms=TIMEOUT_MS,
                purpose=PURPOSE,
            )

    def _answered(
        self, number: int, id: BrokerId, epoch: BrokerEpoch, answer: Response | KafkaError
    ) -> None:
        self._unanswered.discard(number)
        done = []
        for waiting in self._waiting:
            waiting[0].discard(number)
            if not waiting[0]:
                done.append(waiting)
        for waiting in done:
            self._waiting.remove(waiting)
            waiting[1]()
        is_lost = isinstance(answer, KafkaError) and answer.code in (
            ErrorCode.NETWORK_EXCEPTION,
            ErrorCode.REQUEST_TIMED_OUT,
        )
        if is_lost and (id, epoch) not in self._silent:
            self._silent.add((id, epoch))
            at_ms = self._clock.now_ms() + AGAIN_MS
            self._clock.call_at(at_ms, lambda: self._again(id, epoch))

    def _again(self, id: BrokerId, epoch: BrokerEpoch) -> None:
        self._silent.discard((id, epoch))
        broker = self._image.brokers.get(id)
        if self._is_controller and broker is not None and broker.epoch == epoch:
            self._push(broker, whole(self._image))


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
    stopped = _stopped(changes, delta.deleted, broker.id)
    if stopped:
        yield StopReplicaRequest(
            controller_id=image.controller_id,
            controller_epoch=image.epoch,
            broker_epoch=broker.epoch,
            topic_states=stopped,
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
                partition_index=change.index,
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
                partition_index=change.index,
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


def _stopped(
    changes: Iterable[PartitionChange], deleted: Iterable[TopicImage], id: BrokerId
) -> list[StopReplicaTopicState]:
    """Replicas that the broker has no more: of deleted topics, and those that went elsewhere."""
    topics: dict[str, StopReplicaTopicState] = {}

    def add(topic: TopicImage, index: int, leader_epoch: int) -> None:
        state = topics.setdefault(topic.name, StopReplicaTopicState(topic_name=topic.name))
        state.partition_states.append(
            StopReplicaPartitionState(
                partition_index=index, leader_epoch=leader_epoch, delete_partition=True
            )
        )

    for gone in deleted:
        for index, partition in enumerate(gone.partitions):
            if id in partition.replicas:
                add(gone, index, DURING_DELETE)
    for change in changes:
        kept = () if change.before is None else change.before.replicas
        if id in kept and id not in change.after.replicas:
            add(change.topic, change.index, change.after.leader_epoch)
    return list(topics.values())
