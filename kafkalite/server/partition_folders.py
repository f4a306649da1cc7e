"""Folders of partitions that workers make and remove, one at a time."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import suppress

from kafkalite.log.directories import LogDirectory
from kafkalite.log.new_folders import FolderPlan
from kafkalite.log.partition_log import PartitionLog
from kafkalite.ports.clock import Clock
from kafkalite.ports.complaints import Flood
from kafkalite.ports.entropy import Entropy
from kafkalite.ports.workers import Workers
from kafkalite.types import TopicPartition

_log = logging.getLogger(__name__)

PER_TURN = 10
"""Folders that are made one after the other."""
RESTS = 3
"""How many times as long as they took no further ones are made: a worker that makes thousands takes
the interpreter from requests all the while, and nobody waits for it."""


class PartitionFolders:
    """Those of new partitions are made, those of deleted ones removed. What a stop interrupts, the
    next start goes on with, or nobody needs."""

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        workers: Workers,
        clock: Clock,
        entropy: Entropy,
        directory: LogDirectory,
    ) -> None:
        self._tasks = tasks
        self._workers = workers
        self._clock = clock
        self._entropy = entropy
        self._directory = directory
        self._doomed: deque[str] = deque()
        self._is_removing = False
        self._without_folder: deque[tuple[TopicPartition, PartitionLog]] = deque()
        self._is_making = False
        self._stopped = asyncio.Event()
        # A disk that is full refuses the folders of all partitions of a topic.
        self._unmade = Flood(
            clock, _log, "%d more have no folder until their first record, the last %s", in_full=1
        )
        self._left = Flood(
            clock,
            _log,
            "%d more cannot be removed, the next start tries again; the last %s",
            in_full=1,
        )

    def stop(self) -> None:
        """Begin with none any more; one that is under way is waited for by its task group."""
        self._stopped.set()
        self._unmade.stop()
        self._left.stop()

    def remove_later(self, folder: str) -> None:
        """Remove a folder that was renamed for deletion."""
        self._doomed.append(folder)
        if not self._is_removing and not self._stopped.is_set():
            self._is_removing = True
            self._tasks.create_task(self._remove())

    def make_later(self, partition: TopicPartition, log: PartitionLog) -> None:
        """Make the folder of a log that has none, unless it makes one itself before."""
        self._without_folder.append((partition, log))
        if not self._is_making and not self._stopped.is_set():
            self._is_making = True
            self._tasks.create_task(self._make())

    async def _remove(self) -> None:
        try:
            while self._doomed and not self._stopped.is_set():
                folder = self._doomed.popleft()
                try:
                    await self._workers.run(self._directory.remove, folder)
                except OSError as error:
                    told = f"{folder} cannot be removed, the next start tries again: {error}"
                    self._left.tell(told, f"{folder}: {error}")
        finally:
            self._is_removing = False

    async def _make(self) -> None:
        try:
            while self._without_folder and not self._stopped.is_set():
                began = self._clock.now_ms()
                for _ in range(PER_TURN):
                    if not self._without_folder or self._stopped.is_set():
                        return
                    await self._make_next()
                await self._rest(RESTS * max(1, self._clock.now_ms() - began))
        finally:
            self._is_making = False

    async def _rest(self, rest_ms: int) -> None:
        with suppress(TimeoutError):
            await self._clock.wait(self._stopped.wait(), self._clock.now_ms() + rest_ms)

    async def _make_next(self) -> None:
        partition, log = self._without_folder.popleft()
        if not log.folder.exists and self._directory.logs.get(partition) is log:
            await self._make_one(FolderPlan.of(partition, log, self._entropy.uuid()))

    async def _make_one(self, plan: FolderPlan) -> None:
        try:
            await self._workers.run(plan.build, self._directory.files)
            if plan.adopt(self._directory):
                return
        except OSError as error:
            name = plan.partition
            told = f"{name} has no folder until its first record: {error}"
            self._unmade.tell(told, f"{name}: {error}")
        self.remove_later(plan.folder)
