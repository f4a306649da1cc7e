"""The folder of one log: made when it is first needed; and which of its files a disk may not have.

    partition.metadata          whose folder it is
    leader-epoch-checkpoint     see epochs.py
    <offset>.log .index ...     the segments
    <offset>.snapshot           see producer_snapshots.py

A topic may have thousands of partitions, and a new file costs some disks a millisecond. So a log
without records needs no folder: it lives in memory until its first append, or until somebody makes
a folder beside (`LogDirectory.build`).
"""

from __future__ import annotations

from typing import NamedTuple
from zlib import crc32

from kafkalite.config.views import TopicConfig
from kafkalite.log.checkpoints import PARTITION_METADATA, format_partition_metadata
from kafkalite.log.epochs import FILE_NAME, LeaderEpochs
from kafkalite.log.files import Files
from kafkalite.log.folder_names import offset_of
from kafkalite.log.log_sync import LogSync
from kafkalite.log.producer_snapshots import ProducerSnapshots
from kafkalite.log.retired_files import RetiredFiles, unless_some
from kafkalite.log.segment import Segment, SegmentCut
from kafkalite.log.segment_files import SEGMENT_SUFFIXES
from kafkalite.log.segment_indexes import LOG_SUFFIX
from kafkalite.log.segments import SegmentList
from kafkalite.types import Offset, TimestampMs, Uuid


class Unsynced(NamedTuple):
    """What the disk may not have. Files go before folders: a name must not outlive its bytes."""

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


class LogFolder:
    """What `files` has at `path` of one log."""

    __slots__ = (
        "_files",
        "_jitter_seed",
        "epochs",
        "exists",
        "is_durable",
        "is_ready",
        "path",
        "segments",
        "snapshots",
        "topic_id",
    )

    def __init__(
        self,
        files: Files,
        path: str,
        topic_id: Uuid,
        *,
        segments: SegmentList,
        epochs: LeaderEpochs,
        exists: bool,
        is_durable: bool,
        jitter_seed: int,
    ) -> None:
        self._files = files
        self.path = path
        self.topic_id = topic_id
        self.segments = segments
        self.epochs = epochs
        self.snapshots = ProducerSnapshots(files, path)
        self.exists = exists
        """False: nothing is on the disk yet."""
        self.is_ready = exists
        """Whether it can be written to: it is there, and has no more than the log; see `make`."""
        self.is_durable = is_durable
        """Whether all names in it are on the disk, and its own."""
        self._jitter_seed = jitter_seed
        segments.active.jitter_ms = self._jitter_ms(segments.active)

    def add_segment(self, base_offset: Offset, config: TopicConfig, now: TimestampMs) -> None:
        """Begin a new active segment; its `.log` is made, empty."""
        self._add(Segment.create(self._files, self.path, base_offset, config, now))

    def _add(self, segment: Segment) -> None:
        segment.jitter_ms = self._jitter_ms(segment)
        self.segments.add(segment)

    def cut(self, cut: SegmentCut, now: TimestampMs) -> None:
        """Have the segment that begins at or below that offset end with it, and none above it. The
        disk is to follow, with the epochs: see `settle`."""
        self.is_ready = False
        self.segments.drop_above(cut.offset)
        self.segments.active.cut(cut, now)

    def begin_anew(self, offset: Offset, config: TopicConfig, now: TimestampMs) -> None:
        """As `cut`, with one segment that is new and begins at `offset`."""
        self.is_ready = False
        self.segments.drop_above(Offset(-1))
        self._add(Segment.planned(self._files, self.path, offset, config, now))

    def retire_below(self, offset: Offset) -> RetiredFiles:
        """Let go of the segments below `offset`, but the active one, and of their snapshots; see
        `SegmentList.retire_below`."""
        self.is_durable = False
        paths = self.segments.retire_below(offset)
        with unless_some(paths):
            paths += self.snapshots.retire_below(self.segments.first_offset)
        return RetiredFiles(self._files, tuple(paths))

    def _jitter_ms(self, segment: Segment) -> int:
        """By chance, as the seed has it: another one for each segment of each log."""
        limit = min(segment.config.segment_jitter_ms, segment.config.segment_ms)
        return crc32(f"{self._jitter_seed}/{segment.name}".encode()) % limit if limit else 0

    def new_files(self) -> dict[str, bytes]:
        """What it is to hold while it does not exist, by name."""
        return {
            PARTITION_METADATA: format_partition_metadata(self.topic_id),
            FILE_NAME: self.epochs.content(),
            self.segments.active.name.rpartition("/")[2]: b"",
        }

    def make(self) -> None:
        """Make it, if it is not there, or `settle` it. After an `OSError` it can be tried again."""
        if self.exists:
            self.settle()
            return
        self._files.make_folder(self.path)
        for name, content in self.new_files().items():
            self._files.replace(f"{self.path}/{name}", content, sync=False)
        self._is_new()

    def was_made(self, held: dict[str, bytes]) -> None:
        """It was made elsewhere, with these `new_files`, and has its name now."""
        self._is_new()
        if held[FILE_NAME] != self.epochs.content():
            self.epochs.save(sync=False)

    def _is_new(self) -> None:
        self.exists = self.is_ready = self.epochs.is_kept = True
        self.epochs.is_synced = False

    def settle(self) -> None:
        """Have the disk know no more than the log, durably, if it was cut: before anything else is
        written. After an `OSError` it can be tried again.

        From the end on, each step before the next one begins: what a crash leaves has no hole. Of
        what it leaves above the recovery point, epochs are found again.
        """
        if self.is_ready or not self.exists:
            return
        self.epochs.save(sync=True)  # First: a name must not outlive its bytes.
        for name in self._find_dropped():
            self._files.remove(f"{self.path}/{name}")
        self.sync_names()
        self.segments.active.follow_cut()
        self.sync_names()
        self.is_ready = True

    def _find_dropped(self) -> list[str]:
        """Files of segments that the log has no more, those of the last one first, and each `.log`
        before its indexes."""
        kept = {each.base_offset for each in self.segments.all if not each.files.log.is_new}
        dropped = [
            (offset, name.endswith(LOG_SUFFIX), name)
            for name in self._files.list(self.path)
            if name.endswith(SEGMENT_SUFFIXES) and name.count(".") == 1
            if (offset := offset_of(name)) is not None and offset not in kept
        ]
        return [name for _, _, name in sorted(dropped, reverse=True)]

    def sync_names(self) -> None:
        """Have the disk know which files it holds."""
        self._files.sync_folder(self.path)

    def unsynced(self, recovery_point: Offset) -> Unsynced:
        """What a loss of power might take; what lies below the recovery point was synced.

        While it is not `is_durable` the folder that it is in is to be synced too, last of all."""
        if not self.exists:
            return Unsynced()
        paths: list[str] = []
        if not self.is_durable and self._files.exists(f"{self.path}/{PARTITION_METADATA}"):
            paths.append(f"{self.path}/{PARTITION_METADATA}")
        for segment in reversed(self.segments.all):
            if not segment.files.is_synced:
                if segment.files.has_new_names:
                    self.is_durable = False
                paths += segment.unsynced()
            elif segment.base_offset <= recovery_point:
                break
        for part in (self.snapshots, self.epochs):
            if not part.is_synced:
                self.is_durable = False
                paths += part.unsynced()
        return Unsynced(tuple(paths), () if self.is_durable else (self.path,))

    def begin_sync(self, end_offset: Offset, recovery_point: Offset) -> LogSync:
        """What a sync of the log up to `end_offset` has to do; from now on it counts as done."""
        above = () if self.is_durable else (self.path.rpartition("/")[0],)
        unsynced = self.unsynced(recovery_point)
        self.synced()
        return LogSync(self._files, end_offset, unsynced.files, (*unsynced.folders, *above))

    def not_synced(self, recovery_point: Offset) -> None:
        """The disk may have nothing of what `unsynced` told of, although it counts as synced."""
        for segment in reversed(self.segments.all):
            segment.files.not_synced()
            if segment.base_offset <= recovery_point:
                break
        self.snapshots.is_synced = self.epochs.is_synced = self.is_durable = False

    def synced(self) -> None:
        """The disk has all that `unsynced` told of, and nothing was changed meanwhile."""
        if not self.exists:
            return  # It is still to be made, and then all of it is new to the disk.
        for segment in self.segments.all:
            segment.files.synced()
        self.snapshots.is_synced = self.epochs.is_synced = True
        self.is_durable = True
