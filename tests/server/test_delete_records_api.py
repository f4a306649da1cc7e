"""DeleteRecords while a broker runs: fetches, offsets, restarts and crashes after it. What it
answers to odd requests is in `test_admin_answers.py`."""

from __future__ import annotations

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from kafkalite.protocol.messages.fetch import FetchResponse
from kafkalite.protocol.messages.list_offsets import ListOffsetsResponse
from kafkalite.server.apis import delete_records
from kafkalite.testing.simulation import Simulation
from tests.server.cluster_of_two import OTHER, two_brokers
from tests.server.led_partitions import follower_at
from tests.server.requests import batch, fetch, fetched, list_offsets
from tests.server.running import FETCH, Running, crashed, served, simulated, start

HIGH_WATERMARK = -1
EARLIEST = -2
CHECKPOINT_MS = 60_000
FIRST_CHECKPOINT_MS = 30_000


async def delete(
    running: Running, offset: int, topic: str = "t", version: int = 2
) -> DeleteRecordsPartitionResult:
    partition = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=topic, partitions=[partition])], timeout_ms=1_000
    )
    answer = await (await running.client()).ask(request, version, DeleteRecordsResponse)
    return answer.topics[0].partitions[0]


async def earliest(running: Running) -> int:
    client = await running.client()
    answer = await client.ask(list_offsets("t", (0, EARLIEST)), 7, ListOffsetsResponse)
    return answer.topics[0].partitions[0].offset


async def filled(running: Running, count: int = 4) -> None:
    """One record a batch."""
    await running.create("t")
    for n in range(count):
        await running.produce("t", b"%d" % n)


@pytest.mark.parametrize("version", range(3))
@served()
async def test_records_below_are_gone(running: Running, version: int) -> None:
    await filled(running)
    result = await delete(running, 2, version=version)
    assert (result.error_code, result.low_watermark) == (ErrorCode.NONE, 2)
    assert await earliest(running) == 2
    assert await running.read("t", 2) == [b"2", b"3"]
    client = await running.client()
    (below,) = fetched(await client.ask(fetch("t", {0: 1}), FETCH, FetchResponse))
    assert below.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    (at,) = fetched(await client.ask(fetch("t", {0: 2}), FETCH, FetchResponse))
    assert at.log_start_offset == 2


@served()
async def test_all_records_go_and_appends_go_on(running: Running) -> None:
    await filled(running)
    assert (await delete(running, HIGH_WATERMARK)).low_watermark == 4
    assert await running.read("t", 4) == []
    assert await running.produce("t", b"next") == 4
    assert await running.read("t", 4) == [b"next"]


@simulated
async def test_the_start_survives_a_clean_stop(simulation: Simulation) -> None:
    files = MemoryFiles()
    async with start(simulation, files) as running:
        await filled(running)
        await delete(running, 3)
    async with start(simulation, files) as running:
        assert await earliest(running) == 3
        assert await running.read("t", 3) == [b"3"]


@simulated
async def test_the_start_survives_a_crash_once_the_checkpoint_is_written(
    simulation: Simulation,
) -> None:
    files = MemoryFiles()
    async with crashed(simulation, files) as running:
        await filled(running)
        await delete(running, 3)
        await running.wait_ms(CHECKPOINT_MS + 1)
    async with crashed(simulation, files) as running:
        assert await earliest(running) == 3
        await running.wait_ms(CHECKPOINT_MS + 1)
    async with start(simulation, files) as running:
        assert await earliest(running) == 3, "and is still there at the next checkpoint"


@simulated
async def test_before_the_checkpoint_a_crash_brings_records_back(simulation: Simulation) -> None:
    """As in Kafka: nothing was lost but the wish."""
    files = MemoryFiles()
    async with crashed(simulation, files) as running:
        await filled(running)
        await delete(running, 3)
        await running.wait_ms(FIRST_CHECKPOINT_MS - 1)
    async with start(simulation, files) as running:
        assert await earliest(running) == 0
        assert await running.read("t") == [b"0", b"1", b"2", b"3"]


@served()
async def test_a_checkpoint_that_cannot_be_written_is_tried_again(
    running: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await filled(running)
    await delete(running, 3)

    def refuse(path: str, data: bytes, *, sync: bool = True) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(running.files, "replace", refuse)
        await running.wait_ms(CHECKPOINT_MS + 1)
    assert "log-start-offset-checkpoint cannot be written" in caplog.text
    assert not running.files.exists("log-start-offset-checkpoint")
    await running.wait_ms(CHECKPOINT_MS + 1)
    assert running.files.exists("log-start-offset-checkpoint")


@simulated
async def test_only_the_leader_deletes(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", [2, 1])
        result = await delete(running, 0)
        assert (result.error_code, result.low_watermark) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)


@simulated
async def test_what_is_not_committed_is_not_deleted(simulation: Simulation) -> None:
    async with two_brokers(simulation) as (running, other):
        other.create("t", [1, 2])
        running.partition("t").append(memoryview(batch(b"x")), 1, simulation.clock.now_ms())
        assert (await delete(running, 1)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        follower_at(running.partition("t"), OTHER, 0)
        result = await delete(running, HIGH_WATERMARK)
        assert (result.error_code, result.low_watermark) == (ErrorCode.NONE, 0)


@served()
async def test_the_offsets_of_groups_are_not_deleted_by_hand(running: Running) -> None:
    await running.create("__consumer_offsets")
    result = await delete(running, 0, "__consumer_offsets")
    assert result.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


@served()
async def test_a_disk_that_refuses_is_told(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(running)

    def refuse(_log: object, _offset: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(delete_records, "delete_records", refuse)
    result = await delete(running, 1)
    assert (result.error_code, result.low_watermark) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
