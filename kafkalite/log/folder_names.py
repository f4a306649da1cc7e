"""What the folders in a log folder are called.

topic-0                  a partition
topic-0.<32 hex>-delete  one being deleted, or one that is being made and has not its name yet
topic-0.<32 hex>-stray   one that the metadata does not know
"""

from __future__ import annotations

import re

from kafkalite.metadata.topic_names import is_legal
from kafkalite.types import TopicPartition, Uuid

DELETE_SUFFIX = "-delete"
STRAY_SUFFIX = "-stray"
METADATA_PARTITION = TopicPartition("__cluster_metadata", 0)
"""Has a folder like any other, but no line in the checkpoints."""

_MAX_NAME = 255
_PARTITION = re.compile(r"(.+)-(0|[1-9][0-9]{0,9})")
_SET_ASIDE = re.compile(r"(.+)-[0-9]{1,10}\.[0-9a-f]{32}(-delete|-stray)")


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
