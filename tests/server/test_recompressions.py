"""Large batches that a worker recompresses: in order, and nobody else waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from hashlib import sha256

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.ports.workers import InlineWorkers, T, Ts
from kafkalite.protocol.messages.produce import PartitionProduceResponse, ProduceResponse
from kafkalite.protocol.records.batch import read_header, write_header
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.server.recompressions import LARGE_BYTES
from kafkalite.testing.client import Client
from kafkalite.testing.simulation import Simulation
from kafkalite.types import ProducerEpoch, ProducerId, TimestampMs
from tests.log.log_fixtures import headers, stored
from tests.server.requests import produce, produced
from tests.server.running import PRODUCE, Running, make, simulated
from tests.server.transactions import TransactionalProducer, seen

VALUE = b"".join(sha256(b"%d" % number).digest() for number in range(LARGE_BYTES // 32))
TOPICS = {
    "gzip": {"compression.type": "gzip"},
    "timed": {"compression.type": "zstd", "message.timestamp.type": "LogAppendTime"},
    "plain": {},
}


class HeldWorkers(InlineWorkers):
    """Begin with nothing that is a recompression while they are held."""

    def __init__(self) -> None:
        super().__init__()
        self.free = asyncio.Event()
        self.free.set()

    async def run(self, function: Callable[[*Ts], T], *args: *Ts) -> T:
        if function.__name__ == "recompress_early":
            await self.free.wait()
        return await super().run(function, *args)


@asynccontextmanager
async def serving(simulation: Simulation) -> AsyncIterator[tuple[Running, HeldWorkers]]:
    workers, files = HeldWorkers(), MemoryFiles()
    async with make(simulation, files, workers=workers) as broker:
        running = Running(simulation, broker, files)
        for name, configs in TOPICS.items():
            await running.create(name, configs=configs)
        yield running, workers


def batch(
    running: Running, value: bytes = VALUE, sequence: int = -1, compression: int = 0
) -> bytearray:
    """Of one record; with a sequence, of an idempotent producer."""
    now = running.broker._ports.clock.now_ms()
    return build_batch(
        [Record(b"k", value, timestamp=now)],
        compression=Compression(compression),
        producer_id=ProducerId(-1 if sequence < 0 else 7),
        producer_epoch=ProducerEpoch(-1 if sequence < 0 else 0),
        base_sequence=sequence,
    )


def send(
    client: Client, topic: str, data: bytearray, acks: int = 1
) -> asyncio.Future[ProduceResponse]:
    return client.send(produce(topic, {0: bytes(data)}, acks=acks), PRODUCE, ProduceResponse)


async def answer(future: asyncio.Future[ProduceResponse]) -> PartitionProduceResponse:
    return produced(await future)[0]


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("compression", [0, 3])
@simulated
async def test_a_large_batch_is_stored_in_the_codec_of_its_topic(
    simulation: Simulation, acks: int, compression: int
) -> None:
    async with serving(simulation) as (running, _):
        client = await running.client()
        for offset in (0, 1):
            data = batch(running, compression=compression)
            told = await answer(send(client, "gzip", data, acks))
            assert (told.error_code, told.base_offset) == (0, offset)
        log = running.partition("gzip").log
        assert [header.compression for header in headers(stored(log))] == [Compression.GZIP] * 2
        assert await running.read("gzip") == [VALUE, VALUE]
        assert not running.broker._services.produce_order.lines


@simulated
async def test_the_brokers_time_is_that_of_the_append(simulation: Simulation) -> None:
    async with serving(simulation) as (running, workers):
        workers.free.clear()
        future = send(await running.client(), "timed", batch(running))
        await running.wait_ms(5000)
        workers.free.set()
        told = await answer(future)
        assert told.error_code == 0
        (header,) = headers(stored(running.partition("timed").log))
        assert (header.attributes, header.max_timestamp) == (4 | 8, told.log_append_time_ms)
        assert header.max_timestamp == TimestampMs(header.base_timestamp + 5000)


@simulated
async def test_a_connection_keeps_its_order_and_the_others_do_not_wait(
    simulation: Simulation,
) -> None:
    async with serving(simulation) as (running, workers):
        workers.free.clear()
        client, other = await running.client(), await running.client("other")
        waiting = [
            send(client, "gzip", batch(running, sequence=0)),
            send(client, "gzip", batch(running, b"small", sequence=1)),
            send(client, "plain", batch(running, b"first")),
            send(client, "gzip", batch(running, sequence=2)),
        ]
        told = await answer(send(other, "plain", batch(running, b"second")))
        assert (told.error_code, told.base_offset) == (0, 0)
        assert not any(future.done() for future in waiting)
        workers.free.set()
        answers = [await answer(future) for future in waiting]
        assert [(each.error_code, each.base_offset) for each in answers] == [
            (0, 0),
            (0, 1),
            (0, 1),
            (0, 2),
        ]
        assert await running.read("plain") == [b"second", b"first"]


@simulated
async def test_what_is_refused_is_told_as_without_a_worker(simulation: Simulation) -> None:
    async with serving(simulation) as (running, _):
        client = await running.client()
        data = batch(running)
        data[-1] ^= 1
        assert (await answer(send(client, "gzip", data))).error_code == ErrorCode.CORRUPT_MESSAGE
        data = batch(running)
        write_header(data, read_header(data)._replace(attributes=2))
        told = await answer(send(client, "gzip", data))
        assert told.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert running.partition("gzip").log.end_offset == 0


@simulated
async def test_without_an_answer(simulation: Simulation) -> None:
    async with serving(simulation) as (running, _):
        client = await running.client()
        data = batch(running)
        client.send_unanswered(produce("gzip", {0: bytes(data)}, acks=0), PRODUCE)
        told = await answer(send(client, "gzip", batch(running)))
        assert (told.error_code, told.base_offset) == (0, 1)
        data[-1] ^= 1
        client.send_unanswered(produce("gzip", {0: bytes(data)}, acks=0), PRODUCE)
        await client.wait_closed()


@simulated
async def test_who_hangs_up_has_produced_all_the_same(simulation: Simulation) -> None:
    async with serving(simulation) as (running, workers):
        workers.free.clear()
        client = await running.connect("leaving")
        send(client, "gzip", batch(running))
        await running.wait_ms()
        client.close()
        await running.wait_ms()
        workers.free.set()
        await running.wait_ms()
        assert running.partition("gzip").log.end_offset == 1


@simulated
async def test_large_batches_of_a_transaction_are_verified_once_they_are_recompressed(
    simulation: Simulation,
) -> None:
    async with serving(simulation) as (running, workers):
        producer = await TransactionalProducer.begin(running)
        assert await producer.send("gzip", VALUE) is ErrorCode.TRANSACTION_ABORTABLE
        assert await producer.add("gzip") is ErrorCode.NONE
        workers.free.clear()
        sent = asyncio.ensure_future(producer.send("gzip", VALUE))
        await running.wait_ms()
        assert not sent.done()
        workers.free.set()
        assert await sent is ErrorCode.NONE
        assert await seen(running, "gzip") == []
        assert await producer.end(commits=True) is ErrorCode.NONE
        assert await seen(running, "gzip") == [VALUE]
        (first, _) = headers(stored(running.partition("gzip").log))
        assert (first.compression, first.is_transactional) == (Compression.GZIP, True)
