"""When logs are compacted, and what becomes of those that cannot be."""

from __future__ import annotations

import logging

import pytest

from kafkalite.log.compaction_pieces import Piece
from kafkalite.log.files import Files
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.ports.workers import InlineWorkers
from kafkalite.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafkalite.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kafkalite.protocol.messages.produce import ProduceResponse
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.server.log_cleaner import RETRY_MS
from kafkalite.testing.simulation import Simulation
from kafkalite.types import Offset, TopicPartition, Uuid
from tests.log.compaction_fixtures import stored_records
from tests.server.cleaner_world import BACKOFF_MS, GatedWorkers, WatchedWorkers, World
from tests.server.group_requests import COMMIT, committed, find
from tests.server.requests import produce, produced
from tests.server.running import PRODUCE, Running, crashed, served, simulated, start

COMPACTED = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": "1000",
    "file.delete.delay.ms": "1000",
}
QUIET = {"connections.max.idle.ms": "-1", "log.initial.task.delay.ms": "10000000"}
"""Without checkpoints of recovery points: after a crash all is scanned."""


async def put(running: Running, topic: str, *pairs: tuple[str, str]) -> None:
    records = [
        Record(key.encode(), value.encode(), (), running.simulation.clock.now_ms())
        for key, value in pairs
    ]
    client = await running.client()
    request = produce(topic, {0: build_batch(records)})
    (answer,) = produced(await client.ask(request, PRODUCE, ProduceResponse))
    assert answer.error_code == 0, answer


async def alter(running: Running, kind: int, name: str, key: str, value: str) -> None:
    """Of a topic (2) or of all brokers (4)."""
    change = AlterableConfig(name=key, config_operation=0, value=value)
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=[change])
    request = IncrementalAlterConfigsRequest(resources=[resource])
    response = await (await running.client()).ask(request, 1, IncrementalAlterConfigsResponse)
    assert response.responses[0].error_code == 0, response


def contents(running: Running, topic: str) -> list[tuple[str, str]]:
    found = stored_records(running.partition(topic).log)
    return [((key or b"").decode(), (value or b"").decode()) for _, key, value, _ in found]


def deleted_files(running: Running) -> list[str]:
    return [name for name in running.files.list("t-0") if name.endswith(".deleted")]


def text_of(files: Files, path: str) -> str:
    file = files.open_read(path)
    return file.read(0, file.size).decode()


@served(connections_max_idle_ms="-1")
async def test_a_log_is_compacted_when_half_of_it_is_new(running: Running) -> None:
    await running.create("t", configs=COMPACTED)
    for number in range(30):
        await put(running, "t", ("a", f"{number}"), (f"k{number}", "v" * 20))
    segments = len(running.partition("t").log.segments)
    await running.wait_ms(BACKOFF_MS + 1)
    assert len(deleted_files(running)) >= 3 * (segments - 1), "for those who read them"
    await running.wait_ms(999)
    found = contents(running, "t")
    assert len(found) < 50
    assert found[-2:] == [("a", "29"), ("k29", "v" * 20)]
    assert next(value for key, value in found if key == "a") != "0"
    active = running.partition("t").log.segments[-1].base_offset
    await running.wait_ms(BACKOFF_MS + 1)
    checkpoint = text_of(running.files, "cleaner-offset-checkpoint")
    assert checkpoint == f"0\n1\nt 0 {active}\n"
    assert segments > 2
    assert deleted_files(running) == []
    seen = await running.read("t", 0)
    assert seen == [value.encode() for _, value in found][: len(seen)] != []


@served(log_cleaner_enable="false", connections_max_idle_ms="-1")
async def test_nothing_is_compacted_when_that_is_switched_off(running: Running) -> None:
    await running.create("t", configs=COMPACTED)
    for number in range(60):
        await put(running, "t", ("a", f"{number}"))
    await running.wait_ms(10 * BACKOFF_MS)
    assert len(contents(running, "t")) == 60


@served(connections_max_idle_ms="-1")
async def test_a_log_waits_for_its_dirty_ratio_unless_its_lag_is_over(running: Running) -> None:
    lazy = COMPACTED | {"min.cleanable.dirty.ratio": "1"}
    await running.create("lazy", configs=lazy)
    await running.create("due", configs=lazy | {"max.compaction.lag.ms": "60000"})
    await running.create("young", configs=COMPACTED | {"min.compaction.lag.ms": "60000"})
    for topic in ("lazy", "due", "young"):
        for number in range(60):
            await put(running, topic, ("a", f"{number}"))
    await running.wait_ms(30_000)
    assert [len(contents(running, topic)) for topic in ("lazy", "due", "young")] == [60] * 3
    await running.wait_ms(60_000)
    assert len(contents(running, "lazy")) == 60
    assert len(contents(running, "due")) < 30
    assert len(contents(running, "young")) < 30


@served(connections_max_idle_ms="-1", log_retention_check_interval_ms="60000")
async def test_a_topic_may_be_compacted_and_lose_what_is_old(running: Running) -> None:
    configs = COMPACTED | {"cleanup.policy": "compact,delete", "retention.ms": "600000"}
    await running.create("t", configs=configs)
    for number in range(60):
        await put(running, "t", ("a", f"{number}"))
    await put(running, "t", ("b", "old"))
    await running.wait_ms(BACKOFF_MS + 1)
    found = contents(running, "t")
    assert 2 <= len(found) < 30
    await running.wait_ms(500_000)
    for number in range(60):
        await put(running, "t", ("c", f"{number}"))
    await running.wait_ms(200_000)
    assert {key for key, _ in contents(running, "t")} == {"c"}
    assert running.partition("t").log.log_start_offset > 60


@served(connections_max_idle_ms="-1")
async def test_settings_are_followed_while_the_broker_runs(running: Running) -> None:
    await running.create("t", configs=COMPACTED)
    await alter(running, 4, "", "log.cleaner.backoff.ms", "100")
    await running.wait_ms(BACKOFF_MS)
    for number in range(60):
        await put(running, "t", ("a", f"{number}"))
    assert len(contents(running, "t")) == 60
    await running.wait_ms(101)
    assert len(contents(running, "t")) < 30


@served(connections_max_idle_ms="-1")
async def test_a_topic_that_is_made_anew_is_dirty_from_its_start_on(running: Running) -> None:
    for round in range(2):
        await running.create("t", configs=COMPACTED)
        for number in range(60):
            await put(running, "t", ("a", f"{round}-{number}"))
        assert len(contents(running, "t")) == 60
        await running.wait_ms(BACKOFF_MS + 1)
        assert len(contents(running, "t")) < 30
        await running.delete("t")


@simulated
async def test_a_log_that_was_compacted_may_have_holes_for_ever(simulation: Simulation) -> None:
    files = MemoryFiles(models_crashes=True)
    async with crashed(simulation, files, settings=QUIET) as running:
        await running.create("t", configs=COMPACTED)
        for number in range(60):
            await put(running, "t", ("a", f"{number}"))
        await running.wait_ms(2 * BACKOFF_MS)
        found = contents(running, "t")
        assert len(found) < 30
        await alter(running, 2, "t", "cleanup.policy", "delete")
    async with start(simulation, files, settings=QUIET) as running:
        assert not running.partition("t").log.config.is_compacted
        assert contents(running, "t") == found


@simulated
async def test_a_hundred_thousand_commits_become_a_few_records(simulation: Simulation) -> None:
    files = MemoryFiles()
    settings = {
        "offsets.topic.num.partitions": "1",
        "offsets.topic.segment.bytes": "1048576",
        "connections.max.idle.ms": "-1",
    }
    async with start(simulation, files, settings=settings) as running:
        await running.create("t", partitions=100)
        await find(running)
        client = await running.client()
        for offset in range(1000):
            partitions = [
                OffsetCommitRequestPartition(partition_index=index, committed_offset=offset + index)
                for index in range(100)
            ]
            request = OffsetCommitRequest(
                group_id="group",
                generation_id_or_member_epoch=-1,
                topics=[OffsetCommitRequestTopic(name="t", partitions=partitions)],
            )
            response = await client.ask(request, COMMIT, OffsetCommitResponse)
            assert {each.error_code for each in response.topics[0].partitions} == {0}
        log = running.partition("__consumer_offsets").log
        assert log.end_offset == 100_000
        size = log.size_bytes
        log.roll(simulation.clock.now_ms())
        await running.wait_ms(BACKOFF_MS + 1)
        assert [record.offset for record in stored_records(log)] == list(range(99_900, 100_000))
        assert log.size_bytes < size / 100
    async with start(simulation, files, settings=settings) as running:
        for index in (0, 57, 99):
            assert await committed(running, "t", partition=index) == 999 + index


@simulated
async def test_the_filthiest_is_first_and_one_is_cleaned_at_a_time(simulation: Simulation) -> None:
    workers = GatedWorkers()
    world = World(simulation, workers, MemoryFiles())
    clean, filthy = world.add("clean"), world.add("filthy")
    world.directory.checkpoints.cleaner_offsets[TopicPartition("clean", 0)] = Offset(10)
    async with world.cleaning():
        await simulation.sleep(BACKOFF_MS + 1)
        while world.cleaned_to("filthy") != 40:
            workers.let.release()
            await simulation.sleep(1)
        assert world.offsets(filthy) == [39]
        assert len(world.offsets(clean)) == 40
        for _ in range(100):
            workers.let.release()
        await simulation.sleep(1)
        assert world.cleaned_to("clean") == 40


@simulated
async def test_several_are_cleaned_at_a_time_if_so_set(simulation: Simulation) -> None:
    workers = GatedWorkers()
    world = World(simulation, workers, MemoryFiles())
    partitions = [world.add(name) for name in ("a", "b", "c")]
    async with world.cleaning(log_cleaner_threads="2"):
        await simulation.sleep(BACKOFF_MS + 1)
        workers.let.release()
        workers.let.release()
        await simulation.sleep(1)
        assert workers.steps == 2
        while {world.cleaned_to("a"), world.cleaned_to("b")} != {40}:
            workers.let.release()
            await simulation.sleep(1)
        assert [len(world.offsets(each)) for each in partitions[:2]] == [1, 1]
        for _ in range(100):
            workers.let.release()


@pytest.mark.parametrize("after_steps", range(12))
def test_a_log_that_goes_meanwhile_is_let_go_of(after_steps: int) -> None:
    async def main(simulation: Simulation) -> None:
        workers = GatedWorkers()
        world = World(simulation, workers, MemoryFiles())
        world.add("t", count=12)
        async with world.cleaning():
            await simulation.sleep(BACKOFF_MS + 1)
            for _ in range(after_steps):
                workers.let.release()
                await simulation.sleep(1)
            folder = world.directory.delete_partition(TopicPartition("t", 0), Uuid(bytes(16)))
            assert folder is not None
            world.partitions.clear()
            for _ in range(20):
                workers.let.release()
            await simulation.sleep(1)
        assert not world.files.exists("t-0")
        names = world.files.list(folder)
        assert after_steps > 5 or not [name for name in names if name.endswith(".swap")]

    from kafkalite.testing.simulation import run

    run(main, seed=1)


@simulated
async def test_records_are_read_and_synced_by_workers_alone(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers = WatchedWorkers()
    world = World(simulation, workers, MemoryFiles())
    partition = world.add("t")
    seen: list[bool] = []
    sync, run = MemoryFiles.sync_file, Piece.run

    def noted_sync(files: MemoryFiles, path: str) -> None:
        seen.append(workers.is_at_work)
        sync(files, path)

    def noted_run(piece: Piece) -> None:
        seen.append(workers.is_at_work)
        run(piece)

    monkeypatch.setattr(MemoryFiles, "sync_file", noted_sync)
    monkeypatch.setattr(Piece, "run", noted_run)
    async with world.cleaning():
        await simulation.sleep(2 * BACKOFF_MS)
    assert world.offsets(partition) == [39]
    assert len(seen) > 10
    assert all(seen)


@simulated
async def test_a_stop_waits_for_one_step_and_no_more(simulation: Simulation) -> None:
    workers = GatedWorkers()
    world = World(simulation, workers, MemoryFiles())
    partition = world.add("t")
    async with world.cleaning() as cleaner:
        await simulation.sleep(BACKOFF_MS + 1)
        cleaner.stop()
        workers.let.release()
    assert workers.steps == 1
    assert len(world.offsets(partition)) == 40
    assert not [name for name in world.files.list("t-0") if name.endswith(".cleaned")]


@simulated
async def test_damaged_records_are_told_of_once_and_others_are_cleaned(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(simulation, InlineWorkers(), MemoryFiles())
    damaged, sound = world.add("damaged"), world.add("sound", count=20)
    segment = damaged.log.segments[1]
    world.files.open(segment.name).write_at(segment.size - 2, b"!")
    with caplog.at_level(logging.WARNING):
        async with world.cleaning():
            await simulation.sleep(20 * BACKOFF_MS)
    assert len(world.offsets(damaged)) == 40
    assert world.offsets(sound) == [19]
    (record,) = caplog.records
    assert record.getMessage().startswith("damaged-0 is not compacted until the next start: the ba")


class FullFiles(MemoryFiles):
    """A disk that takes nothing while it is full."""

    is_full = False
    refused = 0

    def replace(self, path: str, data: bytes, *, sync: bool = True) -> None:
        if self.is_full:
            self.refused += 1
            raise OSError(28, "No space left on device")
        super().replace(path, data, sync=sync)


@simulated
async def test_a_log_is_tried_again_when_the_disk_has_refused(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    files = FullFiles()
    world = World(simulation, InlineWorkers(), files)
    partition = world.add("t")
    files.is_full = True
    with caplog.at_level(logging.WARNING):
        async with world.cleaning():
            await simulation.sleep(5 * RETRY_MS)
            assert 3 <= files.refused <= 6
            assert len(world.offsets(partition)) == 40
            files.is_full = False
            await simulation.sleep(RETRY_MS + BACKOFF_MS)
            assert world.offsets(partition) == [39]
    assert [record.getMessage() for record in caplog.records] == [
        "t-0 is not compacted for now: [Errno 28] No space left on device"
    ]


@simulated
async def test_no_more_is_read_and_written_in_a_second_than_is_set(simulation: Simulation) -> None:
    world = World(simulation, InlineWorkers(), MemoryFiles())
    partition = world.add("t", count=200)
    read_twice = 2 * (partition.log.size_bytes)
    async with world.cleaning(log_cleaner_io_max_bytes_per_second="1000"):
        await simulation.sleep(BACKOFF_MS + read_twice - 2000)
        assert world.cleaned_to("t") == 0
        await simulation.sleep(5000)
        assert world.cleaned_to("t") == 200


@simulated
async def test_a_checkpoint_beyond_the_log_counts_as_none(
    simulation: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(simulation, InlineWorkers(), MemoryFiles())
    partition = world.add("t")
    world.directory.checkpoints.cleaner_offsets[TopicPartition("t", 0)] = Offset(1000)
    with caplog.at_level(logging.WARNING):
        async with world.cleaning():
            await simulation.sleep(BACKOFF_MS + 1)
    assert world.offsets(partition) == [39]
    assert [record.getMessage() for record in caplog.records] == [
        "t-0: it cannot have been cleaned up to offset 1000; cleaning from 0 on"
    ]
