"""What is committed only once it is on the disk, in a broker whose time is the test's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, TypeVarTuple

import pytest

from kafkalite.errors import ErrorCode
from kafkalite.log.checkpoints import RECOVERY_POINTS, read_offsets
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.ports.clock import Clock
from kafkalite.ports.workers import InlineWorkers
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.testing.simulation import Simulation
from kafkalite.types import TopicPartition
from tests.server.requests import batch, produce, produced
from tests.server.running import PRODUCE, Running, crashed, served, simulated, start

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


def log_of(running: Running, index: int = 0) -> tuple[int, int, int]:
    """What of it is on the disk, is committed, and is there."""
    partition = running.partition("t", index)
    return (
        partition.log.recovery_point,
        partition.leading.high_watermark,
        partition.log.end_offset,
    )


class SlowDisk:
    """Syncs of files wait until the test lets them end; how many there were of each."""

    def __init__(
        self, patch: pytest.MonkeyPatch, *, takes_ms: int = 0, clock: Clock | None = None
    ) -> None:
        """With a clock they end after a while by themselves."""
        self.syncs = 0
        self.waiting: list[asyncio.Future[None]] = []
        run = InlineWorkers.run

        async def wait(workers: InlineWorkers, function: Callable[[*Ts], T], *args: *Ts) -> T:
            if getattr(function, "__name__", "") == "run":
                self.syncs += 1
                done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                if clock is None:
                    self.waiting.append(done)
                else:
                    clock.call_at(clock.now_ms() + takes_ms, lambda: done.set_result(None))
                await done
            return await run(workers, function, *args)

        patch.setattr(InlineWorkers, "run", wait)

    def end_all(self) -> None:
        waiting, self.waiting = self.waiting, []
        for done in waiting:
            done.set_result(None)


@served()
async def test_by_default_nothing_waits_for_the_disk(running: Running) -> None:
    await running.create("t")
    await running.produce("t", b"x")
    await running.wait_ms(1)
    assert log_of(running) == (0, 1, 1)


@served(kafkalite_fsync="true")
async def test_what_is_acknowledged_is_on_the_disk(running: Running) -> None:
    await running.create("t")
    for offset in range(3):
        assert await running.produce("t", b"x") == offset
        assert log_of(running) == (offset + 1,) * 3
    assert await running.read("t") == [b"x"] * 3


@served(kafkalite_fsync="true")
async def test_until_then_nobody_is_answered_and_nobody_sees_it(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    await running.create("t")
    disk = SlowDisk(monkeypatch)
    one = asyncio.ensure_future(running.produce("t", b"1"))
    reader = asyncio.ensure_future(running.read("t"))
    await running.wait_ms(10)
    assert (one.done(), log_of(running)) == (False, (0, 0, 1))
    disk.end_all()
    assert await one == 0
    await running.wait_ms(1)
    assert log_of(running) == (1, 1, 1)
    await reader
    assert await running.read("t") == [b"1"]


@served(kafkalite_fsync="true")
async def test_those_who_wait_together_share_a_sync(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    await running.create("t")
    disk = SlowDisk(monkeypatch)
    first = asyncio.ensure_future(running.produce("t", b"0", client="0"))
    await running.wait_ms(10)
    others = [asyncio.ensure_future(running.produce("t", b"x", client=str(n))) for n in range(1, 8)]
    await running.wait_ms(10)
    disk.end_all()
    await running.wait_ms(1)
    assert first.done()
    assert not any(other.done() for other in others)
    assert log_of(running) == (1, 1, 8)
    disk.end_all()
    assert sorted(await asyncio.gather(*others)) == list(range(1, 8))
    assert disk.syncs == 2
    assert log_of(running) == (8, 8, 8)


@served(kafkalite_fsync="true")
async def test_partitions_do_not_wait_for_each_other(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    await running.create("t", 3)
    disk = SlowDisk(monkeypatch)
    all_of_them = [
        asyncio.ensure_future(running.produce("t", b"x", partition=n, client=str(n)))
        for n in range(3)
    ]
    await running.wait_ms(10)
    assert len(disk.waiting) == 3
    disk.end_all()
    assert await asyncio.gather(*all_of_them) == [0, 0, 0]


@served(kafkalite_fsync="true")
async def test_so_does_who_asks_the_leader_alone(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with `flush.messages` in Kafka, which syncs within the append."""
    await running.create("t")
    disk = SlowDisk(monkeypatch)
    request = produce("t", {0: batch(b"x")}, acks=1)
    client = await running.client()
    asked = asyncio.ensure_future(client.ask(request, PRODUCE, ProduceResponse))
    await running.wait_ms(10)
    assert (asked.done(), log_of(running)) == (False, (0, 0, 1))
    disk.end_all()
    assert produced(await asked)[0].error_code == ErrorCode.NONE
    assert log_of(running) == (1, 1, 1)


@served()
async def test_flush_messages_of_a_topic(running: Running) -> None:
    await running.create("t", configs={"flush.messages": "3"})
    for end, synced in ((1, 0), (2, 0), (3, 3), (4, 3), (5, 3), (6, 6)):
        await running.produce("t", b"x")
        await running.wait_ms(1)
        assert log_of(running) == (synced, end, end)


@served(log_flush_scheduler_interval_ms="1000", log_initial_task_delay_ms="0")
async def test_flush_ms_of_a_topic(running: Running) -> None:
    await running.create("t", configs={"flush.ms": "5000"})
    await running.create("other", configs={"flush.ms": "10000000"})
    await running.wait_ms(10)
    await running.produce("t", b"x")
    await running.produce("other", b"x")
    await running.wait_ms(4_900)
    assert log_of(running) == (0, 1, 1)
    await running.wait_ms(1_100)
    assert log_of(running) == (1, 1, 1)
    assert running.partition("other").log.recovery_point == 0


@served()
async def test_a_segment_that_is_full_is_synced(running: Running) -> None:
    await running.create("t", configs={"internal.segment.bytes": "100"})
    await running.produce("t", b"0")
    assert log_of(running)[0] == 0
    await running.produce("t", b"1")
    await running.wait_ms(1)
    assert log_of(running) == (2, 2, 2)


@simulated
async def test_no_record_is_synced_before_its_topic(simulation: Simulation) -> None:
    """Or else the power takes the topic and leaves the record, and the broker does not start."""
    files = MemoryFiles(models_crashes=True)
    async with crashed(simulation, files) as running:
        await running.create("t", configs={"flush.messages": "1"})
        await running.produce("t", b"x")
    files.crash()
    async with start(simulation, files) as running:
        assert await running.read("t") == [b"x"]


@simulated
async def test_recovery_points_are_written_as_time_goes_by(simulation: Simulation) -> None:
    files = MemoryFiles(models_crashes=True)
    settings = {"kafkalite.fsync": "true"}
    async with crashed(simulation, files, settings=settings) as running:
        await running.create("t", configs={"internal.segment.bytes": "100"})
        for value in (b"x", b"y", b"z"):
            await running.produce("t", value)
        await running.wait_ms(90_001)
    files.crash()
    assert read_offsets(files, RECOVERY_POINTS)[TopicPartition("t", 0)] == 2, (
        "where the last begins"
    )
    async with start(simulation, files, settings=settings) as running:
        assert await running.read("t", 2) == [b"z"]


@simulated
async def test_what_was_not_synced_before_a_kill_is_before_it_is_seen(
    simulation: Simulation,
) -> None:
    """Or else a producer that sends it again is told that it is there, and it is lost with the
    power."""
    files = MemoryFiles(models_crashes=True)
    async with crashed(simulation, files) as running:
        await running.create("t")
        await running.produce("t", b"x")
    async with crashed(simulation, files, settings={"kafkalite.fsync": "true"}) as running:
        assert await running.read("t") == [b"x"]
        assert log_of(running) == (1, 1, 1)
    files.crash()
    async with start(simulation, files) as running:
        assert await running.read("t") == [b"x"]


@simulated
async def test_a_disk_that_refuses_a_sync_is_the_end(simulation: Simulation) -> None:
    """Asked again it might say that all is well, and have lost what it refused."""
    files = MemoryFiles(models_crashes=True)
    async with start(simulation, files, settings={"kafkalite.fsync": "true"}) as running:
        await running.create("t")
        with pytest.MonkeyPatch.context() as broken:

            def refuse(path: str) -> None:
                raise OSError(5, "Input/output error")

            broken.setattr(files, "sync_file", refuse)
            client = await running.client()
            with pytest.raises((ConnectionError, EOFError)):
                await client.ask(produce("t", {0: batch(b"x")}), PRODUCE, ProduceResponse)
        assert running.broker.failure is not None
        assert "has failed" in str(running.broker.failure)


@simulated
async def test_a_stop_answers_those_who_wait_for_a_sync(simulation: Simulation) -> None:
    with pytest.MonkeyPatch.context() as patch:
        async with start(simulation, settings={"kafkalite.fsync": "true"}) as running:
            await running.create("t")
            disk = SlowDisk(patch)
            produced = asyncio.ensure_future(running.produce("t", b"x"))
            await running.wait_ms(10)
            simulation.clock.call_at(simulation.clock.now_ms() + 100, disk.end_all)
        assert await produced == 0


@simulated
async def test_a_stop_does_not_wait_for_those_who_go_on(simulation: Simulation) -> None:
    async def send_on(running: Running, after_ms: int) -> None:
        """While one waits for a sync the other asks for the next."""
        client = await running.client(f"after {after_ms}")
        await running.wait_ms(after_ms)
        with suppress(ConnectionError):
            while True:
                await client.ask(produce("t", {0: batch(b"y")}), PRODUCE, ProduceResponse)

    with pytest.MonkeyPatch.context() as patch:
        async with start(simulation, settings={"kafkalite.fsync": "true"}) as running:
            await running.create("t")
            disk = SlowDisk(patch, takes_ms=100, clock=simulation.clock)
            others = [asyncio.ensure_future(send_on(running, ms)) for ms in (0, 50)]
            await running.wait_ms(950)
            begun_ms = simulation.clock.now_ms()
        assert simulation.clock.now_ms() - begun_ms < 1_000
        assert disk.syncs > 5
        await asyncio.gather(*others)


@simulated
async def test_a_stop_does_not_wait_for_ever(simulation: Simulation) -> None:
    with pytest.MonkeyPatch.context() as patch:
        async with start(simulation, settings={"kafkalite.fsync": "true"}) as running:
            await running.create("t")
            disk = SlowDisk(patch)
            request = produce("t", {0: batch(b"x")})
            client = await running.client()
            produced_one = asyncio.ensure_future(client.ask(request, PRODUCE, ProduceResponse))
            await running.wait_ms(10)
            simulation.clock.call_at(simulation.clock.now_ms() + 10_000, disk.end_all)
        (answer,) = produced(await produced_one)
        assert answer.error_code == ErrorCode.REQUEST_TIMED_OUT
