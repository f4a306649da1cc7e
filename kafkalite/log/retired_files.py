"""Files that a log has let go of: renamed `.deleted`, and removed a while later.

Renaming costs nothing, however large the file, and whoever reads it still goes on. How much later
is up to the caller (`file.delete.delay.ms`). What a stop leaves goes when the log is opened next.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from kafkalite.log.files import Files

DELETED_SUFFIX = ".deleted"


def retire(files: Files, paths: Iterable[str]) -> list[str]:
    """Rename those that exist, in order, and not durably: their new names.

    After an `OSError` those before the one refused are renamed.
    """
    renamed = []
    for path in paths:
        if files.exists(path):
            files.rename(path, path + DELETED_SUFFIX, sync=False)
            renamed.append(path + DELETED_SUFFIX)
    return renamed


class RetiredFiles(NamedTuple):
    """What `retire` renamed."""

    files: Files
    paths: tuple[str, ...]

    def remove(self) -> None:
        """Remove them; those that are gone already went with their topic. Safe in a worker."""
        for path in self.paths:
            with suppress(FileNotFoundError):
                self.files.remove(path)
