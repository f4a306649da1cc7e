"""Writes a log folder's checkpoints while the broker runs: where logs begin, and below where all is
on the disk. A worker waits for the disk; what it wrote counts once the loop has renamed it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from kafkalite.log.offset_checkpoints import OffsetCheckpoints, Offsets
from kafkalite.ports.workers import Workers
from kafkalite.server.disk_troubles import Trouble

_log = logging.getLogger(__name__)


class CheckpointWriter:
    """Writes one of them, whenever it is told to and there is something new."""

    def __init__(
        self,
        tasks: asyncio.TaskGroup,
        workers: Workers,
        checkpoints: OffsetCheckpoints,
        path: str,
        find: Callable[[], Offsets],
        *,
        on_refused: Callable[[OSError], None],
    ) -> None:
        """`find` tells what is to be in the file at `path`. `on_refused` is told of what the disk
        refuses."""
        self._on_refused = on_refused
        self._tasks = tasks
        self._workers = workers
        self._checkpoints = checkpoints
        self._path = path
        self._find = find
        self._written: Offsets | None = None
        self._is_writing = False
        self._trouble = Trouble()

    def write_later(self) -> None:
        """Nothing happens when nothing is new, or while the last call's is still being written."""
        offsets = self._find()
        if not self._is_writing and offsets != self._written:
            self._is_writing = True
            self._tasks.create_task(self._write(offsets))

    async def _write(self, offsets: Offsets) -> None:
        checkpoints = self._checkpoints
        try:
            staged = checkpoints.plan(self._path, offsets)
            await self._workers.run(staged.write)
            if checkpoints.adopt(staged):
                self._written = offsets
                await self._workers.run(checkpoints.sync)
        except OSError as error:
            level = self._trouble.level(str(error))
            _log.log(level, "%s cannot be written: %s", self._path, error)
            self._on_refused(error)
        else:
            self._trouble.is_over()
        finally:
            self._is_writing = False
