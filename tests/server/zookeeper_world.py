"""Two brokers' controllers over one ensemble, the first of which is elected; and what is to be so
whatever becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from kafkalite.controller.events import (
    AllocateProducerIds,
    AlterConfigs,
    ConfigEdit,
    ConfigOperation,
    ControllerRequest,
    CreatedTopic,
    CreateTopics,
    DeleteTopics,
    NewTopic,
    ProducerIdBlock,
    ResourceEdits,
    TopicsCreated,
    TopicToDelete,
)
from kafkalite.controller.settings import ControllerSettings
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.image import ConfigResource, ConfigResourceType, MetadataImage
from kafkalite.ports.entropy import SeededEntropy
from kafkalite.ports.zookeeper import (
    Delete,
    Done,
    Operation,
    Refused,
    ZooKeeperEvent,
    ZooKeeperSession,
)
from kafkalite.server.controller_driver import RETRY_MS, ControllerDriver
from kafkalite.stores import znodes
from kafkalite.stores.lasting import LastingStore
from kafkalite.stores.zookeeper import ZooKeeperStore
from kafkalite.types import BrokerId
from tests.controller.sample_cluster import broker_registration, uuid
from tests.server.hand_clock import HandClock
from tests.stores.zookeeper_cluster import Cluster

PARTITIONS = 3
OnDone = Callable[[tuple[Done, ...] | Refused], None]
Multi = Callable[[Sequence[Operation], OnDone], None]


class World:
    """Two brokers over one ensemble, with their controllers' drivers. The first is the controller
    of topics `old` and `going`. One of its transactions goes wrong, if a test says so."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.cluster = Cluster()
        self.is_counting = False
        self.count = 0
        self.fault: Callable[[World, ZooKeeperSession, Multi, Sequence[Operation], OnDone], None]
        self.at = 0
        """The transaction that goes wrong, counted from 1; 0: none."""
        self.is_deaf = False
        """Whether the first broker hears nothing of the ensemble but answers."""
        self.first: ZooKeeperSession
        """Its newest session."""
        self.images: dict[int, MetadataImage] = {}
        self.drivers = {id: self._broker(id) for id in (1, 2)}
        for name in ("old", "going"):
            assert isinstance(self.asked(self.create(name)), TopicsCreated)
        self.replies: list[tuple[ControllerRequest, object]] = []
        self.blocks: list[ProducerIdBlock] = []
        self.expected: tuple[str, ...] = ("a", "b", "old")
        """Topics, when all is done."""
        self.is_counting = True

    def _broker(self, id: int) -> ControllerDriver:
        driver = ControllerDriver(self.clock, ControllerSettings(over_zookeeper=True))
        zookeeper = self if id == 1 else self.cluster.zookeeper
        store = ZooKeeperStore(zookeeper, "cluster", self.clock, SeededEntropy(id))
        session = LastingStore(store).open_session(BrokerId(id), driver.on_store_event)

        def watch(image: MetadataImage, delta: object) -> None:
            self.images[id] = image

        session.watch(watch)
        session.register(broker_registration(id))
        driver.start(session)
        self.cluster.turns.drain()
        return driver

    # The ensemble, as the first broker sees it.

    def open_session(self, listener: Callable[[ZooKeeperEvent], None]) -> ZooKeeperSession:
        def told(event: ZooKeeperEvent) -> None:
            if not self.is_deaf:
                listener(event)

        session: Any = self.cluster.zookeeper.open_session(told)  # Any: its method is set.
        session.multi = partial(self._multi, session, session.multi)
        found: ZooKeeperSession = session
        self.first = found
        return found

    def _multi(
        self,
        session: ZooKeeperSession,
        multi: Multi,
        operations: Sequence[Operation],
        on_done: OnDone,
    ) -> None:
        self.count += self.is_counting
        if self.is_counting and self.count == self.at:
            self.fault(self, session, multi, operations, on_done)
        else:
            multi(operations, on_done)

    # Requests.

    def create(self, name: str) -> CreateTopics:
        number = sum(name.encode())
        return CreateTopics(None, (NewTopic(name, PARTITIONS, 2),), (uuid(number),), 0)

    def alter(self, value: str = "9") -> AlterConfigs:
        edit = ConfigEdit("retention.ms", ConfigOperation.SET, value)
        old = ConfigResource(ConfigResourceType.TOPIC, "old")
        return AlterConfigs(None, (ResourceEdits(old, (edit,)),), BrokerId(1), {})

    def delete(self) -> DeleteTopics:
        return DeleteTopics(None, (TopicToDelete("going"),))

    def block(self) -> AllocateProducerIds:
        return AllocateProducerIds(None, BrokerId(2), self.images[2].brokers[BrokerId(2)].epoch)

    @property
    def active(self) -> ControllerDriver:
        (found,) = (driver for driver in self.drivers.values() if driver.active)
        return found

    def submit(self, *requests: ControllerRequest) -> None:
        """To the first broker. What is answered as done is there at that moment."""
        for request in requests:
            self.drivers[1].submit(request, partial(self._replied, request))

    def asked(self, request: ControllerRequest) -> object:
        """The answer of whoever is the controller."""
        replies: list[object] = []
        self.active.submit(request, replies.append)
        self.cluster.turns.drain()
        (reply,) = replies
        return reply

    def _replied(self, request: ControllerRequest, reply: object) -> None:
        self.replies.append((request, reply))
        if not isinstance(reply, KafkaError):
            self.look(request, reply)

    def look(self, request: ControllerRequest, reply: object) -> None:
        """It is there, whatever becomes of the controller."""
        find = self.cluster.zookeeper.find
        match request:
            case CreateTopics():
                name = request.topics[0].name
                states = [find(znodes.state_path(name, each)) for each in range(PARTITIONS)]
                assert None not in states, f"{name} was answered and is not whole"
            case AlterConfigs():
                config = find("/config/topics/old")
                assert config is not None
                assert znodes.read_config(config.data) == {"retention.ms": "9"}
            case DeleteTopics():
                wish, topic = find("/admin/delete_topics/going"), find("/brokers/topics/going")
                assert wish is not None or topic is None, "its deletion was answered"
            case _:
                assert isinstance(reply, ProducerIdBlock)
                self.blocks.append(reply)

    # What comes of it.

    def settle(self) -> None:
        """Connections are back, and whoever waits for a time to run for controller has run."""
        for _ in range(3):
            self.cluster.turns.drain()
            self.clock.advance(RETRY_MS)
        self.cluster.turns.drain()
        if not any(driver.active for driver in self.drivers.values()):
            self.cluster.write(Delete(znodes.CONTROLLER))

    def judge(self, requests: Sequence[ControllerRequest]) -> None:
        """Each was answered once; a client that was told nothing asks again, and gets it."""
        assert sorted(id(request) for request, _ in self.replies) == sorted(map(id, requests))
        for request, reply in self.replies:
            if isinstance(reply, KafkaError):
                assert reply.code is ErrorCode.NOT_CONTROLLER
                again = self.asked(request)
                assert not isinstance(again, KafkaError), again
                self.look(request, again)
        self.settle()
        taken = [id for block in self.blocks for id in range(block.first, block.first + block.size)]
        assert len(taken) == len(set(taken)), "a producer id was given twice"
        assert self.cluster.hand_children("/brokers/topics") == self.expected
        core = self.active._driver
        assert core is not None
        known = core._core.image  # type: ignore[attr-defined]  # a `Controller`.
        for image in (known, *self.images.values()):
            assert states(image) == states(known)
            assert sorted(image.topics) == list(self.expected)
            assert image.configs == known.configs
            assert image.scram_credentials == known.scram_credentials
            assert image.next_producer_id == known.next_producer_id
        created = self.asked(self.create("c"))
        assert isinstance(created, TopicsCreated)
        assert isinstance(created.topics[0], CreatedTopic)


def states(image: MetadataImage) -> dict[str, list[object]]:
    """Of all partitions. Folders are known to the controller alone."""
    return {
        name: [each._replace(directories=()) for each in topic.partitions]
        for name, topic in image.topics.items()
    }
