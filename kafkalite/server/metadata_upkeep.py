"""Keeps the metadata log short while the broker runs: has snapshots written, and cleans it.

A snapshot of 10,000 partitions is half a second of work. It is done in pieces of a few
milliseconds, with rests between them, so that no request waits long for it: what it is made of
never changes. What waits for the disk is the workers'.

Source: Kafka's `SnapshotGenerator`, and `RaftMetadataLogCleanerManager` of `KafkaRaftClient`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress

from kafkalite.errors import InvariantError
from kafkalite.log.files import Files
from kafkalite.log.retired_files import RetiredFiles
from kafkalite.metadata.delta import MetadataDelta
from kafkalite.metadata.image import MetadataImage
from kafkalite.ports.clock import Clock
from kafkalite.ports.workers import Workers
from kafkalite.server.periodic import Periodic
from kafkalite.stores.metadata_log import DELETE_DELAY_MS, MetadataLog
from kafkalite.stores.new_snapshot import NewSnapshot

CLEAN_INTERVAL_MS = 60_000
"""Kafka's own, which no setting changes."""
RESTS = 2
"""How many times as long as a piece took nothing is done for the next."""
DELETING_MS = 100
"""Until it is asked again whether all that was deleted has lost its name."""

_log = logging.getLogger(__name__)


class MetadataUpkeep:
    """Of the log of one cluster. `watch` is to be told of each commit, after all who let go of what
    it deletes."""

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        workers: Workers,
        clock: Clock,
        log: MetadataLog,
        *,
        folders: Callable[[], Sequence[Files]],
        is_deleting: Callable[[], bool],
        fail: Callable[[InvariantError], None],
    ) -> None:
        """`folders`: those in which partitions of the cluster are. `is_deleting`: whether one there
        that was deleted still has its name. `fail` is told of a log that contradicts itself, or
        cannot be synced."""
        self._tasks = tasks
        self._workers = workers
        self._clock = clock
        self._log = log
        self._folders = folders
        self._is_deleting = is_deleting
        self._fail = fail
        self._is_writing = False
        self._stopped = asyncio.Event()
        self._image = MetadataImage()
        self._cleaning = Periodic(
            clock, self._clean, first_after_ms=CLEAN_INTERVAL_MS, interval_ms=CLEAN_INTERVAL_MS
        )

    def watch(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """A commit; the log has it."""
        self._image = image
        if self._is_writing or self._stopped.is_set():
            return
        if self._log.wants_snapshot(self._clock.now_ms()):
            self._is_writing = True
            self._tasks.create_task(self._write())

    def stop(self) -> None:
        """Leave the log alone: it closes."""
        self._stopped.set()
        self._cleaning.stop()

    async def _write(self) -> None:
        snapshot: NewSnapshot | None = None
        try:
            folders = self._folders()
            if not await self._sync():
                return
            snapshot = self._log.begin_snapshot(self._image, self._clock.now_ms())
            if await self._write_pieces(snapshot):
                await self._workers.run(_install, snapshot, folders)
                _log.info("the metadata has the snapshot %s", snapshot.name.name)
                snapshot = None
        except OSError as error:
            _log.warning("no snapshot of the metadata was written: %s", error)
        except InvariantError as error:
            self._fail(error)
        finally:
            self._is_writing = False
            if snapshot is not None:
                snapshot.abandon()

    async def _sync(self) -> bool:
        """False when the broker stops meanwhile, or did before this began: the log is closed."""
        if self._stopped.is_set():
            return False
        for path in self._log.unsynced():
            await self._workers.run(self._log.sync_file, path)
            if self._stopped.is_set():
                return False
        return True

    async def _write_pieces(self, snapshot: NewSnapshot) -> bool:
        """False when the broker stops meanwhile."""
        began = self._clock.now_ms()
        while snapshot.write_next():
            await self._rest(RESTS * max(1, self._clock.now_ms() - began))
            if self._stopped.is_set():
                return False
            began = self._clock.now_ms()
        while self._is_deleting():
            await self._rest(DELETING_MS)
            if self._stopped.is_set():
                return False
        return True

    async def _rest(self, rest_ms: int) -> None:
        with suppress(TimeoutError):
            await self._clock.wait(self._stopped.wait(), self._clock.now_ms() + rest_ms)

    def _clean(self) -> None:
        if self._is_writing:
            return  # A snapshot may have its name already, and not be on the disk.
        try:
            retired = self._log.clean(self._clock.now_ms())
        except OSError as error:
            _log.warning("the metadata log keeps what it does not need: %s", error)
            return
        if retired:
            self._tasks.create_task(self._remove(retired))

    async def _remove(self, retired: Sequence[RetiredFiles]) -> None:
        """After a while; what a stop leaves goes at the next start."""
        await self._rest(DELETE_DELAY_MS)
        try:
            for each in retired:
                if self._stopped.is_set():
                    return
                await self._workers.run(each.remove)
        except OSError as error:
            _log.warning("old metadata stays until the next start: %s", error)


def _install(snapshot: NewSnapshot, folders: Sequence[Files]) -> None:
    for files in folders:
        files.sync_folder("")
    snapshot.install()
