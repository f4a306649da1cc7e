"""A controller over ZooKeeper tells the other brokers what has changed, as Kafka 3.9's does. With
which requests: `inter_broker_requests.py`.

A broker of Kafka knows of the metadata only what it is told so. One of ours reads ZooKeeper itself;
its answer says that it has folded what it was told of, and a commit waits for that. A broker that
does not answer is told everything again.

Source: Kafka's `ControllerChannelManager`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple, Protocol

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.delta import MetadataDelta, whole
from kafkalite.metadata.image import BrokerImage, MetadataImage, TopicImage
from kafkalite.ports.clock import Clock
from kafkalite.protocol.messages.leader_and_isr import LeaderAndIsrResponse
from kafkalite.protocol.messages.stop_replica import StopReplicaResponse
from kafkalite.protocol.schema import Request, Response
from kafkalite.server.inter_broker_requests import requests_for, stop_of_deleted
from kafkalite.server.peer_requests import OnResponse
from kafkalite.types import BrokerEpoch, BrokerId, Uuid

PURPOSE: Final = "controller-to-broker"
TIMEOUT_MS: Final = 10_000
AGAIN_MS: Final = 100

Replicas = tuple[tuple[Uuid, int], ...]
"""By topic id and partition."""
OnOffline = Callable[[BrokerImage, Replicas], None]


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
        self.on_offline: OnOffline = lambda broker, replicas: None
        """This broker, as the controller, is told which replicas are on no disk."""
        self.lost_here: Callable[[], Replicas] = lambda: ()
        """Those of this broker."""
        self._stopping: dict[str, _Stopping] = {}
        """By the topic's name."""
        self._silent: set[tuple[BrokerId, BrokerEpoch]] = set()
        """Who is to be told everything again, however much of it had no answer."""

    def apply(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Tell of it, if this broker is the controller; of everything, if it has become that."""
        was_controller = self._is_controller
        before, self._image = self._image, image
        self._is_controller = image.controller_id == self._broker_id
        if not self._is_controller:
            self._stopping.clear()
            return
        for broker in image.brokers.values():
            if broker.id == self._broker_id:
                continue
            known = before.brokers.get(broker.id)
            is_new = known is None or known.epoch != broker.epoch
            if is_new or not was_controller:
                self._push_all(broker)
            else:
                self._push(broker, delta)

    def wait_answered(self, on_answered: Callable[[], None]) -> None:
        """Call back when all that was told so far is answered, or its broker is gone."""
        if self._unanswered:
            self._waiting.append((set(self._unanswered), on_answered))
        else:
            on_answered()

    def look_for_offline(self, id: BrokerId) -> None:
        """A log folder of that broker has failed: it says which replicas are gone when it is told
        of all that it has."""
        broker = self._image.brokers.get(id)
        if broker is None:
            return
        if id != self._broker_id:
            self._push_all(broker)
            return
        lost = self.lost_here()
        if lost:
            self.on_offline(broker, lost)

    def stop(self, topic: TopicImage, on_stopped: Callable[[], None]) -> None:
        """Have the other brokers drop their replicas of a topic that is deleted. Calls back when
        all have said that they did, those that are away when they are back; not at all when this
        broker is the controller no more."""
        holders = {id: None for each in topic.partitions for id in each.replicas}
        holders.pop(self._broker_id, None)
        if not holders:
            on_stopped()
            return
        self._stopping[topic.name] = _Stopping(topic, holders, on_stopped)
        for id in tuple(holders):
            broker = self._image.brokers.get(id)
            if broker is not None:
                self._push_stop(broker, topic)

    def _push_all(self, broker: BrokerImage) -> None:
        self._push(broker, whole(self._image))
        for stopping in tuple(self._stopping.values()):
            if broker.id in stopping.holders:
                self._push_stop(broker, stopping.topic)

    def _push(self, broker: BrokerImage, delta: MetadataDelta) -> None:
        for request in requests_for(self._image, delta, broker, self._listener):
            self._numbers += 1
            self._unanswered.add(self._numbers)
            self._ask(broker, request, partial(self._answered, self._numbers, broker))

    def _push_stop(self, broker: BrokerImage, topic: TopicImage) -> None:
        request = stop_of_deleted(self._image, topic, broker)
        self._ask(broker, request, partial(self._stopped, topic, broker.id))

    def _ask(
        self,
        broker: BrokerImage,
        request: Request,
        on_answer: Callable[[Response | KafkaError], None],
    ) -> None:
        def answered(answer: Response | KafkaError) -> None:
            on_answer(answer)
            self._look_for_silence(broker, answer)

        self._peers.ask(broker.id, request, answered, timeout_ms=TIMEOUT_MS, purpose=PURPOSE)

    def _stopped(self, topic: TopicImage, id: BrokerId, answer: Response | KafkaError) -> None:
        """A broker that refuses, as one whose log folder has failed, is asked again when it has
        registered anew."""
        stopping = self._stopping.get(topic.name)
        if stopping is None or stopping.topic is not topic:
            return
        if not isinstance(answer, StopReplicaResponse) or not _is_taken(answer):
            return
        stopping.holders.pop(id, None)
        if not stopping.holders:
            del self._stopping[topic.name]
            stopping.on_stopped()

    def _answered(self, number: int, broker: BrokerImage, answer: Response | KafkaError) -> None:
        lost = _offline(answer)
        if lost and self._is_controller:
            self.on_offline(broker, lost)
        self._unanswered.discard(number)
        done = []
        for waiting in self._waiting:
            waiting[0].discard(number)
            if not waiting[0]:
                done.append(waiting)
        for waiting in done:
            self._waiting.remove(waiting)
            waiting[1]()

    def _look_for_silence(self, broker: BrokerImage, answer: Response | KafkaError) -> None:
        id, epoch = broker.id, broker.epoch
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
            self._push_all(broker)


class _Stopping(NamedTuple):
    """A topic that is deleted."""

    topic: TopicImage
    holders: dict[BrokerId, None]
    """Who has not said yet that it keeps no replica."""
    on_stopped: Callable[[], None]


def _offline(answer: Response | KafkaError) -> Replicas:
    if not isinstance(answer, LeaderAndIsrResponse):
        return ()
    return tuple(
        (Uuid(bytes(topic.topic_id)), each.partition_index)
        for topic in answer.topics
        for each in topic.partition_errors
        if each.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    )


def _is_taken(answer: StopReplicaResponse) -> bool:
    return answer.error_code == ErrorCode.NONE and all(
        each.error_code == ErrorCode.NONE for each in answer.partition_errors
    )
