"""Has logs on the disk, off the loop: what `flush.messages`, `flush.ms` and rolls ask for.

One sync of a log at a time. Whatever is appended while it runs waits together for the next, so that
the more there is to sync, the fewer syncs it takes a record. Partitions are synced side by side.

Kafka differs: it syncs for `flush.messages` within the append, so that acks=1 is answered after it.
Here acks=1 is answered at once, where there are followers in sync.

Source: Kafka's `UnifiedLog.flush`, `LogManager.flushDirtyLogs`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress

from kafkalite.errors import InvariantError
from kafkalite.ports.clock import Clock
from kafkalite.ports.workers import Workers
from kafkalite.server.partition import Partition

_log = logging.getLogger(__name__)


class Flusher:
    """Syncs the logs of partitions that ask for it."""

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        workers: Workers,
        clock: Clock,
        *,
        sync_metadata: Callable[[], None],
        on_refused: Callable[[Partition, OSError], None],
        fail: Callable[[InvariantError], None],
    ) -> None:
        """`sync_metadata`: see `Storage`. `on_refused` is told of a log that could not be synced:
        nobody knows what of it is on the disk, and asking again would not tell."""
        self._tasks = tasks
        self._workers = workers
        self._clock = clock
        self._sync_metadata = sync_metadata
        self._on_refused = on_refused
        self._fail = fail
        self._busy: dict[Partition, asyncio.Task[None]] = {}
        self._is_finishing = False
        """However much is appended meanwhile, a sync that begins now is the last in a row."""
        self._is_stopped = False

    def stop(self) -> None:
        """Begin with none any more: the clean stop syncs all."""
        self._is_stopped = True

    async def finish(self, until_ms: int) -> None:
        """Return when all that waits by now is on the disk, or it is too late."""
        self._is_finishing = True
        under_way = list(self._busy.values())
        if under_way:
            with suppress(TimeoutError):
                await self._clock.wait(asyncio.wait(under_way), until_ms)

    def flush_later(self, partition: Partition) -> None:
        """Sync its log, once or as often as it is due until then."""
        if partition not in self._busy and not self._is_stopped:
            self._busy[partition] = self._tasks.create_task(self._flush(partition))

    def flush_old(self, partitions: Callable[[], Iterable[Partition]]) -> None:
        """Sync the logs whose last sync is `flush.ms` ago or more, if there is anything new."""
        now = self._clock.now_ms()
        for partition in partitions():
            log = partition.log
            if (
                log.end_offset > log.recovery_point
                and now - partition.flushed_ms >= log.config.flush_ms
            ):
                self.flush_later(partition)

    async def _flush(self, partition: Partition) -> None:
        log = partition.log
        try:
            while True:
                is_last = self._is_finishing
                await self._sync(partition)
                if is_last or self._is_stopped or log.end_offset < log.flush_at:
                    return
        except OSError as error:
            _log.error("%s cannot be synced: %s", log.name, error)
            self._on_refused(partition, error)
        except InvariantError as error:
            self._fail(error)
        finally:
            del self._busy[partition]

    async def _sync(self, partition: Partition) -> None:
        log = partition.log
        self._sync_metadata()
        sync = log.begin_sync()
        is_durable = False
        try:
            await self._workers.run(sync.run)
            is_durable = True
        finally:
            log.end_sync(sync, is_durable=is_durable)
        partition.flushed_ms = self._clock.now_ms()
        partition.synced(self._clock.now_ms())
