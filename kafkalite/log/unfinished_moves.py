"""What a start finds of logs that were to move to another log folder: see future_log.py.

- The log where it was, and a copy: the copy is removed, and the move begins anew.
- The log renamed as one to be removed, and a copy: the copy is complete, and gets its name.

A folder that is missing may have the log, so nothing is decided without it.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from kafkalite.log.directories import LogDirectory
from kafkalite.log.folder_names import DELETE_SUFFIX, FUTURE_SUFFIX, partition_set_aside
from kafkalite.types import TopicPartition


class UnfinishedMoves(NamedTuple):
    """What became of them, with the log folder that each log was to go to."""

    finished: dict[TopicPartition, LogDirectory]
    """They are there now."""
    undone: dict[TopicPartition, LogDirectory]
    """They are where they were."""


def end_unfinished(
    directories: Sequence[LogDirectory], held: Container[TopicPartition]
) -> UnfinishedMoves:
    """`directories`: all that there are; `held`: the partitions that have a folder in one of them.
    `OSError` when a disk refuses; the next start goes on."""
    copies: dict[TopicPartition, tuple[LogDirectory, str]] = {}
    left_behind: set[TopicPartition] = set()
    for directory in directories:
        for name in directory.files.list(""):
            copied = partition_set_aside(name, FUTURE_SUFFIX)
            if copied is not None:
                copies[copied] = (directory, name)
            removed = partition_set_aside(name, DELETE_SUFFIX)
            if removed is not None:
                left_behind.add(removed)
    moves = UnfinishedMoves({}, {})
    for key, (directory, name) in copies.items():
        if key in held:
            directory.doom(name)
            moves.undone[key] = directory
        elif key in left_behind:
            directory.files.rename(name, str(key))
            moves.finished[key] = directory
    return moves
