"""The metadata log of a broker that runs for long, and of a cluster in one process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from kafkalite.errors import InvariantError
from kafkalite.log.directory_set import LogFolderFailedError
from kafkalite.log.files import Files
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.metadata.delta import whole
from kafkalite.metadata.image import MetadataImage
from kafkalite.ports.workers import InlineWorkers
from kafkalite.server.metadata_upkeep import CLEAN_INTERVAL_MS, MetadataUpkeep
from kafkalite.stores.checkpoint import FORMATTED
from kafkalite.stores.metadata_limits import MetadataLogLimits
from kafkalite.stores.metadata_log import DELETE_DELAY_MS, FOLDER, MetadataLog
from kafkalite.testing.cluster import Cluster
from kafkalite.testing.faults import ProcessFiles
from kafkalite.testing.simulation import Simulation
from kafkalite.types import BrokerId, Uuid
from tests.metadata.sample_changes import topic, uuid
from tests.server.running import Running, served, simulated, start
from tests.server.test_replica_manager import RefusingFiles

HOUR_MS = 3_600_000
OFTEN = {
    "metadata.log.max.record.bytes.between.snapshots": "2000",
    "metadata.max.retention.bytes": "0",
}


def size_of(files: MemoryFiles, folder: str) -> int:
    return sum(files.size(f"{folder}/{name}") for name in files.list(folder))


def snapshots(files: MemoryFiles) -> list[str]:
    return [n for n in files.list(FOLDER) if n.endswith(".checkpoint") and n != FORMATTED]


def ids_and_partitions(running: Running) -> dict[str, tuple[Uuid, int]]:
    """Of all topics."""
    topics = running.broker.image.topics
    return {name: (image.id, len(image.partitions)) for name, image in topics.items()}


async def create(running: Running, numbers: range) -> None:
    """Topics of these numbers. Some ten of them are enough for a snapshot."""
    for number in numbers:
        await running.create(f"t{number}", 2)


@served(
    metadata_log_max_record_bytes_between_snapshots="3000",
    metadata_max_retention_bytes="0",
    connections_max_idle_ms="-1",
)
async def test_topics_come_and_go_and_the_log_stays_small(running: Running) -> None:
    files = running.files
    assert isinstance(files, MemoryFiles)
    await running.create("stays", 3)
    sizes = []
    for hour in range(12):
        for number in range(10):
            await running.create(f"t-{hour}-{number}")
            await running.delete(f"t-{hour}-{number}")
        await running.wait_ms(HOUR_MS)
        sizes.append(size_of(files, FOLDER))
    assert max(sizes) <= 2 * min(sizes), sizes
    assert max(sizes) < 12_000
    assert not [n for n in files.list(FOLDER) if n.endswith((".part", ".deleted"))]


@simulated
async def test_the_next_start_has_what_the_snapshot_has(simulation: Simulation) -> None:
    files = MemoryFiles(models_crashes=True)
    async with start(simulation, files, settings=OFTEN) as running:
        await create(running, range(20))
        await running.delete("t7")
        await running.wait_ms(CLEAN_INTERVAL_MS + 1)
        assert f"{0:020}.log" not in files.list(FOLDER)
        before = ids_and_partitions(running)
    assert "t7" not in before
    async with start(simulation, files, settings=OFTEN) as running:
        assert ids_and_partitions(running) == before


@simulated
async def test_files_that_are_not_needed_stay_a_while(simulation: Simulation) -> None:
    files = MemoryFiles(models_crashes=True)
    async with start(simulation, files, settings=OFTEN) as running:
        await create(running, range(20))
        await running.wait_ms(CLEAN_INTERVAL_MS + 1)
        assert f"{0:020}.log.deleted" in files.list(FOLDER)
        assert f"{FORMATTED}.deleted" in files.list(FOLDER)
        await running.wait_ms(DELETE_DELAY_MS)
        assert not [name for name in files.list(FOLDER) if name.endswith(".deleted")]


def failed(error: InvariantError) -> None:
    raise error


@dataclass
class Deletions:
    """Of folders, which go on until a test ends them."""

    is_going_on: bool = True


NONE = Deletions(is_going_on=False)


@asynccontextmanager
async def keeping(
    simulation: Simulation,
    files: Files,
    log: MetadataLog,
    deletions: Deletions = NONE,
    fail: Callable[[InvariantError], None] = failed,
) -> AsyncIterator[MetadataUpkeep]:
    """Until it has stopped, and nothing of it is under way any more."""
    async with asyncio.TaskGroup() as tasks:
        upkeep = MetadataUpkeep(
            tasks,
            InlineWorkers(),
            simulation.clock,
            log,
            folders=lambda: [files],
            is_deleting=lambda: deletions.is_going_on,
            fail=fail,
        )
        yield upkeep
        upkeep.stop()


def opened(files: Files, simulation: Simulation) -> MetadataLog:
    log = MetadataLog.open(
        files,
        node_id=BrokerId(1),
        directory_id=uuid(9),
        now=simulation.clock.now_ms(),
        clean=False,
        formatted_with=[],
        limits=MetadataLogLimits(snapshot_bytes=1, retention_bytes=0),
    )
    log.begin_epoch(simulation.clock.now_ms())
    return log


def commit(simulation: Simulation, log: MetadataLog, upkeep: MetadataUpkeep, name: str) -> None:
    end_offset = log.append([topic(name, int(name[1:]) + 1)], simulation.clock.now_ms())
    image = MetadataImage(end_offset=end_offset)
    upkeep.watch(image, whole(image))


@simulated
async def test_none_is_installed_while_a_deleted_partition_has_its_name(
    simulation: Simulation,
) -> None:
    """On the disk: the next start would not know that it was deleted."""
    files, deletions = MemoryFiles(models_crashes=True), Deletions()
    log = opened(files, simulation)
    files.make_folder("gone-0")
    files.sync_folder("")
    async with keeping(simulation, files, log, deletions) as upkeep:
        commit(simulation, log, upkeep, "t1")
        await simulation.sleep(5_000)
        assert not snapshots(files)
        files.rename("gone-0", "gone-0.x-delete", sync=False)
        deletions.is_going_on = False
        await simulation.sleep(1_000)
        assert len(snapshots(files)) == 1
    files.crash()
    assert "gone-0" not in files.list("")


@simulated
async def test_a_stop_ends_a_snapshot_that_is_written(simulation: Simulation) -> None:
    files = MemoryFiles()
    log = opened(files, simulation)
    async with keeping(simulation, files, log, Deletions()) as upkeep:
        commit(simulation, log, upkeep, "t1")
        await simulation.sleep(1_000)
        assert [name for name in files.list(FOLDER) if name.endswith(".part")]
    assert not [name for name in files.list(FOLDER) if name.endswith(".part")]
    assert not snapshots(files)


@simulated
async def test_a_disk_that_refuses_is_told_and_the_next_snapshot_comes(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    disk = MemoryFiles()
    files = ProcessFiles(disk, simulation.entropy, on_death=lambda: None)
    log = opened(files, simulation)
    async with keeping(simulation, files, log) as upkeep:
        commit(simulation, log, upkeep, "t1")
        log.sync()
        files.refusal_probability = 1.0
        await simulation.sleep(1_000)
        assert "no snapshot of the metadata was written: " in caplog.text
        files.spare()
        commit(simulation, log, upkeep, "t2")
        await simulation.sleep(1_000)
        assert len(snapshots(disk)) == 1


@simulated
async def test_nothing_is_cleaned_while_a_snapshot_is_written(simulation: Simulation) -> None:
    """It may have its name already, and not be on the disk."""
    files, deletions = MemoryFiles(), Deletions(is_going_on=False)
    log = opened(files, simulation)
    async with keeping(simulation, files, log, deletions) as upkeep:
        commit(simulation, log, upkeep, "t1")
        await simulation.sleep(1_000)
        deletions.is_going_on = True
        commit(simulation, log, upkeep, "t2")
        await simulation.sleep(2 * CLEAN_INTERVAL_MS)
        assert f"{0:020}.log" in files.list(FOLDER)
        deletions.is_going_on = False
        await simulation.sleep(CLEAN_INTERVAL_MS)
        assert f"{0:020}.log" not in files.list(FOLDER)


@simulated
async def test_none_is_begun_of_a_log_that_has_closed(simulation: Simulation) -> None:
    files = MemoryFiles()
    log = opened(files, simulation)
    async with keeping(simulation, files, log) as upkeep:
        commit(simulation, log, upkeep, "t1")
        upkeep.stop()  # Before the task that is to write it has begun.
        log.close()
        before = files.list(FOLDER)
    assert files.list(FOLDER) == before


@simulated
async def test_a_log_that_cannot_be_synced_has_failed(simulation: Simulation) -> None:
    """A disk that has lost what it was to write may well grant the next sync."""
    disk = MemoryFiles()
    files = ProcessFiles(disk, simulation.entropy, on_death=lambda: None)
    log = opened(files, simulation)
    failures: list[InvariantError] = []
    async with keeping(simulation, files, log, fail=failures.append) as upkeep:
        commit(simulation, log, upkeep, "t1")
        files.refusal_probability = 1.0
        await simulation.sleep(1_000)
        files.spare()
        (failure,) = failures
        assert isinstance(failure, LogFolderFailedError)
        assert not snapshots(disk)


@simulated
async def test_none_is_installed_after_a_deletion_that_the_disk_refused(
    simulation: Simulation,
) -> None:
    """Or the next start, after a crash, would take the folder for one of a topic that is lost."""
    files = RefusingFiles()
    async with start(simulation, files, settings=OFTEN) as running:
        await running.create("t")
        await running.produce("t", b"x")
        files.refused = "t-0"
        await running.delete("t")
        await create(running, range(20))
        await running.wait_ms(CLEAN_INTERVAL_MS + 1)
        assert files.exists("t-0")
        await running.broker.kill()
    async with start(simulation, files, settings=OFTEN) as running:
        await create(running, range(20, 40))
        await running.wait_ms(CLEAN_INTERVAL_MS + 1)
        assert files.exists("t-0"), "this start could not take it away either"
        await running.broker.kill()
    files.refused = None
    async with start(simulation, files, settings=OFTEN):
        assert not files.exists("t-0")


def test_the_log_of_a_cluster_in_one_process_has_snapshots(tmp_path: Path) -> None:
    folder = tmp_path / "metadata" / FOLDER
    with Cluster(brokers=1, data=str(tmp_path), settings=OFTEN) as cluster:
        for number in count():
            cluster.create_topic(f"t{number}")
            if len(list(folder.glob("*.checkpoint"))) > 1:
                break
