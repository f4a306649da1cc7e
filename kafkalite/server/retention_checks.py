"""Looks over all partitions for segments that are too old, and has their files removed.

The decision is `log.retention`. Many partitions are looked at over many turns of the loop.
Source: Kafka's `LogManager.cleanupLogs`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable

from kafkalite.errors import CorruptRecordError
from kafkalite.log.retention import Deletion, delete_old_segments
from kafkalite.log.retired_files import RetiredFiles
from kafkalite.ports.clock import Clock, Timer
from kafkalite.ports.workers import Workers
from kafkalite.server.partition import Partition

_log = logging.getLogger(__name__)

PER_TURN = 32
"""Partitions looked at in one turn of the loop. For most of them nothing is to be done."""


class RetentionChecks:
    """`check` is called from time to time."""

    def __init__(self, tasks: asyncio.TaskGroup, workers: Workers, clock: Clock) -> None:
        self._tasks = tasks
        self._workers = workers
        self._clock = clock
        self._left: deque[Partition] = deque()
        self._turn: Timer | None = None
        self._removals: dict[RetiredFiles, Timer] = {}

    def check(self, partitions: Callable[[], Iterable[Partition]]) -> None:
        """Look at all that there are, unless the last look is not over yet."""
        if not self._left:
            self._left.extend(partitions())
            self._go_on()

    def stop(self) -> None:
        """Look at no more. Files that were to be removed later are removed at the next start."""
        self._left.clear()
        for timer in (self._turn, *self._removals.values()):
            if timer is not None:
                timer.cancel()
        self._removals.clear()

    def _go_on(self) -> None:
        now = self._clock.now_ms()
        for _ in range(min(PER_TURN, len(self._left))):
            self._check_one(self._left.popleft())
        self._turn = self._clock.call_at(now, self._go_on) if self._left else None

    def _check_one(self, partition: Partition) -> None:
        log = partition.log
        try:
            deletions = delete_old_segments(
                log, high_watermark=partition.high_watermark, now=self._clock.now_ms()
            )
        except (OSError, CorruptRecordError) as error:
            _log.warning("%s keeps segments that are too old: %s", log.name, error)
            return
        if deletions:
            partition.log_start_moved()
        for deletion in deletions:
            self._tell(log.name, deletion)
            self._remove_later(deletion.retired, log.config.file_delete_delay_ms)

    def _tell(self, name: str, deletion: Deletion) -> None:
        first, *others = deletion.base_offsets
        more = f" and {len(others)} more" if others else ""
        _log.info("%s: deleting segment %d%s due to %s", name, first, more, deletion.reason)

    def _remove_later(self, retired: RetiredFiles, delay_ms: int) -> None:
        def remove() -> None:
            del self._removals[retired]
            self._tasks.create_task(self._remove(retired))

        at_ms = self._clock.now_ms() + delay_ms
        self._removals[retired] = self._clock.call_at(at_ms, remove)

    async def _remove(self, retired: RetiredFiles) -> None:
        try:
            await self._workers.run(retired.remove)
        except OSError as error:
            _log.warning("a deleted segment stays until the next start: %s", error)
