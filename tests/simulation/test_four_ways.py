"""One scenario, four ways to run, the same code of the product in each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kafkalite.config.views import BrokerConfig
from kafkalite.log.files import Files
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.files_os import OsFiles
from kafkalite.ports.clock import Clock, RealClock
from kafkalite.ports.entropy import RealEntropy
from kafkalite.ports.network_sockets import SocketNetwork
from kafkalite.ports.workers import ThreadWorkers
from kafkalite.protocol.messages.fetch import FetchResponse
from kafkalite.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkalite.protocol.schema import Request, Response
from kafkalite.server.broker import Broker
from kafkalite.server.broker_parts import Ports
from kafkalite.server.interceptor import Fault, Interceptor, LoseAnswer
from kafkalite.server.request import RequestContext
from kafkalite.testing.clock import SteerableClock
from kafkalite.testing.simulation import run
from tests.simulation.seed_runs import trace_of_a_process
from tests.simulation.skeleton import (
    FETCH_VERSION,
    PRODUCE_VERSION,
    TEN_MINUTES_MS,
    VALUE,
    Scene,
    fetch_request,
    make_topic,
    one_produce_wakes_one_fetch,
    produce_request,
    simulated,
    values,
)

SCENARIO = Path(__file__).with_name("skeleton.py")


@asynccontextmanager
async def over_sockets(
    clock: Clock, files: Files, interceptor: Interceptor | None = None
) -> AsyncIterator[Scene]:
    network = SocketNetwork(clock)
    ports = Ports(clock, RealEntropy(), network, files, ThreadWorkers())
    config = BrokerConfig.of({"listeners": "PLAINTEXT://127.0.0.1:0"})
    broker = Broker(config, ports, location="test", interceptor=interceptor, checks_views=True)
    async with broker:
        yield Scene(network, broker.addresses[0], lambda line: None)


# 1. In simulation.


def test_in_simulation_the_same_seed_gives_the_same_trace() -> None:
    traces = [run(simulated, seed).lines for seed in (7, 7, 8)]
    assert traces[0] == traces[1]
    assert traces[0] != traces[2], "another seed gives other ids"


def test_in_simulation_two_processes_with_other_hash_seeds_give_the_same_trace() -> None:
    traces = {trace_of_a_process(SCENARIO, 7, hash_seed) for hash_seed in (1, 2)}
    assert len(traces) == 1
    assert "fetched" in traces.pop()


# 2. Over real sockets, with a frozen clock.


@pytest.mark.anyio
async def test_over_sockets_a_long_poll_of_ten_minutes_returns_on_advance(tmp_path: Path) -> None:
    clock = SteerableClock()
    async with over_sockets(clock, OsFiles(str(tmp_path))) as scene:
        consumer, other = await scene.client("consumer"), await scene.client("other")
        await make_topic(other)
        fetched = consumer.send(fetch_request(0), FETCH_VERSION, FetchResponse)
        await make_topic(other)
        clock.advance(TEN_MINUTES_MS - 1)
        await make_topic(other)
        assert not fetched.done()
        clock.advance(1)
        assert values(await fetched) == []


@pytest.mark.anyio
async def test_over_sockets_a_produce_wakes_a_fetch_while_time_stands_still(
    tmp_path: Path,
) -> None:
    async with over_sockets(SteerableClock(), OsFiles(str(tmp_path))) as scene:
        await one_produce_wakes_one_fetch(scene)


# 3. On memory files.


@pytest.mark.anyio
async def test_on_memory_files() -> None:
    async with over_sockets(RealClock(), MemoryFiles()) as scene:
        await one_produce_wakes_one_fetch(scene)


# 4. With an injected fault.


class FirstProduce:
    """Gives one fault to the first Produce, and counts all, and their answers."""

    def __init__(self, fault: Fault) -> None:
        self.fault: Fault | None = fault
        self.produced = 0
        self.answered = 0

    def request(self, ctx: RequestContext, request: Request) -> Fault | None:
        if not isinstance(request, ProduceRequest):
            return None
        self.produced += 1
        fault, self.fault = self.fault, None
        return fault

    def response(self, ctx: RequestContext, request: Request, response: Response) -> None:
        self.answered += isinstance(response, ProduceResponse)


@pytest.mark.anyio
async def test_with_a_fault_that_loses_the_answer_the_records_are_there() -> None:
    interceptor = FirstProduce(LoseAnswer())
    async with over_sockets(RealClock(), MemoryFiles(), interceptor) as scene:
        consumer, producer = await scene.client("consumer"), await scene.client("producer")
        await make_topic(consumer)
        with pytest.raises(ConnectionError):
            await producer.ask(produce_request(), PRODUCE_VERSION, ProduceResponse)
        fetched = await consumer.ask(fetch_request(0), FETCH_VERSION, FetchResponse)
        assert values(fetched) == [VALUE]
        await one_produce_after(scene)
    assert (interceptor.produced, interceptor.answered) == (2, 1), "the lost one is not shown"


async def one_produce_after(scene: Scene) -> None:
    """The fault was for one request; the next one is served."""
    producer = await scene.client("again")
    produced = await producer.ask(produce_request(), PRODUCE_VERSION, ProduceResponse)
    assert produced.responses[0].partition_responses[0].base_offset == 1
