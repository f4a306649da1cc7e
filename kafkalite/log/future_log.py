"""A copy of a log in another log folder, which follows it and takes its place in the end.

    topic-0.<32 hex>-future    in the other folder, until the copy has all that the log has

Then, with nothing appended in between: the old folder is renamed as one to be removed, the copy is
given its name, and what follows is appended there. Both are durable one after the other, and a
start that finds the first without the second does the second (`unfinished_moves.py`).

Source: Kafka's `ReplicaAlterLogDirsThread` and `LogManager.replaceCurrentWithFutureLog`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from kafkalite.log.directories import LogDirectory
from kafkalite.log.epochs import FILE_NAME
from kafkalite.log.files import Part
from kafkalite.log.folder_names import FUTURE_SUFFIX, set_aside_name
from kafkalite.log.opening import open_log
from kafkalite.log.partition_log import PartitionLog
from kafkalite.types import Offset, TimestampMs, TopicPartition, Uuid


class Moved(NamedTuple):
    """A log that lives in another folder now."""

    log: PartitionLog
    left_behind: str
    """The old folder, for its `LogDirectory.remove`."""


class SourceRefusedError(Exception):
    """The disk that the log is on refused; its `OSError` is the cause. Every `OSError` itself is of
    the other disk."""


@contextmanager
def _of_source() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SourceRefusedError(str(error)) from error


class FutureLog:
    """Of one partition. Its folder is there from the beginning, before anything is copied: a start
    sees by it that the log is to move."""

    __slots__ = ("_cleaned_to", "_name", "_partition", "_source", "_target", "log", "source_log")

    def __init__(
        self,
        partition: TopicPartition,
        source: LogDirectory,
        target: LogDirectory,
        unique: Uuid,
        now: TimestampMs,
    ) -> None:
        """The log is open in `source`. It may begin in the middle of a batch: the copy begins with
        that whole one, as the log does."""
        self._partition = partition
        self._source = source
        self._target = target
        self._name = set_aside_name(partition, unique, FUTURE_SUFFIX)
        self._cleaned_to = source.checkpoints.cleaner_offsets.get(partition)
        self.source_log = log = source.logs[partition]
        """The log that is copied."""
        found = None
        with _of_source():
            log.folder.make()
            if log.end_offset > log.log_start_offset:
                found = log.folder.segments.find(log.log_start_offset)
        begin = log.log_start_offset if found is None else Offset(found.batch.base_offset)
        self.log = open_log(
            target.files,
            self._name,
            config=log.config,
            topic_id=log.folder.topic_id,
            now=now,
            clean=True,
            log_start_offset=begin,
            room=target.opener.loaded_indexes,
        )
        """The copy."""
        self.log.folder.make()

    @property
    def is_current(self) -> bool:
        """Whether the log is still where it was, and has what the copy has and what comes next: no
        retention was faster, and nothing was cut."""
        log = self.source_log
        return (
            self._source.logs.get(self._partition) is log
            and log.first_segment_offset <= self.log.end_offset <= log.end_offset
        )

    @property
    def offset_lag(self) -> int:
        """How many offsets the copy lacks."""
        return self.source_log.end_offset - self.log.end_offset

    def read(self, max_bytes: int) -> Part | None:
        """What the copy lacks next, on lease: one batch at least; None when it lacks nothing."""
        log = self.source_log
        with _of_source():
            return log.read(
                max(self.log.end_offset, log.log_start_offset),
                max_bytes=max_bytes,
                max_offset=log.end_offset,
                first_batch_whole=True,
            ).part

    @staticmethod
    def bytes_of(part: Part) -> bytes:
        """What was `read`. Safe in a worker."""
        if isinstance(part, (bytes, bytearray, memoryview)):
            return bytes(part)  # The copy is written after the lease has ended.
        with _of_source():
            return part.read(0, len(part))

    def skip(self, now: TimestampMs) -> None:
        """Go on at the end of the log, where `read` finds nothing: compaction took what came before
        it."""
        log = self.log
        if log.folder.segments.active.size:
            log.folder.segments.active.seal()
        log.end_offset = self.source_log.end_offset
        log.folder.add_segment(log.end_offset, log.config, now)

    def switch(self, now: TimestampMs) -> Moved:
        """Have the copy take the log's place. It lacks nothing, and nobody syncs the log.

        When a disk refuses, the log is where it was, if its own disk takes the way back.
        """
        assert self.is_current, "only what is there is moved"
        assert not self.offset_lag, "nothing is left behind"
        old, key = self.source_log, self._partition
        self._finish()
        self._write_checkpoints()
        source, target = self._source.files, self._target.files
        with ExitStack() as undo:
            undo.callback(self._stay, self._source.checkpoints.cleaner_offsets.get(key))
            with _of_source():
                aside = self._source.delete_partition(key, self._unique)
            assert aside is not None, "its folder was made"
            undo.callback(source.rename, aside, str(key))
            with _of_source():
                source.sync_folder("")
            target.rename(self._name, str(key))
            undo.callback(target.rename, str(key), self._name)
            new = self._target.open_partition(
                key, topic_id=old.folder.topic_id, config=old.config, now=now, is_clean=True
            )
            undo.pop_all()
        new.producers = old.producers
        return Moved(new, aside)

    def _stay(self, cleaned_to: Offset | None) -> None:
        self._target.checkpoints.forget(self._partition)
        self._source.logs[self._partition] = self.source_log
        if cleaned_to is not None:
            self._source.checkpoints.cleaner_offsets[self._partition] = cleaned_to

    @property
    def _unique(self) -> Uuid:
        return Uuid(bytes.fromhex(self._name.removesuffix(FUTURE_SUFFIX)[-32:]))

    def _finish(self) -> None:
        """Close the copy as a clean stop would, durably."""
        log, files = self.log, self._target.files
        log.producers = self.source_log.producers  # They know of records that are gone, too.
        files.replace(f"{self._name}/{FILE_NAME}", self.source_log.epochs.content(), sync=True)
        log.close()
        unsynced = log.folder.unsynced(log.recovery_point)
        for path in unsynced.files:
            files.sync_file(path)
        for path in (self._name, ""):
            files.sync_folder(path)
        log.synced()

    def _write_checkpoints(self) -> None:
        """What the other folder is to know of the log when it is opened there."""
        old, key, checkpoints = self.source_log, self._partition, self._target.checkpoints
        checkpoints.open(key)
        checkpoints.recovery_points[key] = self.log.recovery_point
        if old.log_start_offset > self.log.first_segment_offset:
            checkpoints.log_starts[key] = old.log_start_offset
        if key in self._source.checkpoints.cleaner_offsets:
            # What was cleaned meanwhile was copied before, or has holes now: it is cleaned again.
            checkpoints.cleaner_offsets[key] = self._cleaned_to or self.log.first_segment_offset
        checkpoints.write_log_starts()
        checkpoints.write_cleaner_offsets()

    def discard(self) -> str:
        """It is not wanted any more: its folder, for `LogDirectory.remove`. `OSError` when the disk
        refuses."""
        self.log.release_files()
        return self._target.doom(self._name)
