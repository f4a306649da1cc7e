"""Brokers that share an ensemble in this process, for tests of the store over ZooKeeper."""

from __future__ import annotations

from collections.abc import Callable

from kafkalite.metadata.changes import Change
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.store import CommitResult, Elected, LeadersWanted, StoreEvent
from kafkalite.ports.entropy import SeededEntropy
from kafkalite.ports.zookeeper import (
    Children,
    Create,
    Failure,
    Node,
    Operation,
    Refused,
    ZooKeeper,
    ZooKeeperSession,
)
from kafkalite.ports.zookeeper_memory import MemoryZooKeeper
from kafkalite.stores.zookeeper import ZooKeeperStore
from kafkalite.stores.zookeeper_founding import found_cluster
from kafkalite.stores.zookeeper_session import ZooKeeperMetadataSession
from kafkalite.testing.clock import SteerableClock
from kafkalite.types import BrokerId
from tests.controller.sample_cluster import broker_registration
from tests.metadata.listener import Listener
from tests.ports.zookeeper_kinds import Turns


class Cluster:
    """An ensemble with what every cluster has, and a hand that writes past all brokers."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.zookeeper = MemoryZooKeeper(self.turns.deliver)
        names: list[str] = []
        found_cluster(self.zookeeper, "cluster", names.append)
        self.turns.drain()
        assert names == ["cluster"]
        self.hand: ZooKeeperSession = self.zookeeper.open_session(lambda event: None)

    def write(self, *operations: Operation) -> None:
        """As a tool does; brokers hear of it."""
        answers: list[object] = []
        self.hand.multi(operations, answers.append)
        self.turns.drain()
        assert not isinstance(answers[0], Refused), answers

    def fill(self, nodes: dict[str, bytes | None]) -> None:
        """Znodes and those above them, where they are missing."""
        for path, data in nodes.items():
            parts = path.split("/")[1:]
            for end in range(1, len(parts)):
                self.hand.multi([Create("/" + "/".join(parts[:end]))], lambda done: None)
            self.hand.multi([Create(path, data)], lambda done: None)
        self.turns.drain()

    def node(self, path: str) -> Node | None:
        found: list[object] = []
        self.hand.get(path, found.append)
        self.turns.drain()
        return found[0] if isinstance(found[0], Node) else None

    def hand_children(self, path: str) -> tuple[str, ...]:
        found: list[Children | Failure] = []
        self.hand.children(path, found.append)
        self.turns.drain()
        assert isinstance(found[0], Children), path
        return found[0].names

    def data(self, path: str) -> bytes | None:
        node = self.node(path)
        assert node is not None, path
        return node.data


class Member(Listener):
    """A broker, and all that its store told."""

    def __init__(
        self,
        cluster: Cluster,
        id: int,
        *,
        candidate: bool = True,
        zookeeper: ZooKeeper | None = None,
        heard: list[str] | None = None,
    ) -> None:
        """`zookeeper`: stands before the cluster's; `heard`: gets the names of what it hears."""
        super().__init__()
        self.cluster = cluster
        self.act: Callable[[StoreEvent], None] = lambda event: None
        """What it does when it hears that leaders are wanted."""
        self.store = ZooKeeperStore(
            zookeeper or cluster.zookeeper, "cluster", SteerableClock(), SeededEntropy(id)
        )

        def told(event: StoreEvent) -> None:
            self.heard.append(event)
            if isinstance(event, LeadersWanted):
                self.act(event)
            if heard is not None:
                heard.append(type(event).__name__)

        self.session: ZooKeeperMetadataSession = self.store.open_session(BrokerId(id), told)
        self.session.watch(self.watch)
        self.session.register(broker_registration(id))
        if candidate:
            self.session.run_for_controller()
        cluster.turns.drain()

    @property
    def image(self) -> MetadataImage:
        return self.images[-1]

    def commit(self, *changes: Change) -> CommitResult:
        elected = [event for event in self.heard if isinstance(event, Elected)]
        results: list[CommitResult] = []
        self.session.commit(elected[-1].epoch, changes, results.append)
        self.cluster.turns.drain()
        return results[0]

    def news(self) -> list[StoreEvent]:
        """What it heard since it was asked last."""
        heard = self.heard[:]
        self.heard.clear()
        return heard
