"""The offsets of all partitions that a log folder keeps beside them, in files of `checkpoints.py`.

    recovery points    below them all is on the disk; how far a crash has to be checked
    log starts         of logs that begin within a segment, after DeleteRecords
    high watermarks    where a replica's begins
    cleaner offsets    how far logs are compacted; one that is named here may have holes

Kafka differs: a checkpoint that cannot be read stops its broker, if this is its one folder. Here it
is warned of, and what it told begins anew: all is scanned, from the first segment on.

Kafka differs: it writes the high watermarks of all partitions every few seconds. Here, while it
runs, those of partitions that have other replicas; without any, all that a log has is committed.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import NamedTuple

from kafkalite.errors import CorruptRecordError
from kafkalite.log.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_offsets,
    write_offsets,
)
from kafkalite.log.files import Files
from kafkalite.log.folder_names import FUTURE_SUFFIX, METADATA_PARTITION
from kafkalite.log.partition_log import PartitionLog
from kafkalite.types import Offset, TopicPartition

_log = logging.getLogger(__name__)

Offsets = dict[TopicPartition, Offset]
_PLANNED_SUFFIX = ".next"


class PlannedCheckpoint(NamedTuple):
    """A checkpoint written beside, by a worker; it counts once `adopt` has renamed it."""

    files: Files
    path: str
    offsets: Offsets
    changes: int
    """How often the files had been written when it was planned."""

    def write(self) -> None:
        """Write it, durably. Safe in a worker, one at a time of a path."""
        write_offsets(self.files, self.path + _PLANNED_SUFFIX, self.offsets)


class OffsetCheckpoints:
    """As the last stop left them; what is open tells for itself."""

    __slots__ = (
        "_changes",
        "_files",
        "_forgotten",
        "_location",
        "_logs",
        "_written_cleaner_offsets",
        "cleaner_offsets",
        "high_watermarks",
        "log_starts",
        "recovery_points",
    )

    def __init__(
        self, files: Files, location: str, logs: Mapping[TopicPartition, PartitionLog]
    ) -> None:
        """`logs`: those that are open, now and later."""
        self._files = files
        self._location = location
        self._logs = logs
        self._changes = 0
        self._forgotten: set[TopicPartition] = set()
        """Gone, yet still in the files."""
        self.recovery_points = self._read(RECOVERY_POINTS)
        self.log_starts = self._read(LOG_START_OFFSETS)
        self.high_watermarks = self._read(HIGH_WATERMARKS)
        self.cleaner_offsets = self._read(CLEANER_OFFSETS)
        """Below them, no two records of a log have the same key."""
        self._written_cleaner_offsets = dict(self.cleaner_offsets)

    def _read(self, path: str) -> Offsets:
        try:
            return read_offsets(self._files, path)
        except CorruptRecordError as error:
            _log.warning("%s/%s is damaged, and counts as empty: %s", self._location, path, error)
            return {}

    def forget(self, partition: TopicPartition) -> None:
        """It is gone; what the files tell of it is not true of one that comes by its name."""
        self._changes += 1
        for offsets in (
            self.recovery_points,
            self.log_starts,
            self.high_watermarks,
            self.cleaner_offsets,
        ):
            if offsets.pop(partition, None) is not None:
                self._forgotten.add(partition)

    def forget_absent(self, folders: Collection[str]) -> None:
        """Partitions that have none of these folders: whoever had the log folder was killed before
        all files knew that they were deleted. A log that is on its way here has its lines
        already."""
        if any(name.endswith(FUTURE_SUFFIX) for name in folders):
            return
        known = {*self.recovery_points, *self.log_starts}
        for partition in {*known, *self.high_watermarks, *self.cleaner_offsets}:
            if str(partition) not in folders:
                self.forget(partition)

    def open(self, partition: TopicPartition) -> None:
        """Before one of that name takes a record, have the files tell nothing of an older one: a
        crash would believe it."""
        if partition in self._forgotten:
            self.write_recovery_points()
            self.write_log_starts()
            self.write_cleaner_offsets()
            self._changes += 1
            write_offsets(self._files, HIGH_WATERMARKS, self.high_watermarks)
            self._forgotten.clear()

    def write(self, high_watermarks: Mapping[TopicPartition, Offset]) -> None:
        """Write all, with these high watermarks of what is open."""
        self.write_recovery_points()
        self.write_log_starts()
        self.write_cleaner_offsets()
        offsets = self.find_high_watermarks(high_watermarks)
        write_offsets(self._files, HIGH_WATERMARKS, offsets)

    def find_high_watermarks(self, high_watermarks: Mapping[TopicPartition, Offset]) -> Offsets:
        """These, of what is open, and of others as they were."""
        self.high_watermarks.update(
            (key, offset)
            for key, offset in high_watermarks.items()
            if key in self._logs and key != METADATA_PARTITION
        )
        return dict(self.high_watermarks)

    def find_recovery_points(self) -> Offsets:
        """Below them all is on the disk, with its indexes: a Kafka that goes on here would miss
        those of the active segment. Of partitions that are not open, as they were."""
        for key, log in self._logs.items():
            if key != METADATA_PARTITION:
                active, offset = log.folder.segments.active, log.recovery_point
                if not active.files.has_indexes:
                    offset = min(offset, active.base_offset)
                self.recovery_points[key] = offset
        return dict(self.recovery_points)

    def write_recovery_points(self) -> None:
        """Write their file, durably: what a worker was about to write does not count."""
        self._changes += 1
        write_offsets(self._files, RECOVERY_POINTS, self.find_recovery_points())

    def find_log_starts(self) -> Offsets:
        """Where the logs begin that begin within a segment; of those that are not open, as they
        were."""
        starts = {key: start for key, start in self.log_starts.items() if key not in self._logs}
        for key, log in self._logs.items():
            if log.log_start_offset > log.first_segment_offset and key != METADATA_PARTITION:
                starts[key] = log.log_start_offset
        return starts

    def write_log_starts(self) -> None:
        """Write their file, durably; see `write_recovery_points`."""
        self._changes += 1
        write_offsets(self._files, LOG_START_OFFSETS, self.find_log_starts())

    def find_cleaner_offsets(self) -> Offsets:
        """How far logs are compacted."""
        return dict(self.cleaner_offsets)

    def write_cleaner_offsets(self) -> None:
        """Write their file, durably, if there is anything new; see `write_recovery_points`."""
        self._changes += 1
        offsets = self.find_cleaner_offsets()
        if offsets != self._written_cleaner_offsets:
            write_offsets(self._files, CLEANER_OFFSETS, offsets)
            self._written_cleaner_offsets = offsets

    def limit_cleaner_offset(self, partition: TopicPartition, end_offset: Offset) -> None:
        """Its log is cut to `end_offset`: what comes from there on is not compacted. After an
        `OSError` it can be tried again."""
        is_above = self.cleaner_offsets.get(partition, end_offset) > end_offset
        if is_above:
            self.cleaner_offsets[partition] = end_offset
        if is_above or self._written_cleaner_offsets.get(partition, end_offset) > end_offset:
            self.write_cleaner_offsets()

    # While the broker runs, workers write.

    def plan(self, path: str, offsets: Offsets) -> PlannedCheckpoint:
        """What a worker is to write."""
        return PlannedCheckpoint(self._files, path, offsets, self._changes)

    def adopt(self, planned: PlannedCheckpoint) -> bool:
        """Have the file be what a worker wrote. False when it may not be true any more: a partition
        is gone, or was cut. `sync` makes it durable."""
        if planned.changes != self._changes:
            return False
        self._files.rename(planned.path + _PLANNED_SUFFIX, planned.path, sync=False)
        if planned.path == CLEANER_OFFSETS:
            self._written_cleaner_offsets = planned.offsets
        return True

    def sync(self) -> None:
        """What was adopted survives a loss of power from now on. Safe in a worker."""
        self._files.sync_folder("")
