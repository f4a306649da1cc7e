"""Work that no request waits for: when it is done. What it is, each part says for itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial

from kafkalite.config.views import BrokerConfig
from kafkalite.log.checkpoints import LOG_START_OFFSETS, RECOVERY_POINTS
from kafkalite.log.directories import LogDirectory
from kafkalite.ports.clock import Clock
from kafkalite.ports.entropy import Entropy
from kafkalite.ports.workers import Workers
from kafkalite.server.checkpoint_writer import CheckpointWriter
from kafkalite.server.partition import Partition
from kafkalite.server.partition_folders import PartitionFolders
from kafkalite.server.periodic import Periodic
from kafkalite.server.retention_checks import RetentionChecks

PRODUCER_CHECK_INTERVAL_MS = 600_000
"""`producer.id.expiration.check.interval.ms`, an internal setting of Kafka's with this default."""


class Housekeeping:
    """Deletes old segments, writes checkpoints, forgets producers that fell silent, makes and
    removes folders."""

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        workers: Workers,
        clock: Clock,
        entropy: Entropy,
        directory: LogDirectory,
        config: BrokerConfig,
    ) -> None:
        self._clock = clock
        self._directory = directory
        self._config = config
        self._jobs: list[Periodic] = []
        self.folders = PartitionFolders(tasks, workers, entropy, directory)
        self._retention = RetentionChecks(tasks, workers, clock)
        checkpoints = directory.checkpoints
        self._log_starts, self._recovery_points = (
            CheckpointWriter(tasks, workers, checkpoints, path, find)
            for path, find in (
                (LOG_START_OFFSETS, checkpoints.find_log_starts),
                (RECOVERY_POINTS, checkpoints.find_recovery_points),
            )
        )

    def start(self, partitions: Callable[[], Iterable[Partition]]) -> None:
        """Go on with what the last run left, and look around from now on. `partitions`: those that
        are in use at the moment."""
        for folder in self._directory.find_deleted():
            self.folders.remove_later(folder)
        config = self._config
        self._every(
            config.log_retention_check_interval_ms, partial(self._retention.check, partitions)
        )
        self._every(
            config.log_flush_start_offset_checkpoint_interval_ms, self._log_starts.write_later
        )
        self._every(
            config.log_flush_offset_checkpoint_interval_ms, self._recovery_points.write_later
        )
        self._jobs.append(
            Periodic(
                self._clock,
                self._expire_producers,
                first_after_ms=PRODUCER_CHECK_INTERVAL_MS,
                interval_ms=PRODUCER_CHECK_INTERVAL_MS,
            )
        )

    def _every(self, interval_ms: int, job: Callable[[], None]) -> None:
        first_after_ms = self._config.log_initial_task_delay_ms
        self._jobs.append(
            Periodic(self._clock, job, first_after_ms=first_after_ms, interval_ms=interval_ms)
        )

    def stop(self) -> None:
        """Look around no more. What is under way is waited for by its task group."""
        for job in self._jobs:
            job.stop()
        self._retention.stop()
        self.folders.stop()

    def _expire_producers(self) -> None:
        now = self._clock.now_ms()
        for log in self._directory.logs.values():
            log.producers.remove_expired(now)
