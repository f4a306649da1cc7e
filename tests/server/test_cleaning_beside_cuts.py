"""Logs that are cut while they are compacted, or between the look and the cleaning."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.files_os import OsFiles
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.partition_log import PartitionLog
from kafkalite.ports.workers import InlineWorkers
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.testing.simulation import Simulation
from kafkalite.types import LeaderEpoch, Offset, TimestampMs, TopicPartition
from tests.log.compaction_fixtures import stored_records
from tests.server.cleaner_world import BACKOFF_MS, GatedWorkers, World
from tests.server.running import simulated


def write(log: PartitionLog, key: bytes, count: int, value: bytes = b"new") -> None:
    for _ in range(count):
        data = build_batch([Record(key, value, (), TimestampMs(0))])
        append_as_leader(log, memoryview(data), leader_epoch=LeaderEpoch(1), now=TimestampMs(0))


@pytest.mark.parametrize(("cut_at", "value"), [(5, b"1"), (9, b"1"), (7, b"1" * 400)])
@pytest.mark.parametrize("after_steps", range(8))
def test_a_follower_that_is_cut_and_rolls_again_meanwhile_is_clean_in_the_end(
    tmp_path: Path, after_steps: int, cut_at: int, value: bytes
) -> None:
    """Its segments are there and closed, as before, and hold other records: what was known of their
    keys is not so any more, and how far it was to be clean is beyond what is new. Of a
    batch that is longer than what was there a worker reads a part: that is no damage."""

    async def main(simulation: Simulation) -> None:
        workers = GatedWorkers()
        world = World(simulation, workers, OsFiles(str(tmp_path)))
        partition = world.add("t", count=12)
        key = TopicPartition("t", 0)
        async with world.cleaning():
            await simulation.sleep(BACKOFF_MS + 1)
            for _ in range(after_steps):
                workers.let.release()
                await simulation.sleep(1)
            left = [offset for offset in world.offsets(partition) if offset < cut_at]
            world.directory.truncate_partition(key, Offset(cut_at), TimestampMs(0))
            write(partition.log, b"b", 2, value)
            partition.log.roll(TimestampMs(0))
            partition.last_high_watermark = partition.log.end_offset
            for _ in range(5):
                workers.let.release()
                await simulation.sleep(1)
            assert (world.cleaned_to("t") or 0) <= partition.log.end_offset
            write(partition.log, b"b", 20)
            partition.log.roll(TimestampMs(0))
            partition.last_high_watermark = partition.log.end_offset
            for _ in range(100):
                workers.let.release()
            await simulation.sleep(3 * BACKOFF_MS)
        found = {record.key: record.offset for record in stored_records(partition.log)}
        assert len(stored_records(partition.log)) == len(found), "each key is there once"
        assert found[b"b"] == cut_at + 21
        assert found.get(b"a") == max(left, default=None)
        assert world.cleaned_to("t") == cut_at + 22

    from kafkalite.testing.simulation import run

    run(main, seed=1)


@simulated
async def test_a_follower_that_begins_anew_below_is_not_clean_up_to_where_it_began(
    simulation: Simulation,
) -> None:
    """Between two turns of the loop: it was found dirty from offset 100 on."""
    world = World(simulation, InlineWorkers(), MemoryFiles())
    partition = world.add("t")
    log, key = partition.log, TopicPartition("t", 0)
    world.directory.restart_partition(key, Offset(100), TimestampMs(0))
    write(log, b"a", 20)
    log.roll(TimestampMs(0))
    partition.last_high_watermark = log.end_offset

    def begin_anew() -> None:
        world.directory.restart_partition(key, Offset(0), TimestampMs(0))
        write(log, b"a", 50)
        write(log, b"b", 100)
        log.roll(TimestampMs(0))
        partition.last_high_watermark = log.end_offset

    async with world.cleaning():
        await simulation.sleep(BACKOFF_MS - 1)
        world.when_measured = begin_anew
        await simulation.sleep(3 * BACKOFF_MS)
    assert world.offsets(partition) == [49, 149]
