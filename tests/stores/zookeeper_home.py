"""The home over ZooKeeper, for the contract: each broker with a store of its own."""

from __future__ import annotations

from collections.abc import Callable

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.metadata.store import BrokerRegistration, LiveBroker, MetadataStore, StoreEvent
from kafkalite.ports.entropy import SeededEntropy
from kafkalite.ports.zookeeper import Delete, ZooKeeperEvent, ZooKeeperSession
from kafkalite.stores import znodes
from kafkalite.stores.znodes_view import incarnation_of
from kafkalite.stores.zookeeper import ZooKeeperStore
from kafkalite.stores.zookeeper_founding import found_cluster
from kafkalite.stores.zookeeper_session import ZooKeeperMetadataSession
from kafkalite.testing.clock import SteerableClock
from kafkalite.types import BrokerId
from tests.metadata.store_homes import CLUSTER_ID, Home
from tests.ports.zookeeper_kinds import Bench, MemoryBench


class _Line:
    """A session with ZooKeeper that can be kept waiting, as a slow broker's is."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.session: ZooKeeperSession | None = None
        self._held: list[ZooKeeperEvent] | None = None
        self._listener: Callable[[ZooKeeperEvent], None] | None = None

    def open_session(self, listener: Callable[[ZooKeeperEvent], None]) -> ZooKeeperSession:
        self._listener = listener
        self.session = self._bench.zookeeper.open_session(self._told)
        return self.session

    def hold(self) -> None:
        self._held = []

    def let_go(self) -> None:
        held, self._held = self._held or [], None
        for event in held:
            self._told(event)

    def _told(self, event: ZooKeeperEvent) -> None:
        assert self._listener is not None
        if self._held is None:
            self._listener(event)
        else:
            self._held.append(event)


class ZooKeeperHome:
    """See `Home`. It is its own `MetadataStore`: as many as there are brokers."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._lines: dict[BrokerId, _Line] = {}
        self._stores: dict[BrokerId, ZooKeeperStore] = {}
        self._sessions: dict[BrokerId, ZooKeeperMetadataSession] = {}
        self._folded: dict[BrokerId, int] = {}
        names: list[str] = []
        found_cluster(bench.zookeeper, CLUSTER_ID, names.append)
        self.settled(lambda: bool(names))
        self.cluster_id = names[0]

    @property
    def store(self) -> MetadataStore:
        return self

    def open_session(
        self, broker_id: BrokerId, listener: Callable[[StoreEvent], None]
    ) -> ZooKeeperMetadataSession:
        session = self._sessions.get(broker_id)
        if session is not None and session.is_open:
            raise KafkaError(ErrorCode.DUPLICATE_BROKER_REGISTRATION, "by the home")
        if any(each.is_candidate for each in self._sessions.values()):  # The first one wins then.
            self.settled(lambda: any(each.is_controller for each in self._sessions.values()))
        line = self._lines[broker_id] = _Line(self.bench)
        store = self._stores[broker_id] = ZooKeeperStore(
            line, self.cluster_id, SteerableClock(), SeededEntropy(broker_id), self._spread
        )
        session = self._sessions[broker_id] = store.open_session(broker_id, listener)
        session.watch(lambda image, delta: self._folded.update({broker_id: image.end_offset}))
        return session

    def close(self) -> None:
        for store in self._stores.values():
            store.close()

    def settled(self, condition: Callable[[], bool]) -> None:
        self.bench.turns.until(condition)

    def expire(self, id: int) -> None:
        session = self._lines[BrokerId(id)].session
        assert session is not None
        self.settled(lambda: session.id != 0)
        self.bench.expire(session.id)

    def depose(self) -> None:
        """Its `/controller` is removed while it does not listen."""
        controller = next(id for id, session in self._sessions.items() if session.is_controller)
        line = self._lines[controller]
        line.hold()
        intruder = self.bench.zookeeper.open_session(lambda event: None)
        self.settled(lambda: intruder.id != 0)
        intruder.multi([Delete(znodes.CONTROLLER)], lambda done: None)
        others = [s for id, s in self._sessions.items() if id != controller]
        self.settled(lambda: any(session.is_controller for session in others))
        line.let_go()
        intruder.close()
        self.settled(lambda: not self._sessions[controller].is_controller)

    def told(self, live: LiveBroker, registered: BrokerRegistration) -> BrokerRegistration:
        return registered._replace(incarnation_id=incarnation_of(live.epoch), log_dirs=())

    def _spread(self, on_spread: Callable[[], None]) -> None:
        """What brokers tell each other over the network: here they look at each other."""
        controllers = [id for id, each in self._sessions.items() if each.is_controller]
        wanted = max((self._folded.get(id, 0) for id in controllers), default=0)
        waiting = [id for id, each in self._sessions.items() if each.is_open]
        if all(self._folded.get(id, 0) >= wanted for id in waiting):
            on_spread()
        else:
            self.bench.turns.deliver(lambda: self._spread(on_spread))


def over_the_twin() -> Home:
    return ZooKeeperHome(MemoryBench())
