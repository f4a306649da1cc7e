"""Files that a log has let go of: renamed `.deleted`, and removed a while later.

Renaming costs nothing, however large the file, and whoever reads it still goes on. How much later
is up to the caller (`file.delete.delay.ms`). What a stop leaves goes when the log is opened next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager, suppress
from typing import NamedTuple

from kafkalite.log.files import Files

DELETED_SUFFIX = ".deleted"


def retire(files: Files, paths: Iterable[str]) -> list[str]:
    """Rename those that exist, in order and not durably, up to the first that the disk refuses:
    their new names. `OSError` when that leaves none.
    """
    renamed: list[str] = []
    with unless_some(renamed):
        for path in paths:
            if files.exists(path):
                files.rename(path, path + DELETED_SUFFIX, sync=False)
                renamed.append(path + DELETED_SUFFIX)
    return renamed


@contextmanager
def unless_some(gone: Sized) -> Iterator[None]:
    """Let an `OSError` pass when nothing has gone; else it ends what is done here, and no more: who
    is not told of what has gone leaves it on the disk. The next time meets the error first."""
    try:
        yield
    except OSError:
        if not gone:
            raise


class RetiredFiles(NamedTuple):
    """What `retire` renamed."""

    files: Files
    paths: tuple[str, ...]

    def remove(self) -> None:
        """Remove them; those that are gone already went with their topic. Safe in a worker."""
        for path in self.paths:
            with suppress(FileNotFoundError):
                self.files.remove(path)
