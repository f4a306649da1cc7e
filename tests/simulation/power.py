"""What a loss of power leaves on a disk: of what was not synced nothing, some of it, or all; bytes
and names, each on its own."""

from __future__ import annotations

import contextlib
from typing import NamedTuple

from kafkalite.log.files_memory import MemoryFiles
from tests.simulation.world import Dice

GROWING = (".log", ".index", ".timeindex", ".snapshot", "-checkpoint")
"""Files of which any part may be left; the others are smaller than a sector."""


class PowerLost(NamedTuple):
    """What it left."""

    mood: str
    by_luck: dict[str, int]
    """How many bytes of each file are there that were not synced, or stand for such."""


def lose_power(disk: MemoryFiles, dice: Dice) -> PowerLost:
    """What was not synced is gone, or some of it, or none."""
    if dice.chance(0.5):
        _keep_names(disk, dice, "")
    mood = dice.one_of(["nothing", "zeros", "something", "everything"])
    by_luck: dict[str, int] = {}

    def kept(path: str, unsynced: int) -> int:
        if mood == "something":
            if path.endswith(GROWING):
                return dice.between(0, unsynced)
            return unsynced * dice.between(0, 1)
        return unsynced if mood == "everything" else 0

    def noted(path: str, unsynced: int) -> int:
        found = kept(path, unsynced)
        by_luck[path] = unsynced if mood == "zeros" else found
        return found

    disk.crash(noted, zeros=mood == "zeros")
    return PowerLost(mood, by_luck)


def _keep_names(disk: MemoryFiles, dice: Dice, folder: str) -> None:
    """Let names of this folder and those below reach the disk, some of them without a byte of
    what they name."""
    if dice.chance(0.8):
        disk.sync_folder(folder)
    for name in disk.list(folder):
        path = f"{folder}/{name}" if folder else name
        with contextlib.suppress(NotADirectoryError):
            _keep_names(disk, dice, path)
