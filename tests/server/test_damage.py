"""What is damaged on disk refuses its own partition, and nothing and nobody else."""

from __future__ import annotations

import asyncio

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.protocol.messages.list_offsets import ListOffsetsResponse
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.protocol.records.batch import read_header, write_header
from kafkalite.protocol.records.compression import Compression
from kafkalite.stores.losses import LostTopicsError
from kafkalite.stores.memory import MemoryStore
from kafkalite.testing.clock import START_MS
from kafkalite.testing.simulation import Simulation
from tests.log.trees import tree
from tests.server.group_requests import commit, committed, find
from tests.server.requests import batch, list_offsets, produce, produced
from tests.server.running import PRODUCE, Running, crashed, make, served, simulated, start


def undecodable() -> bytearray:
    """A batch whose header is sound, and whose records are no gzip as it says."""
    data = batch(bytes(100))
    header = read_header(data)
    write_header(data, header._replace(attributes=header.attributes | Compression.GZIP))
    return data


@served()
async def test_a_time_in_records_that_cannot_be_decoded_is_that_partitions_error_alone(
    running: Running,
) -> None:
    await running.create("t", 2)
    client = await running.client()
    request = produce("t", {0: undecodable(), 1: batch(b"good")})
    answers = produced(await client.ask(request, PRODUCE, ProduceResponse))
    assert [answer.error_code for answer in answers] == [0, 0], "only headers are checked"
    asked = list_offsets("t", (0, START_MS), (1, START_MS))
    bad, good = (await client.ask(asked, 7, ListOffsetsResponse)).topics[0].partitions
    assert bad.error_code == ErrorCode.CORRUPT_MESSAGE
    assert (good.error_code, good.offset) == (ErrorCode.NONE, 0)
    assert await running.read("t", partition=1) == [b"good"]


@simulated
async def test_a_start_that_failed_may_be_tried_again_at_the_same_store(
    simulation: Simulation,
) -> None:
    store = MemoryStore("cluster", simulation.clock)
    files = MemoryFiles()
    taken = simulation.network.node("broker").listen("localhost", 9092, lambda peer: None)
    with pytest.raises(OSError, match="9092"):
        await make(simulation, files, store=store).__aenter__()
    taken.close()
    async with start(simulation, files, store=store) as running:
        await running.create("t")


@simulated
async def test_a_stop_that_is_cancelled_still_leaves_the_folder(simulation: Simulation) -> None:
    files = MemoryFiles()
    broker = make(simulation, files)
    await broker.__aenter__()
    stuck = await Running(simulation, broker, files).client()
    assert stuck is not None
    stop = asyncio.ensure_future(broker.__aexit__(None, None, None))
    await simulation.sleep(0)
    stop.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stop
    async with start(simulation, files) as running:
        await running.create("t")


@simulated
async def test_a_loss_of_power_that_takes_a_topic_and_leaves_its_partition_is_told(
    simulation: Simulation,
) -> None:
    files = MemoryFiles(models_crashes=True)
    async with start(simulation, files) as running:
        await running.create("kept")
    async with crashed(simulation, files) as running:
        await running.create("lost")
        await running.produce("lost", b"x")
        running.partition("lost").log.sync()
    files.crash()
    before = tree(files)
    with pytest.raises(LostTopicsError, match="the topics of lost-0"):
        await make(simulation, files).__aenter__()
    assert tree(files) == before
    files.rename("lost-0", "away")
    async with start(simulation, files) as running:
        assert list(running.broker.image.topics) == ["kept"]


@simulated
async def test_a_commit_whose_bytes_have_changed_is_not_believed(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    files = MemoryFiles()
    async with start(simulation, files, settings={"offsets.topic.num.partitions": "1"}) as running:
        await running.create("t")
        await find(running)
        assert await commit(running, "t", 7) == ErrorCode.NONE
        assert await committed(running, "t") == 7
    name = "__consumer_offsets-0/00000000000000000000.log"
    file = files.open(name)
    data = file.read(0, file.size)
    at = data.index((7).to_bytes(8, "big"), data.index(b"group"))
    file.write_at(at, (9).to_bytes(8, "big"))
    async with start(simulation, files) as running:
        assert await committed(running, "t") == -100 - ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    (told,) = {each.getMessage() for each in caplog.records if each.levelname == "ERROR"}
    assert told == "__consumer_offsets-0 cannot be read: the batch at offset 0 has a wrong CRC"
    assert not any(each.exc_info for each in caplog.records)
