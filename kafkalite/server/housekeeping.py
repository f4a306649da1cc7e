"""Work that no request waits for: when it is done. What it is, each part says for itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial

from kafkalite.config.views import BrokerConfig
from kafkalite.errors import InvariantError
from kafkalite.log.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
)
from kafkalite.log.directories import LogDirectory
from kafkalite.ports.clock import Clock
from kafkalite.ports.entropy import Entropy
from kafkalite.ports.workers import Workers
from kafkalite.server.checkpoint_writer import CheckpointWriter
from kafkalite.server.flusher import Flusher
from kafkalite.server.log_cleaner import LogCleaner
from kafkalite.server.partition import Partition
from kafkalite.server.partition_folders import PartitionFolders
from kafkalite.server.periodic import Periodic
from kafkalite.server.retention_checks import RetentionChecks
from kafkalite.types import Offset, TopicPartition


class Housekeeping:
    """Of one log folder: deletes old segments, compacts and syncs logs, writes checkpoints, forgets
    producers that fell silent, makes and removes folders."""

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        workers: Workers,
        clock: Clock,
        entropy: Entropy,
        directory: LogDirectory,
        config: BrokerConfig,
        *,
        sync_metadata: Callable[[], None],
        on_refused: Callable[[OSError], None],
        on_sync_refused: Callable[[Partition, OSError], None],
        fail: Callable[[InvariantError], None],
    ) -> None:
        """`on_refused` is told of what the disk refuses, and `fail` of a log that contradicts
        itself; for `sync_metadata` see `Storage`, for `on_sync_refused` `Flusher`."""
        self._clock = clock
        self._directory = directory
        self._config = config
        self._jobs: list[Periodic] = []
        self.folders = PartitionFolders(tasks, workers, clock, entropy, directory)
        self._retention, self._retention_of_compacted = (
            RetentionChecks(tasks, workers, clock, on_refused=on_refused, fail=fail)
            for _ in range(2)
        )
        self.flusher = Flusher(
            tasks,
            workers,
            clock,
            sync_metadata=sync_metadata,
            on_refused=on_sync_refused,
            fail=fail,
        )
        checkpoints = directory.checkpoints
        self._partitions: Callable[[], Iterable[Partition]] = tuple
        self._log_starts, self._recovery_points, self._cleaner_offsets, self._high_watermarks = (
            CheckpointWriter(tasks, workers, checkpoints, path, find, on_refused=on_refused)
            for path, find in (
                (LOG_START_OFFSETS, checkpoints.find_log_starts),
                (RECOVERY_POINTS, checkpoints.find_recovery_points),
                (CLEANER_OFFSETS, checkpoints.find_cleaner_offsets),
                (HIGH_WATERMARKS, self._find_high_watermarks),
            )
        )
        self._cleaner = LogCleaner(
            tasks,
            workers,
            clock,
            directory,
            config,
            remove_later=self._retention.remove_later,
            write_offsets=self._write_cleaner_offsets,
            sync_metadata=sync_metadata,
        )

    def start(self, partitions: Callable[[], Iterable[Partition]]) -> None:
        """Go on with what the last run left, and look around from now on. `partitions`: those that
        are in use at the moment."""
        for folder in self._directory.find_deleted():
            self.folders.remove_later(folder)
        config = self._config
        self._partitions = partitions
        self._jobs.append(
            Periodic(
                self._clock,
                self._high_watermarks.write_later,
                first_after_ms=config.replica_high_watermark_checkpoint_interval_ms,
                interval_ms=config.replica_high_watermark_checkpoint_interval_ms,
            )
        )
        self._every(
            config.log_retention_check_interval_ms,
            lambda: self._retention.check(_those(partitions, are_compacted=False)),
        )
        if config.log_cleaner_enable:
            # As in Kafka, whose cleaner looks at these, more often, or nobody does.
            self._jobs.append(
                Periodic(
                    self._clock,
                    lambda: self._retention_of_compacted.check(
                        _those(partitions, are_compacted=True)
                    ),
                    first_after_ms=config.log_cleaner_backoff_ms,
                    interval_ms=config.log_cleaner_backoff_ms,
                )
            )
        self._every(
            config.log_flush_scheduler_interval_ms, partial(self.flusher.flush_old, partitions)
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
                first_after_ms=config.producer_id_expiration_check_interval_ms,
                interval_ms=config.producer_id_expiration_check_interval_ms,
            )
        )
        self._cleaner.start(partitions)

    def configure(self, config: BrokerConfig) -> None:
        """Follow new settings, as far as they may change while the broker runs."""
        self._cleaner.configure(config)

    def _write_cleaner_offsets(self) -> None:
        if self._directory.checkpoints.cleaner_offsets:
            self._cleaner_offsets.write_later()

    def _find_high_watermarks(self) -> dict[TopicPartition, Offset]:
        """Those of partitions that have other replicas: to go on with after a crash."""
        return self._directory.checkpoints.find_high_watermarks(
            {
                TopicPartition(each.topic, each.index): each.high_watermark
                for each in self._partitions()
                if each.has_other_replicas
            }
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
        self._cleaner.stop()
        self._retention.stop()
        self._retention_of_compacted.stop()
        self.flusher.stop()
        self.folders.stop()

    def _expire_producers(self) -> None:
        now = self._clock.now_ms()
        for log in self._directory.logs.values():
            log.producers.remove_expired(now)


def _those(
    partitions: Callable[[], Iterable[Partition]], *, are_compacted: bool
) -> list[Partition]:
    return [each for each in partitions() if each.log.config.is_compacted == are_compacted]
