"""Work that no request waits for. Blocking parts go to the workers, one at a time."""

from __future__ import annotations

import asyncio
import logging
from collections import deque

from kafkalite.log.directories import FolderPlan, LogDirectory
from kafkalite.log.partition_log import PartitionLog
from kafkalite.ports.clock import Clock, Timer
from kafkalite.ports.entropy import Entropy
from kafkalite.ports.workers import Workers
from kafkalite.types import Offset, TimestampMs, TopicPartition

_log = logging.getLogger(__name__)

PRODUCER_CHECK_INTERVAL_MS = 600_000
"""`producer.id.expiration.check.interval.ms`, an internal setting of Kafka's with this default."""


class Housekeeping:
    """Makes the folders of new partitions and removes those of deleted ones, writes the checkpoint
    of log starts, and forgets producers that fell silent. Retention and compaction will live here
    too."""

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        workers: Workers,
        clock: Clock,
        entropy: Entropy,
        directory: LogDirectory,
        *,
        log_starts_interval_ms: int,
    ) -> None:
        self._tasks = tasks
        self._clock = clock
        self._entropy = entropy
        self._timer: Timer | None = None
        self._workers = workers
        self._directory = directory
        self._folders: deque[str] = deque()
        self._is_removing = False
        self._without_folder: deque[tuple[TopicPartition, PartitionLog]] = deque()
        self._is_making = False
        self._log_starts_interval_ms = log_starts_interval_ms
        self._log_starts_timer: Timer | None = None
        self._written_log_starts: dict[TopicPartition, Offset] = {}
        self._is_stopped = False

    def start(self) -> None:
        """Go on with what the last run left, and look around from now on."""
        for folder in self._directory.find_deleted():
            self.remove_later(folder)
        self._expire_producers()
        self._check_log_starts_later()

    def stop(self) -> None:
        """Look around no more. What is being removed is waited for by its task group."""
        self._is_stopped = True
        for timer in (self._timer, self._log_starts_timer):
            if timer is not None:
                timer.cancel()

    def remove_later(self, folder: str) -> None:
        """Remove a folder that was renamed for deletion. What a stop interrupts, the next start
        goes on with."""
        self._folders.append(folder)
        if not self._is_removing:
            self._is_removing = True
            self._tasks.create_task(self._remove())

    def make_later(self, partition: TopicPartition, log: PartitionLog) -> None:
        """Make the folder of a log that has none, unless it makes one itself before. What a stop
        interrupts needs none."""
        self._without_folder.append((partition, log))
        if not self._is_making:
            self._is_making = True
            self._tasks.create_task(self._make())

    def _expire_producers(self) -> None:
        now = self._clock.now_ms()
        for log in self._directory.logs.values():
            log.producers.remove_expired(now)
        self._timer = self._clock.call_at(now + PRODUCER_CHECK_INTERVAL_MS, self._expire_producers)

    def _check_log_starts_later(self) -> None:
        if self._is_stopped:
            return
        at_ms = TimestampMs(self._clock.now_ms() + self._log_starts_interval_ms)
        self._log_starts_timer = self._clock.call_at(at_ms, self._check_log_starts)

    def _check_log_starts(self) -> None:
        starts = self._directory.checkpoints.find_log_starts()
        if starts == self._written_log_starts:
            self._check_log_starts_later()
        else:
            self._tasks.create_task(self._write_log_starts(starts))

    async def _write_log_starts(self, starts: dict[TopicPartition, Offset]) -> None:
        try:
            await self._workers.run(self._directory.checkpoints.write_log_starts, starts)
            self._written_log_starts = starts
        except OSError as error:
            _log.warning("the checkpoint of log starts cannot be written: %s", error)
        self._check_log_starts_later()

    async def _remove(self) -> None:
        try:
            while self._folders and not self._is_stopped:
                folder = self._folders.popleft()
                try:
                    await self._workers.run(self._directory.remove, folder)
                except OSError as error:
                    _log.warning(
                        "%s cannot be removed, the next start tries again: %s", folder, error
                    )
        finally:
            self._is_removing = False

    async def _make(self) -> None:
        try:
            while self._without_folder and not self._is_stopped:
                partition, log = self._without_folder.popleft()
                if not log.folder.exists and self._directory.logs.get(partition) is log:
                    await self._make_one(self._directory.plan(partition, log, self._entropy.uuid()))
        finally:
            self._is_making = False

    async def _make_one(self, plan: FolderPlan) -> None:
        try:
            await self._workers.run(self._directory.build, plan)
            if self._directory.adopt(plan):
                return
        except OSError as error:
            _log.warning("%s has no folder until its first record: %s", plan.partition, error)
        self.remove_later(plan.folder)
