"""Several brokers of one cluster for a test: in virtual time, over the memory network, with one
store, each with a disk of its own that can lose power. Broker N is the node `broker-N`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeVar

from kafkalite.config.views import BrokerConfig
from kafkalite.errors import ErrorCode
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.metadata.image import MetadataImage, PartitionImage, TopicImage
from kafkalite.ports.network import Address
from kafkalite.ports.workers import InlineWorkers
from kafkalite.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafkalite.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from kafkalite.protocol.messages.fetch import FetchResponse, PartitionData
from kafkalite.protocol.messages.produce import PartitionProduceResponse, ProduceResponse
from kafkalite.protocol.schema import Request, Response
from kafkalite.replica.held_back import ACKS_ALL
from kafkalite.server.broker import Broker
from kafkalite.server.broker_parts import Ports
from kafkalite.server.partition import Partition
from kafkalite.stores.memory import MemoryStore
from kafkalite.testing.client import Client
from kafkalite.testing.simulation import Simulation
from kafkalite.types import format_uuid
from tests.log.trees import tree
from tests.server.requests import batch, fetch, fetched, produce, produced, values
from tests.server.running import CREATE, FETCH, PORT, PRODUCE, creatable

R = TypeVar("R", bound=Response)


class Cluster:
    """Brokers 1, 2, 3... of one event loop, which share the store and the network."""

    def __init__(self, simulation: Simulation, settings: Mapping[str, str]) -> None:
        self.simulation = simulation
        self._settings = settings
        self.store = MemoryStore(format_uuid(simulation.entropy.uuid()), simulation.clock)
        self.brokers: dict[int, Broker] = {}
        self.files: dict[int, MemoryFiles] = {}
        self._clients: dict[tuple[int, str], Client] = {}

    async def start(self, *ids: int) -> None:
        """Brokers join, or come back."""
        for id in ids:
            node = self.simulation.network.node(host(id))
            files = self.files.setdefault(id, MemoryFiles(models_crashes=True))
            world = self.simulation
            config = BrokerConfig.of(
                {
                    "node.id": str(id),
                    "listeners": f"PLAINTEXT://{host(id)}:{PORT}",
                    "broker.rack": f"rack-{id}",
                    "kafkalite.cluster.id": self.store.cluster_id,
                    **self._settings,
                }
            )
            ports = Ports(world.clock, world.entropy, node, files, InlineWorkers())
            self.brokers[id] = await self._started(config, ports)

    async def _started(self, config: BrokerConfig, ports: Ports) -> Broker:
        broker = Broker(
            config, ports, location=host(config.node_id), store=self.store, checks_views=True
        )
        return await broker.__aenter__()

    async def stop(self, *ids: int) -> None:
        """In good order."""
        for id in ids:
            self._forget_clients(id)
            await self.brokers.pop(id).__aexit__(None, None, None)

    async def kill(self, *ids: int) -> None:
        """As when the process dies: its session ends, what was written is written."""
        for id in ids:
            self._forget_clients(id)
            await self.brokers.pop(id).kill()

    def _forget_clients(self, id: int) -> None:
        for key in [key for key in self._clients if key[0] == id]:
            del self._clients[key]

    async def lose_power(self, *ids: int) -> None:
        """What was not synced is gone."""
        for id in ids:
            await self.kill(id)
            self.files[id].crash()

    def stop_fetching(self, *ids: int) -> None:
        """These follow nobody any more, until the metadata tells of another leader or they come
        back."""
        for id in ids:
            link = self.brokers[id].link
            assert link is not None
            link.replication._fetchers.stop()

    async def wait_ms(self, ms: int = 1) -> None:
        """Let all that can happen happen, and then the time pass."""
        await self.simulation.sleep(ms)

    async def wait_until(self, holds: Callable[[], bool], within_ms: int = 60_000) -> None:
        """Let time pass until it holds."""
        for _ in range(within_ms // 10):
            if holds():
                return
            await self.simulation.sleep(10)
        raise AssertionError("it did not come to pass")

    async def create(
        self,
        topic: str,
        *replicas: Sequence[int],
        configs: Mapping[str, str] | None = None,
    ) -> TopicImage:
        """A topic with one partition for each of these."""
        made = creatable(topic, -1, configs, replicas)
        request = CreateTopicsRequest(topics=[made], timeout_ms=10_000)
        response = await (await self.client()).ask(request, CREATE, CreateTopicsResponse)
        assert response.topics[0].error_code == ErrorCode.NONE, response
        await self.wait_until(lambda: topic in self.metadata.topics)
        return self.metadata.topics[topic]

    async def client(self, broker: int | None = None, name: str = "client") -> Client:
        """The one of that name at that broker, or at the first that runs; connected when it is
        first asked for."""
        id = next(iter(self.brokers)) if broker is None else broker
        if (id, name) not in self._clients:
            network = self.simulation.network.node(name)
            self._clients[id, name] = await Client.connect(network, Address(host(id), PORT), name)
        return self._clients[id, name]

    async def ask(self, broker: int, request: Request, version: int, response: type[R]) -> R:
        return await (await self.client(broker)).ask(request, version, response)

    async def produce(
        self,
        topic: str,
        *contents: bytes,
        acks: int = ACKS_ALL,
        partition: int = 0,
        timeout_ms: int = 30_000,
        records: bytearray | None = None,
    ) -> PartitionProduceResponse:
        """One batch, to the leader."""
        request = produce(
            topic,
            {partition: records or batch(*contents)},
            acks=acks,
            timeout_ms=timeout_ms,
        )
        client = await self.client(self.leader(topic, partition))
        return produced(await client.ask(request, PRODUCE, ProduceResponse))[0]

    async def wrote(self, topic: str, *contents: bytes, acks: int = ACKS_ALL) -> int:
        """The offset of one batch that went well."""
        answer = await self.produce(topic, *contents, acks=acks)
        assert answer.error_code == ErrorCode.NONE, answer
        return answer.base_offset

    async def read(
        self, topic: str, offset: int = 0, *, broker: int | None = None, partition: int = 0
    ) -> list[bytes]:
        """What a consumer sees at the leader, or at that broker."""
        return values(await self.fetch(topic, offset, broker=broker, partition=partition))

    async def fetch(
        self, topic: str, offset: int = 0, *, broker: int | None = None, partition: int = 0
    ) -> PartitionData:
        """As `read`, the whole answer."""
        id = self.leader(topic, partition) if broker is None else broker
        client = await self.client(id)
        request = fetch(topic, {partition: offset})
        return fetched(await client.ask(request, FETCH, FetchResponse))[0]

    async def delete_records(self, topic: str, offset: int, timeout_ms: int = 10_000) -> ErrorCode:
        """What the leader answers."""
        response = await (await self.deleting(topic, offset, timeout_ms))
        return ErrorCode(response.topics[0].partitions[0].error_code)

    async def deleting(
        self, topic: str, offset: int, timeout_ms: int = 10_000
    ) -> asyncio.Future[DeleteRecordsResponse]:
        """As `delete_records`, not waited for."""
        asked = DeleteRecordsPartition(partition_index=0, offset=offset)
        request = DeleteRecordsRequest(
            topics=[DeleteRecordsTopic(name=topic, partitions=[asked])], timeout_ms=timeout_ms
        )
        client = await self.client(self.leader(topic))
        return client.send(request, 2, DeleteRecordsResponse)

    async def replicated(self, topic: str, *brokers: int, partition: int = 0) -> None:
        """Wait until these have all that the leader has, and know that it is committed."""
        leader = self.partition(self.leader(topic, partition), topic, partition)

        def holds() -> bool:
            end = leader.log.end_offset
            copies = [self.partition(broker, topic, partition) for broker in brokers]
            return all((each.log.end_offset, each.high_watermark) == (end, end) for each in copies)

        await self.wait_until(holds)

    @property
    def metadata(self) -> MetadataImage:
        """What they have agreed on."""
        return self.store.image

    @property
    def controller(self) -> int:
        return self.metadata.controller_id

    def image(self, topic: str, partition: int = 0) -> PartitionImage:
        return self.metadata.topics[topic].partitions[partition]

    def leader(self, topic: str, partition: int = 0) -> int:
        return self.image(topic, partition).leader

    def isr(self, topic: str, partition: int = 0) -> set[int]:
        return set(self.image(topic, partition).isr)

    def partition(self, broker: int, topic: str, partition: int = 0) -> Partition:
        """The broker's own object."""
        return self.brokers[broker]._services.replicas.find(topic, partition)

    def log_files(self, broker: int, topic: str, partition: int = 0) -> dict[str, bytes | None]:
        """Of a partition, on that broker's disk."""
        folder = f"{topic}-{partition}"
        return {
            path.rpartition("/")[2]: data for path, data in tree(self.files[broker], folder).items()
        }

    async def end(self) -> None:
        for broker in self.brokers.values():
            broker.all_stop()
        await self.stop(*self.brokers)


@asynccontextmanager
async def cluster_of(simulation: Simulation, *ids: int, **settings: str) -> AsyncIterator[Cluster]:
    """Brokers that run, the first of which is the controller at first. `settings` with `_` for
    `.`."""
    keys = {key.replace("_", "."): value for key, value in settings.items()}
    cluster = Cluster(simulation, keys)
    try:
        await cluster.start(*ids)
        yield cluster
    finally:
        await cluster.end()


def three_brokers(simulation: Simulation, **settings: str) -> AbstractAsyncContextManager[Cluster]:
    """See `cluster_of`."""
    return cluster_of(simulation, 1, 2, 3, **settings)


def host(id: int) -> str:
    """Of a broker."""
    return f"broker-{id}"
