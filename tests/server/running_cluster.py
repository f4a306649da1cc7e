"""Several brokers of one cluster for a test: in virtual time, over the memory network and files,
with one store. Broker N is the node `broker-N`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from kafkalite.config.views import BrokerConfig
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.metadata.image import PartitionImage
from kafkalite.ports.network import Address, Network
from kafkalite.ports.workers import InlineWorkers
from kafkalite.protocol.schema import Request, Response
from kafkalite.server.broker import Broker, Ports
from kafkalite.stores.memory import MemoryStore
from kafkalite.testing.client import Client
from kafkalite.testing.simulation import Simulation
from kafkalite.types import format_uuid
from tests.server.running import PORT, Running

R = TypeVar("R", bound=Response)


@dataclass
class RunningCluster:
    """The brokers that run, and short ways to ask them."""

    simulation: Simulation
    store: MemoryStore
    settings: Mapping[str, str]
    files: dict[int, MemoryFiles] = field(default_factory=dict)
    brokers: dict[int, Broker] = field(default_factory=dict)
    clients: dict[tuple[int, str], Client] = field(default_factory=dict)

    async def start(self, id: int) -> Broker:
        """Broker `id`, on its files, at its address."""
        config = BrokerConfig.of(
            {
                "node.id": str(id),
                "listeners": f"PLAINTEXT://localhost:{PORT}",
                "kafkalite.cluster.id": self.store.cluster_id,
                **self.settings,
            }
        )
        node: Network = self.simulation.network.node(f"broker-{id}")
        files = self.files.setdefault(id, MemoryFiles(models_crashes=True))
        ports = Ports(self.simulation.clock, self.simulation.entropy, node, files, InlineWorkers())
        broker = Broker(config, ports, location="memory", store=self.store, checks_views=True)
        await broker.__aenter__()
        self.brokers[id] = broker
        return broker

    async def stop(self, id: int) -> None:
        """In good order."""
        await self.brokers.pop(id).__aexit__(None, None, None)
        self._forget_clients(id)

    async def kill(self, id: int) -> None:
        """Its process dies; its session ends; its disk keeps what was written."""
        await self.brokers.pop(id).kill()
        self._forget_clients(id)

    def _forget_clients(self, id: int) -> None:
        for key in [key for key in self.clients if key[0] == id]:
            del self.clients[key]

    async def client(self, id: int, name: str = "client") -> Client:
        """A client of that broker, connected when it is first asked for."""
        if (id, name) not in self.clients:
            network: Network = self.simulation.network.node(name)
            self.clients[id, name] = await Client.connect(
                network, Address(f"broker-{id}", PORT), name
            )
        return self.clients[id, name]

    async def ask(self, id: int, request: Request, version: int, response: type[R]) -> R:
        return await (await self.client(id)).ask(request, version, response)

    async def wait_ms(self, ms: int = 1) -> None:
        """Let all that can happen happen, and then the time pass."""
        await self.simulation.sleep(ms)

    @property
    def controller(self) -> int:
        return self.store.image.controller_id

    def partition(self, topic: str, index: int = 0) -> PartitionImage:
        return self.store.image.topics[topic].partitions[index]

    def running(self, id: int) -> Running:
        """Short ways to ask that broker."""
        broker, files = self.brokers[id], self.files[id]
        return Running(self.simulation, broker, files, host=f"broker-{id}")


@asynccontextmanager
async def cluster_of(
    simulation: Simulation, ids: Sequence[int] = (1, 2, 3), **settings: str
) -> AsyncIterator[RunningCluster]:
    """Brokers of these ids, the first of which is the controller at first. `settings` with `_` for
    `.`."""
    store = MemoryStore(format_uuid(simulation.entropy.uuid()), simulation.clock)
    keys = {key.replace("_", "."): value for key, value in settings.items()}
    cluster = RunningCluster(simulation, store, keys)
    for id in ids:
        await cluster.start(id)
    try:
        yield cluster
    finally:
        for id in sorted(cluster.brokers, key=lambda id: id == cluster.controller):
            await cluster.stop(id)
