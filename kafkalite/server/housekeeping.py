"""Work that no request waits for. Blocking parts go to the workers, one at a time."""

from __future__ import annotations

import asyncio
import logging
from collections import deque

from kafkalite.log.directories import LogDirectory
from kafkalite.ports.clock import Clock, Timer
from kafkalite.ports.workers import Workers

_log = logging.getLogger(__name__)

PRODUCER_CHECK_INTERVAL_MS = 600_000
"""`producer.id.expiration.check.interval.ms`, an internal setting of Kafka's with this default."""


class Housekeeping:
    """Removes the folders of deleted partitions, and forgets producers that fell silent. Retention
    and compaction will live here too."""

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        workers: Workers,
        clock: Clock,
        directory: LogDirectory,
    ) -> None:
        self._tasks = tasks
        self._clock = clock
        self._timer: Timer | None = None
        self._workers = workers
        self._directory = directory
        self._folders: deque[str] = deque()
        self._is_removing = False

    def start(self) -> None:
        """Go on with what the last run left, and look around from now on."""
        for folder in self._directory.find_deleted():
            self.remove_later(folder)
        self._expire_producers()

    def stop(self) -> None:
        """Look around no more. What is being removed is waited for by its task group."""
        if self._timer is not None:
            self._timer.cancel()

    def remove_later(self, folder: str) -> None:
        """Remove a folder that was renamed for deletion. What a stop interrupts, the next start
        goes on with."""
        self._folders.append(folder)
        if not self._is_removing:
            self._is_removing = True
            self._tasks.create_task(self._remove())

    def _expire_producers(self) -> None:
        now = self._clock.now_ms()
        for log in self._directory.logs.values():
            log.producers.remove_expired(now)
        self._timer = self._clock.call_at(now + PRODUCER_CHECK_INTERVAL_MS, self._expire_producers)

    async def _remove(self) -> None:
        try:
            while self._folders:
                folder = self._folders.popleft()
                try:
                    await self._workers.run(self._directory.remove, folder)
                except OSError as error:
                    _log.warning(
                        "%s cannot be removed, the next start tries again: %s", folder, error
                    )
        finally:
            self._is_removing = False
