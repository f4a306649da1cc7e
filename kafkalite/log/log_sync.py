"""One sync of a log: what it was told to have on the disk, and how far that makes it durable.

The wait may be a worker's, while the log goes on: what is written meanwhile is for the next sync.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from kafkalite.log.files import Files
from kafkalite.types import Offset


class LogSync(NamedTuple):
    """See `PartitionLog.begin_sync`."""

    files: Files
    end_offset: Offset
    """Below it all records are on the disk afterwards."""
    paths: tuple[str, ...]
    folders: tuple[str, ...]
    """After the files, and in this order: a name must not outlive its bytes."""

    def run(self) -> None:
        """Return when the disk has it all; `OSError` when it has not. Safe in a worker.

        What has lost its name meanwhile is no part of the log any more, or the log is gone.
        """
        for path in self.paths:
            with suppress(FileNotFoundError):
                self.files.sync_file(path)
        for path in self.folders:
            with suppress(FileNotFoundError):
                self.files.sync_folder(path)
