"""A disk that takes nothing for a while: whatever is to be written is refused by an error that
clients try again after, it is told once, and all goes on when there is room."""

from __future__ import annotations

import logging
from collections import Counter
from errno import ENOSPC

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.testing.simulation import Simulation
from tests.log.refusing_disk import RefusingDisk
from tests.server.group_requests import commit, committed, find
from tests.server.requests import batch, produce, produced
from tests.server.running import PRODUCE, Running, creatable, simulated, start
from tests.server.transactions import find_coordinator, init

NOT_COORDINATOR, NOT_CONTROLLER, STORAGE = (
    int(ErrorCode.NOT_COORDINATOR),
    int(ErrorCode.NOT_CONTROLLER),
    int(ErrorCode.KAFKA_STORAGE_ERROR),
)
A_MINUTE_MS = 60_000
SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "log.retention.check.interval.ms": "1000",
    "log.flush.offset.checkpoint.interval.ms": "1000",
    "log.flush.start.offset.checkpoint.interval.ms": "1000",
}


async def codes(running: Running, topic: str) -> list[int]:
    """Of a Produce, a CreateTopics, an OffsetCommit and an InitProducerId."""
    request = produce("t", {0: batch(b"x")}, acks=1)
    answer = await (await running.client()).ask(request, PRODUCE, ProduceResponse)
    return [
        produced(answer)[0].error_code,
        (await running.ask_to_create(creatable(topic))).error_code,
        await commit(running, "t", 7),
        (await init(running)).error_code,
    ]


@simulated
async def test_all_that_is_written_is_refused_and_told_once(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    disk = RefusingDisk()
    refused = [STORAGE, NOT_CONTROLLER, NOT_COORDINATOR, NOT_COORDINATOR]
    async with start(simulation, disk, settings=SETTINGS) as running:
        await running.create("t")
        await find(running)
        await find_coordinator(running)
        assert await codes(running, "topic-0") == [0, 0, 0, 0]
        for trouble in (1, 2):
            caplog.clear()
            disk.error, disk.may_read = ENOSPC, True
            for _ in range(3):
                assert await codes(running, "full") == refused
                assert await committed(running, "t") == 7
                await running.wait_ms(A_MINUTE_MS)
            disk.error = None
            await running.wait_ms(1_000)
            assert await codes(running, f"topic-{trouble}") == [0, 0, 0, 0]
            assert await running.read("t") == [b"x"] * (trouble + 1)
            told = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
            assert set(Counter(told).values()) == {1}
            # Of three checkpoints one has news the second time.
            assert len(told) == {1: 9, 2: 7}[trouble]
            assert "the disk of memory refuses (No space left on device)" in told[0]
            assert told[-1] == "the disk of memory takes records again"


@simulated
async def test_a_coordinators_topic_that_cannot_be_made_is_told_once(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    """However often clients ask again, and once more if the disk fills again."""
    caplog.set_level(logging.INFO)
    disk = RefusingDisk()

    async def found(running: Running, group: str, key_type: int = 0) -> int:
        request = FindCoordinatorRequest(key=group, key_type=key_type)
        client = await running.client()
        return (await client.ask(request, 3, FindCoordinatorResponse)).error_code

    def told() -> list[str]:
        lines = (each for each in caplog.records if each.name.endswith("topic_creation"))
        return [each.getMessage() for each in lines if each.levelno >= logging.INFO]

    async with start(simulation, disk) as running:
        disk.error, disk.may_read = ENOSPC, True
        for _ in range(5):
            assert await found(running, "g") == ErrorCode.COORDINATOR_NOT_AVAILABLE
            await running.wait_ms(1_000)
        (line,) = told()
        assert line.startswith("__consumer_offsets cannot be made: ")
        assert "[Errno 28]" in line
        disk.error = None
        await running.wait_ms(1_000)
        assert await found(running, "g") == ErrorCode.NONE
        assert [text.partition(":")[2] for text in told()[1:]] == [
            " replication factor 1 instead of 3 (offsets.topic.replication.factor), "
            "min.insync.replicas at most that: there are only so many brokers"
        ]
        caplog.clear()
        disk.error = ENOSPC
        for _ in range(3):
            assert await found(running, "t", 1) == ErrorCode.COORDINATOR_NOT_AVAILABLE
            await running.wait_ms(1_000)
        assert [text.split()[0] for text in told()] == ["__transaction_state"]
        disk.error = None
        await running.wait_ms(1_000)
        assert await found(running, "t", 1) == ErrorCode.NONE
        assert running.broker._services.creation_troubles == {}
