"""A snapshot while it is written: into a file of another name, which takes its own once all of it
is on the disk.

Source: Kafka's `FileRawSnapshotWriter`, `Snapshots`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from kafkalite.log.files import Files
from kafkalite.stores.checkpoint import Checkpoint

CHECKPOINT_SUFFIX = ".checkpoint"
PARTIAL_SUFFIX = f"{CHECKPOINT_SUFFIX}.part"


class NewSnapshot:
    """`write_next` until it says that all is written, then `install`; or `abandon`."""

    def __init__(
        self, files: Files, folder: str, name: Checkpoint, batches: Iterator[bytearray]
    ) -> None:
        """`OSError` when the disk refuses to make its file."""
        self._files = files
        self._batches = batches
        self._path = f"{folder}/{name.name}"
        self._partial = self._path.removesuffix(CHECKPOINT_SUFFIX) + f"-{PARTIAL_SUFFIX}"
        self.name = name
        if files.exists(self._partial):
            files.remove(self._partial)
        self._file = files.open(self._partial)

    def write_next(self) -> bool:
        """Encode and write a few milliseconds' worth; False when there is nothing left."""
        batch = next(self._batches, None)
        if batch is None:
            self._file.close()
            return False
        self._file.append(batch)
        return True

    def install(self) -> None:
        """From now on it is a snapshot, after a loss of power too. Waits for the disk; safe in a
        worker."""
        self._files.sync_file(self._partial)
        self._files.rename(self._partial, self._path)

    def abandon(self) -> None:
        """Do without it; what the disk does not give back is removed by the next start."""
        with suppress(OSError):
            self._file.close()
            self._files.remove(self._partial)
