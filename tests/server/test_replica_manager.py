"""A disk that refuses what the metadata wants of one partition: that one is offline, no other."""

from __future__ import annotations

import logging
from struct import pack
from zlib import crc32

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.protocol.messages.fetch import FetchResponse
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.server.replica_manager import RETRY_MS
from kafkalite.testing.simulation import Simulation
from kafkalite.types import TopicPartition
from tests.server.cluster_of_two import two_brokers
from tests.server.requests import batch, fetch, fetched, produce, produced
from tests.server.running import FETCH, PRODUCE, Running, crashed, simulated, start

_OLD_BODY = b"\0" + bytes(1) + b"\xff" * 8
OLD_MESSAGE = pack(">qiI", 0, 4 + len(_OLD_BODY), crc32(_OLD_BODY)) + _OLD_BODY
"""One of magic 0, with neither key nor value."""


class RefusingFiles(MemoryFiles):
    """Refuses whatever names a path that begins with `refused`."""

    refused: str | None = None

    def _look(self, path: str) -> None:
        if self.refused is not None and path.startswith(self.refused):
            raise OSError(28, "No space left on device")

    def make_folder(self, path: str) -> None:
        self._look(path)
        super().make_folder(path)

    def rename(self, source: str, target: str, *, sync: bool = True) -> None:
        self._look(source)
        super().rename(source, target, sync=sync)

    def replace(self, path: str, data: bytes, *, sync: bool = True) -> None:
        self._look(path)
        super().replace(path, data, sync=sync)


async def codes(running: Running, topic: str, partition: int) -> tuple[int, int]:
    """What a produce and a fetch are answered."""
    client = await running.client()
    appended = await client.ask(
        produce(topic, {partition: batch(b"x")}, acks=1), PRODUCE, ProduceResponse
    )
    read = await client.ask(fetch(topic, {partition: 0}), FETCH, FetchResponse)
    return produced(appended)[0].error_code, fetched(read)[0].error_code


WELL = (ErrorCode.NONE, ErrorCode.NONE)
OFFLINE = (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.KAFKA_STORAGE_ERROR)


def offline(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was told of partitions that are out of use, in one line each time it was tried."""
    errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert all(record.exc_info is None for record in errors)
    return list(dict.fromkeys(record.getMessage() for record in errors))


@pytest.mark.parametrize("refused", ["t-0", "t-0/leader-epoch-checkpoint"])
@simulated
async def test_a_new_partition_that_the_disk_refuses(
    simulation: Simulation, caplog: pytest.LogCaptureFixture, refused: str
) -> None:
    files = RefusingFiles()
    async with start(simulation, files) as running:
        files.refused = refused
        await running.create("t", 2)
        files.refused = None
        assert await codes(running, "t", 0) == OFFLINE
        assert await codes(running, "t", 1) == WELL
        assert offline(caplog) == ["t-0 is offline: [Errno 28] No space left on device"]
        await running.delete("t")
        await running.create("t")
        assert await codes(running, "t", 0) == WELL


@simulated
async def test_an_offline_partition_is_tried_again_when_somebody_asks_for_it(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    files = RefusingFiles()
    async with start(simulation, files) as running:
        files.refused = "t-0"
        await running.create("t", 2)
        for _ in range(3):
            assert await codes(running, "t", 0) == OFFLINE
            await running.wait_ms(RETRY_MS)
        files.refused = None
        assert await codes(running, "t", 0) == WELL
        assert offline(caplog) == ["t-0 is offline: [Errno 28] No space left on device"]
        assert caplog.messages[-1] == "t-0 is in use again"


@simulated
async def test_an_epoch_that_cannot_begin_takes_its_partition_offline_until_the_next_one(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    files = RefusingFiles()
    async with two_brokers(simulation, files) as (running, other):
        other.create("t", [1, 2], [1, 2])
        other.create("u", [1, 2])
        assert await codes(running, "t", 0) == WELL
        files.refused = "t-0/"
        other.change("t", 0, leader=2)
        other.change("t", 0, leader=1)
        other.change("u", 0, leader=2)
        other.change("u", 0, leader=1)
        assert await codes(running, "t", 0) == OFFLINE
        assert await codes(running, "t", 1) == WELL
        assert await codes(running, "u", 0) == WELL
        assert offline(caplog) == ["t-0 is offline: [Errno 28] No space left on device"]
        files.refused = None
        other.change("t", 0, leader=2)
        other.change("t", 0, leader=1)
        assert await codes(running, "t", 0) == WELL
        assert running.partition("t").log.end_offset == 2


@simulated
async def test_an_offline_partition_is_deleted_and_made_again(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    files = RefusingFiles()
    async with two_brokers(simulation, files) as (running, other):
        other.create("t", [1, 2])
        assert await codes(running, "t", 0) == WELL
        files.refused = "t-0/"
        other.change("t", 0, leader=2)
        other.change("t", 0, leader=1)
        files.refused = None
        other.delete("t")
        other.create("t", [1, 2])
        assert await codes(running, "t", 0) == WELL
        assert running.partition("t").log.end_offset == 1


@simulated
async def test_a_deletion_that_the_disk_refuses_keeps_no_other_from_going(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    files = RefusingFiles()
    async with start(simulation, files) as running:
        await running.create("t", 2)
        await running.create("u")
        files.refused = "t-0"
        assert (await running.delete("t")).error_code == ErrorCode.NONE
        await running.wait_ms()
        assert files.exists("t-0")
        assert not files.exists("t-1")
        (told,) = offline(caplog)
        assert told.startswith("t-0 is deleted, and its folder stays: ")
        assert await codes(running, "u", 0) == WELL
    async with start(simulation, files) as running:
        assert files.exists("t-0"), "what cannot be set aside keeps nobody from starting"
        assert await codes(running, "u", 0) == WELL
    files.refused = None
    async with start(simulation, files) as running:
        assert not files.exists("t-0")


@simulated
async def test_one_record_of_an_old_format_keeps_one_partition_offline(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    files = MemoryFiles()
    async with crashed(simulation, files) as running:
        await running.create("t", 2)
        await running.produce("t", b"new", partition=1)
    files.open("t-0/00000000000000000000.log").append(OLD_MESSAGE)
    async with start(simulation, files) as running:
        assert await codes(running, "t", 0) == OFFLINE
        assert await running.read("t", partition=1) == [b"new"]
        (told,) = offline(caplog)
        assert told.startswith("t-0 is offline: ")
        assert "magic 0 or 1" in told
        key = TopicPartition("t", 0)
        assert key not in running.broker._storage.directory.logs
