"""All coordinators of one kind on one broker, by the partition of the internal topic that each
keeps its state in. Who leads the partition that a key hashes to coordinates what the key names.

Source: Kafka's `GroupCoordinatorService` and `TransactionStateManager`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Generic, Protocol, TypeVar

from kafkalite.coordinator.partitioner import partition_for
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import MetadataImage, PartitionImage
from kafkalite.ports.clock import Clock, Timer
from kafkalite.server.coordinator_driver import (
    MAX_EARLY,
    CoordinatorDriver,
    CoordinatorSettings,
    OnSends,
    no_sends,
)
from kafkalite.server.core_driver import DrivenEvent, OnReply, ask_each
from kafkalite.server.replica_manager import RETRY_MS, ReplicaManager
from kafkalite.types import BrokerId

E = TypeVar("E", bound=DrivenEvent)
R = TypeVar("R")
E_co = TypeVar("E_co", covariant=True)

NOT_HERE = KafkaError(ErrorCode.NOT_COORDINATOR)


class Asked(Protocol[E_co]):
    """An event that somebody waits for: `_replace` gives it its token, as every named tuple's."""

    def _replace(self, *, token: int) -> E_co: ...


class LedCoordinators(Generic[E, R]):
    """A coordinator for each partition of one internal topic that this broker leads."""

    def __init__(
        self,
        broker_id: BrokerId,
        topic: str,
        planned_partitions: int,
        settings: CoordinatorSettings[E, R],
        *,
        replicas: ReplicaManager,
        clock: Clock,
        on_sends: OnSends = no_sends,
    ) -> None:
        """`planned_partitions`: what the topic will have once it is there."""
        self._broker_id = broker_id
        self._topic = topic
        self._count = planned_partitions
        self._settings = settings
        self._replicas = replicas
        self._clock = clock
        self._on_sends = on_sends
        self._led: dict[int, CoordinatorDriver[E, R]] = {}
        self._unusable: dict[int, list[E]] = {}
        """Led here, but their logs cannot be used for now; and what they are to know once they can
        be, `MAX_EARLY` at most."""
        self._again: Timer | None = None
        self._tokens = count()
        self._stopped = False

    # Asked by handlers.

    def partition_of(self, key: str) -> int:
        """Of the internal topic; as it will have when it is there."""
        return partition_for(key, self._count)

    def coordinates(self, key: str) -> bool:
        """Whether the coordinator of that key is here."""
        return self.partition_of(key) in self._led

    def ask(self, key: str, event: Asked[E], on_reply: OnReply) -> None:
        """Ask the coordinator of that key. `on_reply` is called once, before this returns or
        later on the loop, when all that the answer shows is committed: with the body that `event`
        names, or a `KafkaError`. NOT_COORDINATOR when it is another broker's, or nobody's yet. The
        event's token is set here."""
        self.ask_at(self.partition_of(key), event, on_reply)

    def ask_at(self, index: int, event: Asked[E], on_reply: OnReply) -> None:
        """As `ask`: the coordinator of that partition."""
        driver = self._led.get(index)
        if driver is None:
            on_reply(NOT_HERE)
        else:
            driver.submit(self._with_token(event), on_reply)

    def ask_all(self, event: Asked[E], on_replies: Callable[[list[object]], None]) -> None:
        """Ask every coordinator here; `on_replies` gets what `ask` would give, in the order of the
        partitions."""
        drivers = [self._led[index] for index in sorted(self._led)]
        asks = [partial(driver.submit, self._with_token(event)) for driver in drivers]
        ask_each(asks, on_replies)

    def tell(self, index: int, event: E) -> None:
        """Something that the coordinator of that partition is to know; nobody's if another broker
        leads it by now."""
        driver = self._led.get(index)
        if driver is not None:
            driver.tell(event)

    def tell_all(self, event: E) -> None:
        """Something that every coordinator here is to know."""
        for driver in self._led.values():
            driver.tell(event)
        for missed in self._unusable.values():
            if len(missed) < MAX_EARLY:
                missed.append(event)

    def tell_active(self, event: E) -> None:
        """As `tell_all`, but for those that load: see `CoordinatorSettings.before`."""
        for driver in self._led.values():
            if driver.active:
                driver.tell(event)

    def _with_token(self, event: Asked[E]) -> E:
        return event._replace(token=next(self._tokens))

    # Told by the metadata.

    def apply(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Coordinate what `image` gives this broker, after the replica manager has made it so."""
        if any(topic.name == self._topic for topic in delta.deleted):
            self._unload_all()
        for change in delta.partitions():
            if change.topic.name == self._topic:
                self._follow(change.partition, change.before, change.after)
        topic = image.topics.get(self._topic)
        if topic is not None:
            self._count = len(topic.partitions)

    def stop(self) -> None:
        """Refuse everyone who waits, and coordinate nothing more: the broker stops."""
        self._stopped = True
        self._unload_all()

    def _follow(self, index: int, before: PartitionImage | None, after: PartitionImage) -> None:
        if after.leader != self._broker_id or self._stopped:
            self._unload(index)
        elif index not in self._led or before is None or before.leader_epoch != after.leader_epoch:
            self._unload(index)
            self._load(index)

    def _load(self, index: int) -> None:
        try:
            partition = self._replicas.find(self._topic, index)
            partition.leading  # noqa: B018  # Refuses where the log could not be opened.
        except KafkaError:
            self._load_later(index)
            return
        driver = self._led[index] = CoordinatorDriver(
            partition, self._clock, self._settings, self._on_sends
        )
        driver.load()
        for event in self._unusable.pop(index, ()):
            driver.tell(event)

    def _load_later(self, index: int) -> None:
        """A disk that refuses, being full, may take records again. Nobody else would tell."""
        self._unusable.setdefault(index, [])
        if self._again is None:
            self._again = self._clock.call_at(self._clock.now_ms() + RETRY_MS, self._load_again)

    def _load_again(self) -> None:
        self._again = None
        for index in list(self._unusable):
            self._load(index)

    def _unload(self, index: int) -> None:
        self._unusable.pop(index, None)
        driver = self._led.pop(index, None)
        if driver is not None:
            driver.close()

    def _unload_all(self) -> None:
        for index in (*self._led, *self._unusable):
            self._unload(index)
        if self._again is not None:
            self._again.cancel()
            self._again = None
