"""What a start finds of logs that were to move to another log folder: see future_log.py.

- The log where it was, and a copy: the move begins anew, and the copy goes once it has.
- The log renamed as one to be removed, and a copy: the copy is complete, and gets its name.

A folder that is missing may have the log, so nothing is decided without it.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from kafkalite.log.directories import LogDirectory
from kafkalite.log.folder_names import DELETE_SUFFIX, FUTURE_SUFFIX, partition_set_aside
from kafkalite.types import TopicPartition


class UnfinishedCopy(NamedTuple):
    """A log is to go to that log folder, which has a folder of that name for it."""

    directory: LogDirectory
    name: str


class UnfinishedMoves(NamedTuple):
    """What became of them."""

    finished: dict[TopicPartition, LogDirectory]
    """They are in these log folders now."""
    undone: dict[TopicPartition, UnfinishedCopy]
    """They are where they were, and are to go there still."""


def end_unfinished(
    directories: Sequence[LogDirectory], held: Container[TopicPartition]
) -> UnfinishedMoves:
    """`directories`: all that there are; `held`: the partitions that have a folder in one of them.
    `OSError` when a disk refuses; the next start goes on."""
    copies: dict[TopicPartition, list[UnfinishedCopy]] = {}
    left_behind: dict[TopicPartition, set[str]] = {}
    for directory in directories:
        for name in directory.files.list(""):
            copied = partition_set_aside(name, FUTURE_SUFFIX)
            if copied is not None:
                copies.setdefault(copied, []).append(UnfinishedCopy(directory, name))
            removed = partition_set_aside(name, DELETE_SUFFIX)
            if removed is not None:
                left_behind.setdefault(removed, set()).add(name)
    moves = UnfinishedMoves({}, {})
    for key, found in copies.items():
        if key in held:
            moves.undone[key] = found[-1]
        elif key in left_behind:
            # Kafka does not give both the same number; then there is but one copy.
            found.sort(key=lambda copy: _name_left_behind(copy) in left_behind[key])
            moves.finished[key] = found[-1].directory
            found[-1].directory.files.rename(found[-1].name, str(key))
        else:
            continue
        for directory, name in found[:-1]:
            directory.doom(name)
    return moves


def _name_left_behind(copy: UnfinishedCopy) -> str:
    """Of the log that it has taken the place of."""
    return copy.name.removesuffix(FUTURE_SUFFIX) + DELETE_SUFFIX
