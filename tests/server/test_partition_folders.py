"""Folders of partitions that workers make and remove, in a process whose time is the test's."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.ports.complaints import EVERY_MS
from kafkalite.ports.workers import InlineWorkers
from kafkalite.server.partition_folders import PartitionFolders
from kafkalite.testing.simulation import Simulation
from kafkalite.types import LeaderEpoch, TopicPartition, Uuid
from tests.log.log_fixtures import EPOCH, TOPIC_ID, append, batch, close
from tests.log.test_directories import ORDERS, UNIQUE, open_directory, open_orders
from tests.server.running import simulated

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class HeldWorkers(InlineWorkers):
    """What is asked of them is done, and its end is told when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self, function: Callable[[*Ts], T], *args: *Ts) -> T:
        result = function(*args)
        await self.done
        return result


class SlowWorkers(HeldWorkers):
    """Each thing that is asked of them takes ten milliseconds."""

    def __init__(self, simulation: Simulation) -> None:
        super().__init__()
        self._simulation = simulation

    async def run(self, function: Callable[[*Ts], T], *args: *Ts) -> T:
        await self._simulation.sleep(10)
        return function(*args)


class Building:
    """A log whose folder is being made by a worker."""

    def __init__(
        self,
        simulation: Simulation,
        tasks: asyncio.TaskGroup,
        workers: HeldWorkers | None = None,
    ) -> None:
        self.simulation = simulation
        self.files = MemoryFiles()
        self.directory = open_directory(self.files)
        self.workers = workers or HeldWorkers()
        self.building = PartitionFolders(
            tasks, self.workers, simulation.clock, simulation.entropy, self.directory
        )
        self.log = open_orders(self.directory)
        self.log.begin_epoch(EPOCH)
        self.building.make_later(ORDERS, self.log)

    def make_more(self, count: int) -> None:
        """Further partitions, from 4 on, that have no folder yet."""
        for index in range(4, 4 + count):
            partition = TopicPartition("orders", index)
            log = self.directory.open_partition(
                partition,
                topic_id=TOPIC_ID,
                config=TopicConfig(),
                now=self.simulation.clock.now_ms(),
            )
            self.building.make_later(partition, log)

    def folders(self) -> list[str]:
        """Of partitions; a worker's have a name of their own."""
        return [name.partition(".")[0] for name in self.files.list("") if name.startswith("orders")]


@simulated
async def test_a_folder_that_a_worker_made_is_the_logs(simulation: Simulation) -> None:
    async with asyncio.TaskGroup() as tasks:
        world = Building(simulation, tasks)
        await simulation.sleep(1)
        assert world.folders() == ["orders-3"]
        assert not world.files.exists("orders-3")
        world.log.begin_epoch(LeaderEpoch(EPOCH + 1))
        world.workers.done.set_result(None)
        await simulation.sleep(1)
        assert world.log.folder.exists
        assert world.files.exists("orders-3")
    append(world.log, batch())
    close(world.directory)
    again = open_orders(open_directory(world.files))
    assert (again.end_offset, again.epochs.starts) == (1, ((EPOCH, 0),))


@simulated
async def test_an_append_does_not_wait_for_a_worker(simulation: Simulation) -> None:
    async with asyncio.TaskGroup() as tasks:
        world = Building(simulation, tasks)
        await simulation.sleep(1)
        append(world.log, batch())
        assert world.folders() == ["orders-3", "orders-3"]
        world.workers.done.set_result(None)
        await simulation.sleep(1)
        assert world.folders() == ["orders-3"]
    close(world.directory)
    assert open_orders(open_directory(world.files)).end_offset == 1


@pytest.mark.parametrize("is_made_again", [False, True])
@simulated
async def test_a_worker_brings_no_deleted_partition_back(
    simulation: Simulation, is_made_again: bool
) -> None:
    other = Uuid(b"another topic id")
    async with asyncio.TaskGroup() as tasks:
        world = Building(simulation, tasks)
        await simulation.sleep(1)
        assert world.directory.delete_partition(ORDERS, UNIQUE) is None
        if is_made_again:
            open_orders(world.directory, other)
        world.workers.done.set_result(None)
        await simulation.sleep(1)
        assert world.folders() == []
    if is_made_again:
        append(world.directory.logs[ORDERS], batch())
        assert world.directory.read_topic_id(ORDERS) == other


@simulated
async def test_a_folder_that_the_disk_refuses_is_told_and_tried_by_the_first_append(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    async with asyncio.TaskGroup() as tasks:
        world = Building(simulation, tasks)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(world.files, "make_folder", full_disk)
            world.workers.done.set_result(None)
            await simulation.sleep(1)
            assert caplog.messages == [
                "orders-3 has no folder until its first record: [Errno 28] No space left on device"
            ]
            with pytest.raises(OSError, match="No space"):
                append(world.log, batch())
        assert append(world.log, batch()).base_offset == 0


def full_disk(path: str) -> None:
    raise OSError(28, "No space left on device")


@simulated
async def test_a_stop_waits_for_no_more_than_what_is_under_way(simulation: Simulation) -> None:
    async with asyncio.TaskGroup() as tasks:
        world = Building(simulation, tasks)
        world.make_more(5)
        world.files.make_folder(f"old-0.{UNIQUE.hex()}-delete")
        await simulation.sleep(1)
        world.building.stop()
        world.building.remove_later(f"old-0.{UNIQUE.hex()}-delete")
        world.workers.done.set_result(None)
    assert world.folders() == ["orders-3"]
    assert world.directory.find_deleted() == [f"old-0.{UNIQUE.hex()}-delete"]


@simulated
async def test_after_each_turn_the_worker_is_left_alone_for_three_times_as_long(
    simulation: Simulation,
) -> None:
    async with asyncio.TaskGroup() as tasks:
        world = Building(simulation, tasks, SlowWorkers(simulation))
        world.make_more(24)
        await simulation.sleep(5)
        made = []
        for _ in range(10):
            made.append(len(world.folders()))
            await simulation.sleep(100)
        assert made == [0, 10, 10, 10, 10, 20, 20, 20, 20, 25]


@simulated
async def test_a_stop_ends_the_rest(simulation: Simulation) -> None:
    async with asyncio.TaskGroup() as tasks:
        world = Building(simulation, tasks, SlowWorkers(simulation))
        world.make_more(24)
        await simulation.sleep(150)
        world.building.stop()
        stopped = simulation.clock.now_ms()
    assert simulation.clock.now_ms() == stopped
    assert len(world.folders()) == 10


class FullDisk(HeldWorkers):
    """Its workers find no room."""

    async def run(self, function: Callable[[*Ts], T], *args: *Ts) -> T:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@simulated
async def test_folders_that_are_all_refused_are_told_once_a_minute(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    """As for the fifty partitions of an internal topic."""
    why = "[Errno 28] No space left on device"
    async with asyncio.TaskGroup() as tasks:
        world = Building(simulation, tasks, FullDisk())
        world.make_more(50)
        await simulation.sleep(EVERY_MS)
        told = [text for text in caplog.messages if "until their first record" in text]
        first = [text for text in caplog.messages if "until its first record" in text]
        assert first == [f"orders-3 has no folder until its first record: {why}"]
        assert told == [
            f"50 more have no folder until their first record, the last orders-53: {why}"
        ]
        world.building.stop()
    assert len(caplog.messages) == 4, "as of the folders that cannot be removed"
    close(world.directory)


@simulated
async def test_a_stop_tells_of_what_was_only_counted(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    async with asyncio.TaskGroup() as tasks:
        world = Building(simulation, tasks, FullDisk())
        world.make_more(50)
        await simulation.sleep(EVERY_MS - 1)
        before = len(caplog.messages)
        world.building.stop()
    unmade, left = caplog.messages[before:]
    assert unmade.startswith("50 more have no folder until their first record")
    assert left.startswith("50 more cannot be removed")
    close(world.directory)
