"""Whether a log folder, or one partition's, is sound: looked at, and left as it is.

    .log                       whole batches with the right CRC, in the order of their offsets
    .index, .timeindex         entries ascend, and are of batches that stand in the log
    .txnindex                  has the transactions that markers in the log abort, and no others
    .snapshot                  can be read, and is of batches that stand in the log
    leader-epoch-checkpoint    ascends, and each batch is of the epoch that began at or below it
    partition.metadata, meta.properties, quorum-state, *-offset-checkpoint
                               can be read; no offset is behind the end of its log

Batches that compaction or retention took are no finding, and neither are holes between offsets.
What a start makes again by itself is found all the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator
from itertools import islice
from typing import NamedTuple

from kafkalite.errors import CorruptRecordError
from kafkalite.log.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    PARTITION_METADATA,
    RECOVERY_POINTS,
    read_file,
    read_offsets,
    read_topic_id,
)
from kafkalite.log.claimed_folder import CLEAN_SHUTDOWN
from kafkalite.log.epochs import FILE_NAME as EPOCHS
from kafkalite.log.epochs import EpochStart, parse_epochs
from kafkalite.log.files import Files
from kafkalite.log.folder_names import METADATA_PARTITION, parse_partition
from kafkalite.log.inspection import FileKind, parse_name
from kafkalite.log.meta_properties import META_PROPERTIES, LogDirectoryError, parse_meta
from kafkalite.log.segment_verification import Finding, SegmentWalk
from kafkalite.types import Offset, TopicPartition

QUORUM_STATE = "quorum-state"

_MOST_OF_A_FILE = 20
"""Findings that are told of one file; the rest is counted."""
_OFFSETS = (RECOVERY_POINTS, HIGH_WATERMARKS, LOG_START_OFFSETS, CLEANER_OFFSETS)
_OF_A_CLEAN_STOP = (RECOVERY_POINTS, HIGH_WATERMARKS)
"""Those that tell of what is there, and nothing else, after a clean stop."""
_BESIDE_A_LOG = (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TRANSACTION_INDEX)

Advanced = Callable[[int], None]
"""Is told how many bytes of logs have been read so far."""


class Extent(NamedTuple):
    """What there is to verify."""

    partitions: tuple[TopicPartition, ...]
    log_bytes: int
    was_clean: bool
    """Whether the last stop was a clean one."""


def extent_of(files: Files) -> Extent:
    """Of the log folder at the root."""
    found = [
        partition
        for name in files.list("")
        if (partition := parse_partition(name)) is not None and files.is_folder(name)
    ]
    size = sum(log_bytes(files, str(partition)) for partition in found)
    return Extent(tuple(found), size, files.exists(CLEAN_SHUTDOWN))


def log_bytes(files: Files, folder: str) -> int:
    """Of all segments of a partition."""
    paths = (f"{folder}/{name}" for name in files.list(folder))
    logs = (path for path in paths if path.endswith(FileKind.LOG.value))
    return sum(files.size(path) for path in logs if not files.is_folder(path))


class Verification:
    """One look at a folder."""

    def __init__(self, files: Files, advanced: Advanced = lambda done: None) -> None:
        self._files = files
        self._advanced = advanced
        self._done = 0
        self._ends: dict[TopicPartition, Offset] = {}

    def log_folder(self, extent: Extent) -> Iterator[Finding]:
        """All of the log folder at the root."""
        yield from self._told(META_PROPERTIES, self._meta_properties())
        for name in self._files.list(""):
            if parse_partition(name) is not None and not self._files.is_folder(name):
                yield Finding(name, "is a file, and is named like a partition's folder")
        for partition in extent.partitions:
            yield from self._told(str(partition), self._partition(partition))
        for name in _OFFSETS:
            yield from self._told(name, _most(self._offsets(name, extent)))

    def partition(self, folder: str) -> Iterator[Finding]:
        """One partition's folder."""
        yield from self._told(folder, self._segments(folder))

    def _told(self, path: str, findings: Iterator[Finding]) -> Iterator[Finding]:
        """With what the disk refuses as a finding: the rest is to be looked at all the same."""
        try:
            yield from findings
        except OSError as error:
            refused = _named(path, error.filename)
            yield Finding(refused, f"cannot be read: {error.strerror or error}")

    def _meta_properties(self) -> Iterator[Finding]:
        data = read_file(self._files, META_PROPERTIES)
        if data is None:
            yield Finding(META_PROPERTIES, "is missing: no broker takes the folder for its own")
            return
        try:
            parse_meta(data, ".")
        except LogDirectoryError as error:
            yield Finding(META_PROPERTIES, str(error))

    def _offsets(self, name: str, extent: Extent) -> Iterator[Finding]:
        try:
            offsets = read_offsets(self._files, name)
        except CorruptRecordError as error:
            yield Finding(name, str(error))
            return
        told_of_all = extent.was_clean and name in _OF_A_CLEAN_STOP
        for partition, offset in offsets.items():
            end = self._ends.get(partition)
            if end is not None and offset > end:
                yield Finding(name, f"has offset {offset} of {partition}, which ends at {end}")
            elif told_of_all and offset and partition not in extent.partitions:
                yield Finding(name, f"has offset {offset} of {partition}, which is not there")

    def _partition(self, partition: TopicPartition) -> Iterator[Finding]:
        self._ends[partition] = yield from self._segments(str(partition))

    def _segments(self, folder: str) -> Generator[Finding, None, Offset]:
        """The generator's value is the end of the log."""
        yield from self._small_files(folder)
        epochs: list[EpochStart] | None = None
        try:
            epochs = parse_epochs(read_file(self._files, f"{folder}/{EPOCHS}") or b"")
        except CorruptRecordError as error:
            yield Finding(f"{folder}/{EPOCHS}", str(error))
        names = self._files.list(folder)
        for name in names:
            if self._files.is_folder(f"{folder}/{name}"):
                yield Finding(f"{folder}/{name}", "is a folder")
        named = [each for name in names if (each := parse_name(name))]
        bases = sorted(each.offset for each in named if each.kind is FileKind.LOG)
        walk = SegmentWalk(self._files, folder, epochs)
        yield from walk.read_snapshots(
            sorted(each.offset for each in named if each.kind is FileKind.PRODUCER_SNAPSHOT)
        )
        for base in bases:
            yield from _most(walk.segment(base, is_last=base == bases[-1]))
            self._done += walk.size_bytes
            self._advanced(self._done)
        for kind, offset, _ in named:
            if kind in _BESIDE_A_LOG and offset not in bases:
                yield Finding(f"{folder}/{offset:020d}{kind.value}", "has no log beside it")
        yield from _most(walk.left_over())
        for each in named:
            if each.kind is FileKind.METADATA_SNAPSHOT:
                name = f"{each.offset:020d}-{each.epoch:010d}{each.kind.value}"
                yield from _most(walk.metadata_snapshot(name))
        return walk.end_offset

    def _small_files(self, folder: str) -> Iterator[Finding]:
        path = f"{folder}/{PARTITION_METADATA}"
        try:
            if read_topic_id(self._files, folder) is None:
                yield Finding(path, "is missing or empty")
        except CorruptRecordError as error:
            yield Finding(path, str(error))
        if parse_partition(folder) != METADATA_PARTITION:
            return
        path = f"{folder}/{QUORUM_STATE}"
        data = read_file(self._files, path)
        try:
            if data is None:
                yield Finding(path, "is missing")
            else:
                int(json.loads(data)["leaderEpoch"])
        except (ValueError, KeyError, TypeError) as error:
            yield Finding(path, f"is damaged: {error}")


def _named(path: str, refused: str | None) -> str:
    """The file in that folder which the disk refused, as far as it says which."""
    _, folder, name = (refused or "").rpartition(f"{path}/")
    return f"{path}/{name}" if folder else path


def _most(findings: Iterator[Finding]) -> Iterator[Finding]:
    """The first ones of each run; a damaged file may have one in each of its entries."""
    last = None
    for last in islice(findings, _MOST_OF_A_FILE):
        yield last
    more = sum(1 for _ in findings)
    if more and last is not None:
        yield Finding(last.file, f"and {more} more of this kind")
