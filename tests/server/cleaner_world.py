"""Logs in a folder, and a cleaner that works on them step by step."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from kafkalite.config.views import BrokerConfig, TopicConfig
from kafkalite.log.directories import LogDirectory
from kafkalite.log.files import Files
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.retired_files import RetiredFiles
from kafkalite.ports.workers import InlineWorkers, T, Ts, Workers
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.server.log_cleaner import LogCleaner
from kafkalite.server.partition import Partition
from kafkalite.testing.simulation import Simulation
from kafkalite.types import BrokerId, LeaderEpoch, Offset, TimestampMs, TopicPartition, Uuid
from tests.log.compaction_fixtures import stored_records

BACKOFF_MS = 15_000


class GatedWorkers(InlineWorkers):
    """Works only when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = asyncio.Semaphore(0)
        self.steps = 0

    async def run(self, function: Callable[[*Ts], T], *args: *Ts) -> T:
        await self.let.acquire()
        self.steps += 1
        return await super().run(function, *args)


class WatchedWorkers(InlineWorkers):
    """Knows whether it is at work."""

    is_at_work = False

    async def run(self, function: Callable[[*Ts], T], *args: *Ts) -> T:
        def watched() -> T:
            self.is_at_work = True
            try:
                return function(*args)
            finally:
                self.is_at_work = False

        return await super().run(watched)


class World:
    """Logs in a folder, and a cleaner of them."""

    def __init__(self, simulation: Simulation, workers: Workers, files: Files) -> None:
        self.simulation = simulation
        self.workers = workers
        self.files = files
        self.directory = LogDirectory.open(
            files,
            location="memory",
            node_id=BrokerId(1),
            new_cluster_id="cluster",
            new_directory_id=Uuid(b"directory......."),
        )
        self.partitions: list[Partition] = []
        self.retired: list[RetiredFiles] = []
        self.when_measured: Callable[[], None] | None = None
        """Called once, before what was found is cleaned."""

    def add(self, name: str, count: int = 40) -> Partition:
        """A partition of which all but the last record is superseded."""
        now = self.simulation.clock.now_ms()
        config = TopicConfig(cleanup_policy=("compact",), segment_bytes=500)
        log = self.directory.open_partition(
            TopicPartition(name, 0), topic_id=Uuid(name.encode().ljust(16)), config=config, now=now
        )
        for number in range(count):
            data = build_batch([Record(b"a", b"%d" % number, (), TimestampMs(now))])
            append_as_leader(log, memoryview(data), leader_epoch=LeaderEpoch(0), now=now)
        log.roll(now)
        partition = Partition(name, log.folder.topic_id, 0, log, config, self.directory)
        partition.last_high_watermark = log.end_offset
        self.partitions.append(partition)
        return partition

    @asynccontextmanager
    async def cleaning(self, **settings: str) -> AsyncIterator[LogCleaner]:
        keys = {key.replace("_", "."): value for key, value in settings.items()}
        async with asyncio.TaskGroup() as tasks:
            cleaner = LogCleaner(
                tasks,
                self.workers,
                self.simulation.clock,
                self.directory,
                BrokerConfig.of(keys),
                remove_later=lambda retired, delay_ms: self.retired.append(retired),
                write_offsets=self.write_offsets,
                sync_metadata=lambda: None,
            )
            cleaner.start(lambda: self.partitions)
            try:
                yield cleaner
            finally:
                cleaner.stop()

    def write_offsets(self) -> None:
        call, self.when_measured = self.when_measured, None
        if call is not None:
            call()

    def offsets(self, partition: Partition) -> list[int]:
        return [record.offset for record in stored_records(partition.log)]

    def cleaned_to(self, name: str) -> Offset | None:
        return self.directory.checkpoints.cleaner_offsets.get(TopicPartition(name, 0))
