"""What a disk may have after a process has died, or the power has gone.

After a loss of power what was not synced is gone with its name, or its name is there without its
bytes, with zeros in their place, with half of them, or all. Files smaller than a sector are there
or not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from kafkalite.log.files_memory import MemoryFiles

GROWING = (".log", ".index", ".timeindex", ".snapshot")


def keep_names(disk: MemoryFiles, folder: str) -> None:
    """They are on the disk, whatever is in them."""
    disk.sync_folder(folder)
    for name in disk.list(folder):
        path = f"{folder}/{name}" if folder else name
        if disk.is_folder(path):
            keep_names(disk, path)


@dataclass(frozen=True)
class End:
    """What a process leaves on the disk that dies."""

    name: str
    keeps_names: bool = False
    kept: Callable[[str, int], int] | None = None
    """How many of so many bytes that were not synced."""
    zeros: bool = False
    """Whether zeros stand for the others."""

    def come(self, disk: MemoryFiles) -> None:
        if self.keeps_names:
            keep_names(disk, "")
        if self.kept is not None:
            disk.crash(self.kept, zeros=self.zeros)
            disk.make_folder("")


def is_growing(path: str) -> bool:
    return path.removesuffix(".cleaned").removesuffix(".swap").endswith(GROWING)


def half(path: str, size: int) -> int:
    return size // 2 if is_growing(path) else 0


def small_files(path: str, size: int) -> int:
    return 0 if is_growing(path) else size


def nothing(path: str, size: int) -> int:
    return 0


def everything(path: str, size: int) -> int:
    return size


ENDS = (
    End("killed"),
    End("all unsynced is gone", kept=nothing),
    End("names without bytes", keeps_names=True, kept=nothing),
    End("zeros for bytes", keeps_names=True, kept=nothing, zeros=True),
    End("half of the bytes", keeps_names=True, kept=half),
    End("small files alone", keeps_names=True, kept=small_files),
    End("bytes without syncs", keeps_names=True, kept=everything),
)

every_end = pytest.mark.parametrize("end", ENDS, ids=lambda end: end.name)
