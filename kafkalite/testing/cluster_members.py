"""The brokers of a cluster in one event loop: started and ended one by one, over one store.

They share the store and the network, and nothing else: each has its own log folder, ports and
listener. On disk a cluster is a folder with one for the metadata, which the store holds, and one
for each broker:

    DATA/metadata    the metadata log, held as a controller of a quorum holds it
    DATA/broker-1    the log folder of broker 1, and so on
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import Final, NamedTuple

from kafkalite.config.views import BrokerConfig
from kafkalite.errors import InvariantError
from kafkalite.log.directory_set import Place
from kafkalite.log.files import Files
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.store import ImageWatcher
from kafkalite.ports.network import Address, Network
from kafkalite.server.broker import Broker
from kafkalite.server.broker_parts import Ports
from kafkalite.server.metadata_upkeep import MetadataUpkeep
from kafkalite.server.storage import Storage
from kafkalite.stores.memory import MemoryStore
from kafkalite.types import NO_BROKER_EPOCH, BrokerId

METADATA_NODE: Final = BrokerId(3000)
"""The id of the one who holds the metadata log: a node of its own, as a controller in Kafka's own
examples."""
_OBSERVER: Final = BrokerId(-1000)
"""Of the session that only looks on."""
METADATA_FOLDER: Final = "metadata"


class ClusterPlan(NamedTuple):
    """What a cluster is to be."""

    ports: Mapping[int, int]
    """Where each broker listens, by id; 0: a free port, which it keeps."""
    settings: Mapping[str, str]
    """Of every broker, by Kafka's names."""
    new_files: Callable[[str], Files]
    """The files of one folder of the cluster, by its name in it. Called once for each."""
    new_ports: Callable[[BrokerConfig, Files], Ports]
    """The world of one broker, anew for each of its lives."""
    location: Callable[[str], str]
    """The name of a folder of the cluster for people."""


def broker_folder(id: int) -> str:
    """The name of a broker's folder in that of the cluster."""
    return f"broker-{id}"


def location_in(data: str | None) -> Callable[[str], str]:
    """See `ClusterPlan.location`."""
    return lambda name: "in memory" if data is None else os.path.join(data, name)


class ClusterMembers:
    """Open from `open` to `close`. Everything on the event loop."""

    def __init__(self, plan: ClusterPlan, on_failure: Callable[[int], None]) -> None:
        """`on_failure` is told of a broker that stops by itself: see `Broker`."""
        self._plan = plan
        self._on_failure = on_failure
        self._files: dict[str, Files] = {}
        self._ports = dict(plan.ports)
        self.running: dict[int, Broker] = {}
        """By id, in the order of their starts."""
        self.addresses: dict[int, Address] = {}
        """Where each broker listens or listened last."""
        self._networks: dict[int, Network] = {}
        self._storage: Storage | None = None
        self._tasks = asyncio.TaskGroup()
        self._upkeep: MetadataUpkeep | None = None

    @property
    def ids(self) -> tuple[int, ...]:
        """Of all brokers, whether they run or not."""
        return tuple(self._plan.ports)

    @property
    def store(self) -> MemoryStore:
        """What they share."""
        assert self._storage is not None, "not open"
        assert isinstance(self._storage.store, MemoryStore)
        return self._storage.store

    @property
    def image(self) -> MetadataImage:
        """What the cluster has agreed on."""
        return self.store.image

    async def open(self, watcher: ImageWatcher) -> None:
        """Open the metadata; no broker runs yet. `watcher` is told of every change of it. Errors
        as `Storage`."""
        config = self._config(METADATA_NODE, port=0)
        files = self._files_of(METADATA_FOLDER)
        ports = self._plan.new_ports(config, files)
        place = Place(self._plan.location(METADATA_FOLDER), files)
        self._storage = Storage(config, [place], ports.clock, ports.entropy, store=None)
        self._metadata_ports = ports
        assert self._storage.metadata_log is not None
        await self._tasks.__aenter__()
        self._upkeep = MetadataUpkeep(
            self._tasks,
            ports.workers,
            ports.clock,
            self._storage.metadata_log,
            folders=lambda: [files],
            is_deleting=lambda: False,  # The brokers' folders are held against no log.
            fail=self.fail,
        )
        session = self.store.open_session(_OBSERVER, lambda event: None)
        session.watch(watcher)
        session.watch(self._upkeep.watch)

    async def start(self, id: int) -> None:
        """Have a broker join. Errors as `Broker.__aenter__`."""
        assert id not in self.running, f"broker {id} runs already"
        name = broker_folder(id)
        config = self._config(id, port=self._ports[id])
        ports = self._plan.new_ports(config, self._files_of(name))
        broker = Broker(
            config,
            ports,
            location=self._plan.location(name),
            store=self.store,
            on_failure=lambda: self._on_failure(id),
        )
        await broker.__aenter__()
        self.running[id] = broker
        self.addresses[id] = broker.addresses[0]
        self._ports[id] = broker.addresses[0].port
        self._networks[id] = broker.network_to()

    def network(self, id: int) -> Network:
        """As a broker that runs sees it."""
        return self._networks[id]

    async def stop(self, id: int) -> None:
        """In good order: others lead first what it leads. Nothing happens when it does not run."""
        broker = self.running.pop(id, None)
        if broker is not None:
            await broker.__aexit__(None, None, None)

    async def kill(self, id: int) -> None:
        """As when its process dies. Nothing happens when it does not run."""
        broker = self.running.pop(id, None)
        if broker is not None:
            await broker.kill()

    def fail(self, error: InvariantError) -> None:
        """What must hold does not, and nobody knows with whom: all stop."""
        for broker in list(self.running.values()):
            broker.fail(error)

    async def close(self) -> None:
        """Stop all, and put the clean stop on record. Nobody takes anything over: whoever led leads
        after the next start."""
        async with AsyncExitStack() as end:
            if self._storage is None:
                return
            storage, ports = self._storage, self._metadata_ports
            end.callback(ports.workers.close)
            end.push_async_callback(
                storage.close, ports.workers, broker_epoch=NO_BROKER_EPOCH, high_watermarks={}
            )
            for id, broker in self.running.items():
                broker.all_stop()
                end.push_async_callback(self.stop, id)
            if self._upkeep is not None:
                end.push_async_callback(self._tasks.__aexit__, None, None, None)
            end.callback(storage.close_store)
            if self._upkeep is not None:
                end.callback(self._upkeep.stop)  # First of all.

    def _files_of(self, name: str) -> Files:
        if name not in self._files:
            self._files[name] = self._plan.new_files(name)
        return self._files[name]

    def _config(self, id: int, port: int) -> BrokerConfig:
        cluster_id = {}
        if self._storage is not None:
            cluster_id["kafkalite.cluster.id"] = self.store.cluster_id
        return BrokerConfig.of(
            {
                "listeners": f"PLAINTEXT://localhost:{port}",
                "default.replication.factor": str(min(3, len(self.ids))),
                **self._plan.settings,
                **cluster_id,
                "node.id": str(id),
                "log.dirs": self._plan.location(
                    METADATA_FOLDER if id == METADATA_NODE else broker_folder(id)
                ),
            }
        )
