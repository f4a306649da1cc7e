"""The small text files of a log folder: offsets of all its partitions, and `partition.metadata`.

A checkpoint is a version (0), the number of lines, then the lines; Kafka's `CheckpointFile`. Four
of them hold `topic partition offset`:

    recovery-point-offset-checkpoint      below it, everything is on the disk for sure
    replication-offset-checkpoint         the high watermark
    log-start-offset-checkpoint           where DeleteRecords put the start, above the first segment
    cleaner-offset-checkpoint             how far compaction got
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafkalite.errors import CorruptRecordError
from kafkalite.log.files import Files
from kafkalite.types import Offset, TopicPartition, Uuid, format_uuid, parse_uuid

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
PARTITION_METADATA = "partition.metadata"

_VERSION = "0"


def read_file(files: Files, path: str) -> bytes | None:
    """All of a small file; None when it is missing."""
    if not files.exists(path):
        return None
    file = files.open_read(path)
    try:
        return file.read(0, file.size)
    finally:
        file.close()


def format_lines(lines: Sequence[str]) -> bytes:
    """A checkpoint file of these lines."""
    return "".join(f"{line}\n" for line in (_VERSION, str(len(lines)), *lines)).encode()


def parse_lines(data: bytes, *, fields: int) -> list[list[str]]:
    """The words of each line, all but the first of them numbers; `CorruptRecordError` else.

    None for an empty file: Kafka makes its checkpoints empty and fills them later.
    """
    if not data:
        return []
    try:
        version, count, *lines = data.decode().splitlines()
        words = [line.split() for line in lines if line.strip()]
        for line in words:
            if len(line) != fields:
                raise ValueError(f"a line of {len(line)} words")
            for number in line[1:]:
                int(number)
        if version != _VERSION or int(count) != len(words):
            raise ValueError(f"version {version}, {len(words)} lines of {count}")
    except ValueError as error:
        raise CorruptRecordError(f"not a checkpoint file: {error}") from error
    return words


def read_offsets(files: Files, path: str) -> dict[TopicPartition, Offset]:
    """An offset checkpoint; empty when the file is missing. `CorruptRecordError` if damaged."""
    data = read_file(files, path)
    if data is None:
        return {}
    return {
        TopicPartition(topic, int(partition)): Offset(int(offset))
        for topic, partition, offset in parse_lines(data, fields=3)
    }


def write_offsets(files: Files, path: str, offsets: Mapping[TopicPartition, Offset]) -> None:
    """Replace an offset checkpoint, durably."""
    lines = [f"{key.topic} {key.partition} {offset}" for key, offset in sorted(offsets.items())]
    files.replace(path, format_lines(lines))


def format_partition_metadata(topic_id: Uuid) -> bytes:
    """The content of `partition.metadata`."""
    return f"version: 0\ntopic_id: {format_uuid(topic_id)}".encode()


def read_topic_id(files: Files, folder: str) -> Uuid | None:
    """A partition's topic id; None without the file, `CorruptRecordError` if damaged.

    An empty file is none, and so is one of zeros: its name and its length may reach the disk before
    its bytes, which nobody waited for.
    """
    data = read_file(files, f"{folder}/{PARTITION_METADATA}")
    if not data or not any(data):
        return None
    try:
        pairs = dict(line.split(": ", 1) for line in data.decode().splitlines())
        if pairs["version"] != "0":
            raise CorruptRecordError(f"{PARTITION_METADATA} of version {pairs['version']}")
        return parse_uuid(pairs["topic_id"])
    except (ValueError, KeyError) as error:
        raise CorruptRecordError(f"{folder}/{PARTITION_METADATA} is damaged: {error}") from error
