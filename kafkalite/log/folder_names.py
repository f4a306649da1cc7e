"""What the folders in a log folder are called, and how the files in them begin.

topic-0                  a partition
topic-0.<32 hex>-delete  one being deleted, or one that is being made and has not its name yet
topic-0.<32 hex>-stray   one that the metadata does not know
topic-0.<32 hex>-future  one that is being filled from another log folder: see future_log.py

00000000000000000042.log a segment's file, or a snapshot, by its offset; what is called otherwise is
                         somebody's own
"""

from __future__ import annotations

import re

from kafkalite.metadata.topic_names import is_legal
from kafkalite.types import ZERO_UUID, Offset, TopicPartition, Uuid

DELETE_SUFFIX = "-delete"
STRAY_SUFFIX = "-stray"
FUTURE_SUFFIX = "-future"
METADATA_PARTITION = TopicPartition("__cluster_metadata", 0)
"""Has a folder like any other, but no line in the checkpoints."""

_MAX_NAME = 255
_OFFSET_DIGITS = 20
_MAX_OFFSET = 2**63 - 1
_PARTITION = re.compile(r"(.+)-(0|[1-9][0-9]{0,9})")
_SET_ASIDE = re.compile(r"(.+-[0-9]{1,10})\.[0-9a-f]{32}(-delete|-stray|-future)")


def offset_of(name: str) -> Offset | None:
    """The offset that leads the name of a segment's or a snapshot's file; None for any other
    name."""
    stem, dot, _ = name.partition(".")
    if not dot or len(stem) != _OFFSET_DIGITS or not (stem.isascii() and stem.isdecimal()):
        return None
    offset = Offset(int(stem))
    return offset if offset <= _MAX_OFFSET else None


def parse_partition(name: str) -> TopicPartition | None:
    """The partition whose folder has this name; None for any other name."""
    match = _PARTITION.fullmatch(name)
    if match is None or not is_legal(match[1]):
        return None
    return TopicPartition(match[1], int(match[2]))


def set_aside_name(partition: TopicPartition, unique: Uuid, suffix: str) -> str:
    """The partition's folder under another name, cut where a disk takes no longer one."""
    tail = f"-{partition.partition}.{unique.hex()}{suffix}"
    return partition.topic[: _MAX_NAME - len(tail)] + tail


def is_set_aside(name: str, suffix: str) -> bool:
    """Whether the name is of a folder that was set aside with that suffix."""
    match = _SET_ASIDE.fullmatch(name)
    return match is not None and match[2] == suffix and is_legal(match[1])


def partition_set_aside(name: str, suffix: str) -> TopicPartition | None:
    """Whose folder was set aside with that suffix; None for any other name, and wrong for one that
    was cut: see `is_cut`."""
    match = _SET_ASIDE.fullmatch(name)
    return None if match is None or match[2] != suffix else parse_partition(match[1])


def is_cut(partition: TopicPartition) -> bool:
    """Whether its name is too long to be told from that of its folder when it is set aside."""
    return (
        partition_set_aside(set_aside_name(partition, ZERO_UUID, FUTURE_SUFFIX), FUTURE_SUFFIX)
        != partition
    )
