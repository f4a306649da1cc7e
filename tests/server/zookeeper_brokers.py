"""Whole brokers over an ensemble in this process, in virtual time: as `kafkalite serve --zookeeper`
makes them, over the memory network, each with a disk that can lose power."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kafkalite.config.views import BrokerConfig
from kafkalite.metadata.image import MetadataImage
from kafkalite.ports.zookeeper import (
    Create,
    Delete,
    Operation,
    Refused,
    ZooKeeperEvent,
    ZooKeeperSession,
)
from kafkalite.ports.zookeeper_memory import MemoryZooKeeper
from kafkalite.server import zookeeper_membership
from kafkalite.server.broker import Broker
from kafkalite.server.broker_parts import Ports
from kafkalite.server.zookeeper_membership import Membership
from kafkalite.stores import znodes
from kafkalite.testing.simulation import Simulation
from kafkalite.types import BrokerId
from tests.server.running_cluster import Cluster, host

KAFKA = BrokerId(7)
_KAFKA = b"""{"version":5,"host":"kafka","port":9092,"endpoints":["PLAINTEXT://kafka:9092"],
"jmx_port":-1,"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"timestamp":"0",
"features":{}}"""


class ZooKeeperCluster(Cluster):
    """See `Cluster`. Nothing is shared but the ensemble and the network."""

    def __init__(
        self, simulation: Simulation, settings: Mapping[str, str], patch: pytest.MonkeyPatch
    ) -> None:
        super().__init__(simulation, settings)
        self.zookeeper = MemoryZooKeeper(asyncio.get_running_loop().call_soon)
        self.hand = self.zookeeper.open_session(lambda event: None)
        self._memberships: dict[int, Membership] = {}
        self._sessions: list[ZooKeeperSession] = []
        """Of the broker that starts."""
        self._lines: dict[int, list[ZooKeeperSession]] = {}
        self._held: dict[ZooKeeperSession, list[ZooKeeperEvent]] = {}
        patch.setattr(zookeeper_membership, "KazooZooKeeper", lambda ensemble, deliver: self)

    def open_session(self, listener: Callable[[ZooKeeperEvent], None]) -> ZooKeeperSession:
        """As `ZooKeeper`."""

        def told(event: ZooKeeperEvent) -> None:
            if session in self._held:
                self._held[session].append(event)
            else:
                listener(event)

        session = self.zookeeper.open_session(told)
        self._sessions.append(session)
        return session

    def hold(self, id: int) -> Callable[[], None]:
        """That broker hears of no change, until what is returned is called."""
        session: Any = self._lines[id][-1]  # Any: the memory's own.
        self._held[session] = []

        def let_go() -> None:
            for event in self._held.pop(session):
                session.tell(event)

        return let_go

    def cut_off(self, *ids: int) -> Callable[[], None]:
        """ZooKeeper is not there for these, until what is returned is called; of what they have not
        heard yet they never hear."""
        sessions: list[Any] = [self._lines[id][-1] for id in ids]  # Any: the memory's own.
        for session in sessions:
            self._held.pop(session, None)
            self.zookeeper.disconnect(session.id)

        def back() -> None:
            for session in sessions:
                self.zookeeper.reconnect(session.id)

        return back

    async def _started(self, config: BrokerConfig, ports: Ports) -> Broker:
        self._sessions = self._lines[config.node_id] = []
        membership = Membership(config, "ensemble", ports.clock, ports.entropy)
        await membership.__aenter__()
        broker = Broker(
            config,
            ports,
            location=host(config.node_id),
            store=membership.store,
            has_kafkas_beside_it=True,
            checks_views=True,
        )
        await broker.__aenter__()
        membership.attach(broker)
        self._memberships[config.node_id] = membership
        return broker

    async def joined(self, id: int) -> None:
        """Until it is a member."""
        await self._memberships[id].wait_joined()

    async def start(self, *ids: int) -> None:
        """They are members when this returns."""
        await super().start(*ids)
        for id in ids:
            await self.joined(id)

    async def come_back(self, id: int) -> None:
        """As `start`; the session of its earlier life may last still."""
        await super().start(id)

    async def lose_power_unnoticed(self, id: int) -> Callable[[], None]:
        """Its session goes on; it ends when what is returned is called."""
        session: Any = self._lines[id][-1]  # Any: the memory's own.
        session.close = lambda: None
        session._closed = True  # What comes for it is lost.
        await self.lose_power(id)
        return lambda: self.zookeeper.expire(session.id)

    def write(self, *operations: Operation) -> None:
        """Past all brokers."""
        self.hand.multi(operations, _done)

    def elect_a_kafka(self) -> None:
        """A broker of Kafka, which nobody reaches, in the place of whoever it is."""
        self.write(
            Create(znodes.broker_path(KAFKA), _KAFKA, ephemeral=True),
            Delete(znodes.CONTROLLER),
            Create(znodes.CONTROLLER, znodes.write_controller(KAFKA, 0), ephemeral=True),
        )

    @property
    def metadata(self) -> MetadataImage:
        """As the broker that runs longest sees it."""
        return next(iter(self.brokers.values())).image


@asynccontextmanager
async def over_zookeeper(
    simulation: Simulation, patch: pytest.MonkeyPatch, *ids: int, **settings: str
) -> AsyncIterator[ZooKeeperCluster]:
    """See `cluster_of`."""
    keys = {key.replace("_", "."): value for key, value in settings.items()}
    cluster = ZooKeeperCluster(simulation, keys, patch)
    try:
        await cluster.start(*ids)
        yield cluster
    finally:
        await cluster.end()


def _done(result: object) -> None:
    assert not isinstance(result, Refused), result
