"""Looks over all partitions for segments that are too old, and has their files removed.

The decision is `log.retention`. Many partitions are looked at over many turns of the loop.
Source: Kafka's `LogManager.cleanupLogs`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable

from kafkalite.errors import CorruptRecordError, InvariantError
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.retention import Deletion, delete_old_segments
from kafkalite.log.retired_files import RetiredFiles
from kafkalite.ports.clock import Clock, Timer
from kafkalite.ports.workers import Workers
from kafkalite.server.disk_troubles import Trouble
from kafkalite.server.partition import Partition

_log = logging.getLogger(__name__)

PER_TURN = 32
"""Partitions looked at in one turn of the loop. For most of them nothing is to be done."""


class RetentionChecks:
    """`check` is called from time to time. What is in the way is told once, until it is gone: of a
    disk for all partitions together, of damage for each."""

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        workers: Workers,
        clock: Clock,
        *,
        on_refused: Callable[[OSError], None],
        fail: Callable[[InvariantError], None],
    ) -> None:
        """`on_refused` is told of what a disk refuses, `fail` of a log that contradicts itself."""
        self._on_refused = on_refused
        self._fail = fail
        self._tasks = tasks
        self._workers = workers
        self._clock = clock
        self._left: deque[Partition] = deque()
        self._trouble = Trouble()
        self._is_refused = False
        """By the disk, in the look that is under way or was the last one."""
        self._damaged: set[PartitionLog] = set()
        self._trouble_with_removals = Trouble()
        self._turn: Timer | None = None
        self._removals: dict[int, Timer] = {}
        """By number: a topic that is made again may drop files of the same names."""
        self._last_removal = 0

    def check(self, partitions: Iterable[Partition]) -> None:
        """Look at all of these, unless the last look is not over yet."""
        if not self._left:
            self._left.extend(partitions)
            self._is_refused = False
            self._damaged.intersection_update(each.log for each in self._left)
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
        for _ in range(PER_TURN):
            if self._left:  # An error ends it all.
                self._check_one(self._left.popleft())
        self._turn = self._clock.call_at(now, self._go_on) if self._left else None
        if not self._left and not self._is_refused:
            self._trouble.is_over()

    def _check_one(self, partition: Partition) -> None:
        log = partition.log
        try:
            deletions = delete_old_segments(
                log, high_watermark=partition.high_watermark, now=self._clock.now_ms()
            )
        except OSError as error:
            self._is_refused = True
            if self._trouble.level(f"{error.errno}") == logging.WARNING:
                self._tell_kept(log, error)
                self._on_refused(error)
            return
        except CorruptRecordError as error:
            if log not in self._damaged:
                self._damaged.add(log)
                self._tell_kept(log, error)
            return
        except InvariantError as error:
            self._fail(error)
            return
        self._damaged.discard(log)
        if deletions:
            partition.log_start_moved()
        for deletion in deletions:
            self._tell(log.name, deletion)
            self.remove_later(deletion.retired, log.config.file_delete_delay_ms)

    def _tell_kept(self, log: PartitionLog, error: Exception) -> None:
        _log.warning("%s keeps segments that are too old: %s", log.name, error)

    def _tell(self, name: str, deletion: Deletion) -> None:
        first, *others = deletion.base_offsets
        more = f" and {len(others)} more" if others else ""
        _log.info("%s: deleting segment %d%s due to %s", name, first, more, deletion.reason)

    def remove_later(self, retired: RetiredFiles, delay_ms: int) -> None:
        """Remove these files so much later; at the next start if a stop comes before."""
        self._last_removal += 1
        number = self._last_removal

        def remove() -> None:
            del self._removals[number]
            self._tasks.create_task(self._remove(retired))

        at_ms = self._clock.now_ms() + delay_ms
        self._removals[number] = self._clock.call_at(at_ms, remove)

    async def _remove(self, retired: RetiredFiles) -> None:
        try:
            await self._workers.run(retired.remove)
        except OSError as error:
            level = self._trouble_with_removals.level(f"{error.errno}")
            _log.log(level, "a deleted segment stays until the next start: %s", error)
        else:
            self._trouble_with_removals.is_over()
