"""A controller over ZooKeeper whose commit comes to something else than an answer: at each of its
transactions, and at each turn between them, what was answered as done is there, and what is there
is known to whoever is the controller then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from kafkalite.controller.events import (
    AllocateProducerIds,
    AlterConfigs,
    ConfigEdit,
    ConfigOperation,
    ConfigsAltered,
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
    Create,
    Delete,
    Done,
    Failure,
    Operation,
    Refused,
    SetData,
    ZooKeeperEvent,
    ZooKeeperSession,
)
from kafkalite.server.controller_driver import RETRY_MS, ControllerDriver, ControllerRequest
from kafkalite.stores import znodes, znodes_changes
from kafkalite.stores.lasting import LastingStore
from kafkalite.stores.zookeeper import ZooKeeperStore
from kafkalite.types import BrokerId
from tests.controller.sample_cluster import broker_registration, uuid
from tests.server.hand_clock import HandClock
from tests.stores.zookeeper_cluster import Cluster

PARTITIONS = 3
STRIDE = 5
"""Of the turns between which something happens: all of them would take half a minute."""
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


def refused(world: World, failure: Failure, on_done: OnDone) -> None:
    world.cluster.turns.deliver(lambda: on_done(Refused(failure)))


def nothing(result: object) -> None:
    pass


def lost(
    world: World,
    session: ZooKeeperSession,
    multi: Multi,
    operations: Sequence[Operation],
    on_done: OnDone,
    *,
    is_done: bool,
    is_over: bool,
) -> None:
    """The connection goes before the answer comes: it was done or not, the session lasts or not."""
    if is_done:
        multi(operations, nothing)
    zookeeper = world.cluster.zookeeper
    zookeeper.disconnect(session.id)
    refused(world, Failure.CONNECTION_LOST, on_done)
    if is_over:
        zookeeper.expire(session.id)
    else:
        world.cluster.turns.deliver(lambda: zookeeper.reconnect(session.id))


def over(
    world: World,
    session: ZooKeeperSession,
    multi: Multi,
    operations: Sequence[Operation],
    on_done: OnDone,
    *,
    is_done: bool,
) -> None:
    """The end of the session is told before the answer."""
    if is_done:
        multi(operations, nothing)
    world.cluster.zookeeper.expire(session.id)
    refused(world, Failure.SESSION_OVER, on_done)


def overtaken(
    world: World,
    session: ZooKeeperSession,
    multi: Multi,
    operations: Sequence[Operation],
    on_done: OnDone,
    *,
    by: Callable[[], Sequence[Operation]],
) -> None:
    """Somebody else has written."""
    world.cluster.hand.multi(by(), nothing)
    multi(operations, on_done)


ANOTHER: Sequence[Operation] = [
    Delete(znodes.CONTROLLER),
    Create(znodes.CONTROLLER, znodes.write_controller(BrokerId(9), 0)),
    SetData(znodes.CONTROLLER_EPOCH, b"9"),
]
"""Broker 9, which is no more by then."""
FAULTS = {
    "lost before": partial(lost, is_done=False, is_over=False),
    "lost after": partial(lost, is_done=True, is_over=False),
    "lost before, and the session": partial(lost, is_done=False, is_over=True),
    "lost after, and the session": partial(lost, is_done=True, is_over=True),
    "over before": partial(over, is_done=False),
    "over after": partial(over, is_done=True),
    "another is elected": partial(overtaken, by=lambda: ANOTHER),
    "the controller is removed": partial(overtaken, by=lambda: [Delete(znodes.CONTROLLER)]),
    "another state": partial(overtaken, by=lambda: [SetData(znodes.state_path("going", 1), b"{}")]),
}


def run(world: World) -> list[ControllerRequest]:
    """Some requests, one behind the other."""
    requests: list[ControllerRequest] = [
        world.create("a"),
        world.alter(),
        world.delete(),
        world.block(),
        world.create("b"),
    ]
    world.submit(*requests)
    return requests


@pytest.fixture(autouse=True)
def small_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a topic takes several."""
    monkeypatch.setattr(znodes_changes, "_MOST_OPERATIONS", 3)


@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_becomes_of_a_transaction(fault: str) -> None:
    at = 0
    while True:
        world = World()
        at += 1
        world.at, world.fault = at, FAULTS[fault]
        requests = run(world)
        world.settle()
        world.is_counting = False
        world.judge(requests)
        if world.count < at:
            break
    assert at > 10, "each was met"


def cut(world: World) -> None:
    id = world.first.id
    world.cluster.zookeeper.disconnect(id)
    world.cluster.turns.deliver(lambda: world.cluster.zookeeper.reconnect(id))


def cut_for_long(world: World) -> None:
    """Others hear that it is gone, and it does not."""
    zookeeper, id = world.cluster.zookeeper, world.first.id
    zookeeper.disconnect(id)
    world.cluster.turns.drain()
    zookeeper.expire(id)


TURNS: dict[str, Callable[[World], None]] = {
    "cut": cut,
    "cut for long": cut_for_long,
    "expired": lambda world: world.cluster.zookeeper.expire(world.first.id),
    "removed": lambda world: world.cluster.hand.multi([Delete(znodes.CONTROLLER)], nothing),
    "replaced": lambda world: world.cluster.hand.multi(ANOTHER, nothing),
}


@pytest.mark.parametrize("fault", TURNS)
def test_whatever_happens_between_two_turns(fault: str) -> None:
    after = 0
    while True:
        world = World()
        requests = run(world)
        world.cluster.turns.some(after)
        is_over = len(world.replies) == len(requests)
        TURNS[fault](world)
        later = world.create("b2")
        world.submit(later)
        world.expected = ("a", "b", "b2", "old")
        world.settle()
        world.judge([*requests, later])
        if is_over:
            break
        after += STRIDE
    assert after > 100, "until all was done"


def test_who_is_the_controller_no_more_says_of_nothing_that_it_is_so() -> None:
    """Its process was stopped, say; to it the setting is what it is asked to be."""
    world = World()
    world.submit(world.alter())
    world.cluster.turns.drain()
    world.is_deaf = True
    world.cluster.zookeeper.expire(world.first.id)
    world.cluster.turns.drain()
    altered = world.drivers[2]
    assert altered.active
    assert world.drivers[1].active, "so it takes itself"
    answers: list[object] = []
    altered.submit(world.alter("8"), answers.append)
    world.cluster.turns.drain()
    assert isinstance(answers[0], ConfigsAltered)
    world.submit(world.alter())
    world.cluster.turns.drain()
    reply = world.replies[-1][1]
    assert isinstance(reply, KafkaError)
    assert reply.code is ErrorCode.NOT_CONTROLLER


def test_nor_refuses_it_what_only_it_has_not_heard_of() -> None:
    """A broker that came back since has another epoch, by which it asks."""
    world = World()
    world.is_deaf = True
    world.cluster.zookeeper.expire(world.first.id)
    world.cluster.turns.drain()
    before = world.block()
    registered = world.cluster.zookeeper.find("/brokers/ids/2")
    assert registered is not None
    world.cluster.zookeeper.expire(registered.stat.ephemeral_owner)
    world.settle()
    asked = world.block()
    assert asked.broker_epoch != before.broker_epoch
    assert world.drivers[1].active, "so it takes itself"
    world.submit(asked)
    world.cluster.turns.drain()
    reply = world.replies[-1][1]
    assert isinstance(reply, KafkaError)
    assert reply.code is ErrorCode.NOT_CONTROLLER
