"""The skeleton's scenario, written once: a fetch that waits, and a produce that wakes it.

`test_four_ways.py` runs it in simulation, over real sockets on a frozen clock, on memory files, and
with an injected fault. Run as a program it prints the trace of a simulation, so that a test can
compare two processes: `python skeleton.py SEED`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from kafkalite.config.views import BrokerConfig
from kafkalite.errors import ErrorCode
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.ports.network import Address, Network
from kafkalite.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafkalite.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafkalite.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafkalite.protocol.records.batch import read_header
from kafkalite.protocol.records.record import Record, build_batch, read_records
from kafkalite.server.broker import Broker
from kafkalite.server.broker_parts import Ports
from kafkalite.testing.client import Client
from kafkalite.testing.clock import START_MS
from kafkalite.testing.simulation import Simulation, run
from kafkalite.types import Offset, TimestampMs

TOPIC = "poem"
TEN_MINUTES_MS = 600_000
VALUE = b"the fog comes"

FETCH_VERSION = 12
PRODUCE_VERSION = 9
METADATA_VERSION = 9


@dataclass
class Scene:
    """A broker's address, a network to reach it by, and where to tell what happens."""

    network: Network
    address: Address
    say: Callable[[str], None]

    async def client(self, name: str) -> Client:
        return await Client.connect(self.network, self.address, name)


def fetch_request(
    offset: int, *, max_wait_ms: int = TEN_MINUTES_MS, min_bytes: int = 1
) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        topics=[FetchTopic(topic=TOPIC, partitions=[partition])],
    )


def produce_request(value: bytes = VALUE, *, acks: int = -1) -> ProduceRequest:
    batch = build_batch(
        [Record(offset=Offset(0), timestamp=TimestampMs(START_MS), key=None, value=value)]
    )
    data = PartitionProduceData(index=0, records=batch)
    return ProduceRequest(
        acks=acks,
        timeout_ms=30_000,
        topic_data=[TopicProduceData(name=TOPIC, partition_data=[data])],
    )


def values(response: FetchResponse) -> list[bytes]:
    """Of the first partition's first batch."""
    data = response.responses[0].partitions[0]
    assert data.error_code == ErrorCode.NONE, data
    records = data.records
    assert isinstance(records, memoryview)
    if not records:
        return []
    header = read_header(records)
    return [bytes(record.value or b"") for record in read_records(records, 0, header)]


async def make_topic(client: Client) -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])
    response = await client.ask(request, METADATA_VERSION, MetadataResponse)
    assert response.topics[0].error_code == ErrorCode.NONE


async def one_produce_wakes_one_fetch(scene: Scene) -> None:
    consumer, producer = await scene.client("consumer"), await scene.client("producer")
    await make_topic(producer)
    scene.say("the topic is there")
    fetched = consumer.send(fetch_request(0), FETCH_VERSION, FetchResponse)
    # An answer on the same connection would come after the fetch's, so another one tells that the
    # broker has taken the fetch up: requests of one turn are handled in the order they came.
    await make_topic(await scene.client("other"))
    assert not fetched.done(), "there is nothing to fetch yet"
    produced = await producer.ask(produce_request(), PRODUCE_VERSION, ProduceResponse)
    answer = produced.responses[0].partition_responses[0]
    assert (answer.error_code, answer.base_offset) == (ErrorCode.NONE, 0)
    scene.say("produced")
    assert values(await fetched) == [VALUE]
    scene.say("fetched")


async def simulated(simulation: Simulation) -> None:
    """One broker in virtual time, over the memory network and memory files."""
    ports = Ports(
        simulation.clock,
        simulation.entropy,
        simulation.network.node("broker"),
        MemoryFiles(),
        simulation.workers,
    )
    config = BrokerConfig.of({"listeners": "PLAINTEXT://localhost:9092"})
    async with Broker(config, ports, location="memory", checks_views=True) as broker:
        simulation.trace.add(f"cluster {broker.cluster_id}")
        network = simulation.network.node("client")
        await one_produce_wakes_one_fetch(Scene(network, broker.addresses[0], simulation.trace.add))


if __name__ == "__main__":
    sys.stdout.write("\n".join(run(simulated, int(sys.argv[1])).lines))
