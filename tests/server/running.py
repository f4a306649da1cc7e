"""A whole broker for a test: in virtual time, over the memory network and memory files.

Time passes only while everything waits, so `wait_ms` is also the way to let all that can happen
happen: what is not answered by then is parked.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Concatenate, ParamSpec

from kafkalite.config.views import BrokerConfig
from kafkalite.log.directory_set import Place
from kafkalite.log.files import Files
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.metadata.image import TopicImage
from kafkalite.metadata.store import MetadataStore
from kafkalite.ports.network import Address, Network
from kafkalite.ports.workers import InlineWorkers, Workers
from kafkalite.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafkalite.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from kafkalite.protocol.messages.fetch import FetchResponse
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.server.broker import Broker
from kafkalite.server.broker_parts import Ports
from kafkalite.server.interceptor import Interceptor
from kafkalite.server.partition import Partition
from kafkalite.testing.client import Client
from kafkalite.testing.simulation import Simulation, run
from tests.server.requests import batch, fetch, produce, values

P = ParamSpec("P")

PORT = 9092
CREATE, DELETE, PRODUCE, FETCH = 7, 5, 9, 12
"""Versions that name topics; tests of an API take others too."""


@dataclass
class Running:
    """A broker that serves, and short ways to ask it."""

    simulation: Simulation
    broker: Broker
    files: Files
    clients: dict[str, Client] = field(default_factory=dict)
    host: str = "broker"

    async def client(self, name: str = "client") -> Client:
        """The client of that name, connected when it is first asked for."""
        if name not in self.clients:
            self.clients[name] = await self.connect(name)
        return self.clients[name]

    async def connect(self, name: str) -> Client:
        """A connection of its own."""
        network: Network = self.simulation.network.node(name)
        return await Client.connect(network, Address(self.host, PORT), name)

    async def wait_ms(self, ms: int = 1) -> None:
        """Let all that can happen happen, and then the time pass."""
        await self.simulation.sleep(ms)

    async def create(
        self,
        name: str,
        partitions: int = 1,
        *,
        configs: Mapping[str, str] | None = None,
        assignments: Sequence[Sequence[int]] = (),
    ) -> TopicImage:
        """A topic that was created well."""
        topic = creatable(name, -1 if assignments else partitions, configs, assignments)
        result = await self.ask_to_create(topic)
        assert result.error_code == 0, result
        return self.topic(name)

    async def ask_to_create(self, topic: CreatableTopic) -> CreatableTopicResult:
        request = CreateTopicsRequest(topics=[topic])
        response = await (await self.client()).ask(request, CREATE, CreateTopicsResponse)
        return response.topics[0]

    async def delete(self, name: str) -> DeletableTopicResult:
        request = DeleteTopicsRequest(topic_names=[name], timeout_ms=1000)
        response = await (await self.client()).ask(request, DELETE, DeleteTopicsResponse)
        return response.responses[0]

    async def produce(
        self, topic: str, *contents: bytes, partition: int = 0, client: str = "client"
    ) -> int:
        """The offset of the first record of one batch that was appended well."""
        request = produce(topic, {partition: batch(*contents)})
        response = await (await self.client(client)).ask(request, PRODUCE, ProduceResponse)
        answer = response.responses[0].partition_responses[0]
        assert answer.error_code == 0, answer
        return answer.base_offset

    async def read(self, topic: str, offset: int = 0, *, partition: int = 0) -> list[bytes]:
        """The values of all records from `offset` on."""
        request = fetch(topic, {partition: offset})
        response = await (await self.client()).ask(request, FETCH, FetchResponse)
        return values(response.responses[0].partitions[0])

    def topic(self, name: str) -> TopicImage:
        return self.broker.image.topics[name]

    def partition(self, topic: str, index: int = 0) -> Partition:
        """The broker's own object; for what no client sees."""
        return self.broker._services.replicas.find(topic, index)

    def waiting(self, topic: str, partition: int = 0) -> int:
        """How many fetches and produces a partition knows that wait for it."""
        held = self.partition(topic, partition)
        return len(held.fetches) + len(held.commits)


def creatable(
    name: str,
    partitions: int = 1,
    configs: Mapping[str, str] | None = None,
    assignments: Sequence[Sequence[int]] = (),
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=-1,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=list(ids))
            for index, ids in enumerate(assignments)
        ],
        configs=[CreatableTopicConfig(name=k, value=v) for k, v in (configs or {}).items()],
    )


def make(
    simulation: Simulation,
    files: Files,
    *,
    more_places: Sequence[Place] = (),
    settings: Mapping[str, str] | None = None,
    store: MetadataStore | None = None,
    interceptor: Interceptor | None = None,
    workers: Workers | None = None,
) -> Broker:
    """A broker that is not started. `settings` are Kafka's keys."""
    node = simulation.network.node("broker")
    ports = Ports(simulation.clock, simulation.entropy, node, files, workers or InlineWorkers())
    config = BrokerConfig.of({"listeners": f"PLAINTEXT://localhost:{PORT}", **(settings or {})})
    return Broker(
        config,
        ports,
        location="memory",
        more_places=more_places,
        store=store,
        interceptor=interceptor,
        checks_views=True,
    )


@asynccontextmanager
async def start(
    simulation: Simulation,
    files: Files | None = None,
    *,
    settings: Mapping[str, str] | None = None,
    store: MetadataStore | None = None,
    interceptor: Interceptor | None = None,
) -> AsyncIterator[Running]:
    """A broker from its start to its clean stop. See `make`."""
    files = MemoryFiles(models_crashes=True) if files is None else files
    broker = make(simulation, files, settings=settings, store=store, interceptor=interceptor)
    async with broker:
        yield Running(simulation, broker, files)


@asynccontextmanager
async def crashed(
    simulation: Simulation, files: Files, *, settings: Mapping[str, str] | None = None
) -> AsyncIterator[Running]:
    """A broker from its start to the end of its process: nothing more reaches disk or network, and
    what the files hold is as it was last written. To lose power, crash the files too."""
    broker = make(simulation, files, settings=settings)
    await broker.__aenter__()
    yield Running(simulation, broker, files)
    end_process(simulation, broker)


def end_process(simulation: Simulation, broker: Broker) -> None:
    """See `crashed`."""
    simulation.network.crash("broker")
    broker._services.produce_order.stop()
    broker._services.coordinators.stop()  # Their timers.
    broker._storage.directory.abandon()


def simulated(
    test: Callable[Concatenate[Simulation, P], Awaitable[None]],
) -> Callable[P, None]:
    """Run the test in virtual time; it is given the world."""

    @wraps(test)
    def run_test(*args: P.args, **kwargs: P.kwargs) -> None:
        async def main(simulation: Simulation) -> None:
            await test(simulation, *args, **kwargs)

        run(main, seed=1)

    return _without_first_parameter(test, run_test)


def served(
    **settings: str,
) -> Callable[[Callable[Concatenate[Running, P], Awaitable[None]]], Callable[P, None]]:
    """Run the test in virtual time; it is given a broker with these settings, with `_` for `.`."""
    keys = {key.replace("_", "."): value for key, value in settings.items()}

    def decorate(test: Callable[Concatenate[Running, P], Awaitable[None]]) -> Callable[P, None]:
        @wraps(test)
        def run_test(*args: P.args, **kwargs: P.kwargs) -> None:
            async def main(simulation: Simulation) -> None:
                async with start(simulation, settings=keys) as running:
                    await test(running, *args, **kwargs)

            run(main, seed=1)

        return _without_first_parameter(test, run_test)

    return decorate


def _without_first_parameter(
    test: Callable[..., object],  # `...`: only its signature is looked at.
    run_test: Callable[P, None],
) -> Callable[P, None]:
    """Tell pytest which fixtures and parameters are left."""
    parameters = list(inspect.signature(test).parameters.values())[1:]
    vars(run_test)["__signature__"] = inspect.Signature(parameters)
    del vars(run_test)["__wrapped__"]
    return run_test
