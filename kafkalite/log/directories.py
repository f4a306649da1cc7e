"""A broker's log folder: one process holds it, and it remembers how it was left.

    meta.properties          whose folder it is (meta_properties.py)
    .lock                    held while a broker runs on it
    .kafka_cleanshutdown     written last of all at a clean stop, removed first at a start
    *-offset-checkpoint      offsets of all partitions (checkpoints.py)
    topic-0/                 a partition
    topic-0.<32 hex>-delete  one being deleted; `-stray`: one that the metadata does not know

Opens and closes logs; which ones there should be, the metadata says. What else is in the folder is
somebody's own and is left alone. Source: Kafka's `LogManager`.

Kafka differs: a checkpoint that cannot be read stops its broker, if this is its one folder. Here it
is warned of, and what it told begins anew: all is scanned, from the first segment on.

Kafka differs: it writes the checkpoints every few seconds while it runs, too. Here a clean stop
writes them: after a crash more is scanned.

Kafka differs: it keeps the folder of a deleted partition, renamed, for `file.delete.delay.ms`, for
those who still read. Here leases keep what is read, so the folder goes at once.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping
from errno import EIO
from functools import partial
from typing import NamedTuple

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError, InvariantError
from kafkalite.log.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_file,
    read_offsets,
    read_topic_id,
    write_offsets,
)
from kafkalite.log.files import DiskSpace, Files, Lock
from kafkalite.log.meta_properties import META_PROPERTIES, LogDirectoryError, Meta, claim
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.producers import PRODUCER_EXPIRATION_MS
from kafkalite.log.validation import RecordValidation
from kafkalite.metadata.topic_names import is_legal
from kafkalite.types import (
    METADATA_TOPIC_ID,
    BrokerEpoch,
    BrokerId,
    Offset,
    TimestampMs,
    TopicPartition,
    Uuid,
)

LOCK = ".lock"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
DELETE_SUFFIX = "-delete"
STRAY_SUFFIX = "-stray"
FUTURE_SUFFIX = "-future"
"""A copy that moves here from another log folder (AlterReplicaLogDirs); nothing makes one yet."""
METADATA_PARTITION = TopicPartition("__cluster_metadata", 0)
"""Has a folder like any other, but no line in the checkpoints."""

_MAX_NAME = 255
_NAMES_TOLD = 3
"""Of what could not be written; the rest is counted."""
_NO_BROKER_EPOCH = BrokerEpoch(-1)
_PARTITION = re.compile(r"(.+)-(0|[1-9][0-9]{0,9})")
_SET_ASIDE = re.compile(r"(.+)-[0-9]{1,10}\.[0-9a-f]{32}(-delete|-stray)")
_GIT_IGNORE = ".gitignore"
_OF_A_FIRST_START = frozenset((_GIT_IGNORE, LOCK, f"{META_PROPERTIES}.tmp", "lost+found"))
"""What a first start that was cut short may leave, and what a new disk has."""

_log = logging.getLogger(__name__)


class PartitionFolder(NamedTuple):
    """A partition found on the disk."""

    partition: TopicPartition
    folder: str
    topic_id: Uuid | None
    """None when the folder has no `partition.metadata`, or a damaged one."""


def parse_partition(name: str) -> TopicPartition | None:
    """The partition whose folder has this name; None for any other name."""
    match = _PARTITION.fullmatch(name)
    if match is None or not is_legal(match[1]):
        return None
    return TopicPartition(match[1], int(match[2]))


class LogDirectory:
    """One locked log folder and the logs that are open in it."""

    __slots__ = (
        "_expiration_ms",
        "_files",
        "_forgotten",
        "_has_renamed",
        "_lock",
        "_log_starts",
        "_recovery_points",
        "_validation",
        "broker_epoch",
        "high_watermarks",
        "location",
        "logs",
        "meta",
        "was_clean",
    )

    def __init__(
        self,
        files: Files,
        location: str,
        lock: Lock,
        meta: Meta,
        *,
        record_validation: RecordValidation,
        producer_expiration_ms: int,
    ) -> None:
        self._files = files
        self.location = location
        """The folder's name for people, and for DescribeLogDirs."""
        self._lock = lock
        self._validation = record_validation
        self._expiration_ms = producer_expiration_ms
        self._forgotten: set[TopicPartition] = set()
        """Set aside, yet still in the checkpoints on the disk."""
        self._has_renamed = False
        self.meta = meta
        self.logs: dict[TopicPartition, PartitionLog] = {}
        """All that are open."""
        self.was_clean = False
        """Whether the last stop was a clean one."""
        self.broker_epoch = _NO_BROKER_EPOCH
        """The broker's epoch when it last stopped cleanly, else -1."""
        self._recovery_points = self._read(RECOVERY_POINTS)
        self._log_starts = self._read(LOG_START_OFFSETS)
        self.high_watermarks = self._read(HIGH_WATERMARKS)
        """As of the last checkpoint: where a replica's high watermark begins."""

    @classmethod
    def open(
        cls,
        files: Files,
        *,
        location: str,
        node_id: BrokerId,
        new_cluster_id: str,
        new_directory_id: Uuid,
        record_validation: RecordValidation = "header",
        producer_expiration_ms: int = PRODUCER_EXPIRATION_MS,
    ) -> LogDirectory:
        """Take the folder at the root of `files`, made when missing; `location` names it to people.

        The new ids are for a folder that has none yet. `LogDirectoryError` when another process has
        the folder, it belongs to another node, or it has something in it and is no log folder.
        """
        is_new = not files.exists(META_PROPERTIES)
        if is_new and files.exists(""):
            others = [name for name in files.list("") if name not in _OF_A_FIRST_START]
            if others:
                some = min(others, key=lambda name: (name.startswith("."), name))
                raise LogDirectoryError(
                    f"the folder {location} is not empty ({some}) and has no "
                    f"{META_PROPERTIES}: only an empty folder can become a log folder"
                )
        files.make_folder("")
        try:
            lock = files.lock(LOCK)
        except BlockingIOError as error:
            raise LogDirectoryError(
                f"the log folder {location} is in use: another broker holds {LOCK} in it"
            ) from error
        try:
            if is_new:
                files.replace(_GIT_IGNORE, b"*\n", sync=False)
            meta = claim(files, location, Meta(node_id, new_cluster_id, new_directory_id))
            directory = cls(
                files,
                location,
                lock,
                meta,
                record_validation=record_validation,
                producer_expiration_ms=producer_expiration_ms,
            )
            directory._take_clean_shutdown()
        except BaseException:
            lock.release()
            raise
        return directory

    def _take_clean_shutdown(self) -> None:
        """Read the mark of a clean stop and remove it for good: from now on a crash is a crash."""
        data = read_file(self._files, CLEAN_SHUTDOWN)
        if data is None:
            return
        self.was_clean = True
        try:
            self.broker_epoch = BrokerEpoch(int(json.loads(data)["brokerEpoch"]))
        except (ValueError, KeyError, TypeError):
            self.broker_epoch = _NO_BROKER_EPOCH  # Older Kafka leaves the file empty.
        self._files.remove(CLEAN_SHUTDOWN)
        self._files.sync_folder("")

    def _read(self, path: str) -> dict[TopicPartition, Offset]:
        try:
            return read_offsets(self._files, path)
        except CorruptRecordError as error:
            _log.warning("%s/%s is damaged, and counts as empty: %s", self.location, path, error)
            return {}

    def space(self) -> DiskSpace:
        """Of the disk that the folder is on."""
        return self._files.space()

    def find_partitions(self) -> list[PartitionFolder]:
        """The partitions in the folder, but for the metadata log and those renamed."""
        found = []
        for name in self._files.list(""):
            partition = parse_partition(name)
            if partition is None or partition == METADATA_PARTITION:
                continue
            if not self._files.is_folder(name):
                continue
            try:
                topic_id = read_topic_id(self._files, name)
            except CorruptRecordError:
                topic_id = None  # Told when it is opened, if it is.
            found.append(PartitionFolder(partition, name, topic_id))
        return found

    def open_partition(
        self, partition: TopicPartition, *, topic_id: Uuid, config: TopicConfig, now: TimestampMs
    ) -> PartitionLog:
        """Open the partition's log, made when missing, and keep it in `logs`.

        `KafkaError(INCONSISTENT_TOPIC_ID)` when the folder is an older topic's of the same name: it
        is a stray then.
        """
        assert partition not in self.logs, f"{partition} is open"
        is_metadata = partition == METADATA_PARTITION
        assert is_metadata == (topic_id == METADATA_TOPIC_ID)
        if partition in self._forgotten:
            # Before a record comes: what they tell is the old one's, and a crash would believe it.
            self._write_recovery_points()
            self.write_log_starts(self.find_log_starts())
            self._forgotten.clear()
        log = PartitionLog.open(
            self._files,
            str(partition),
            config=config,
            topic_id=topic_id,
            now=now,
            clean=self.was_clean,
            recovery_point=self._recovery_points.get(partition, Offset(0)),
            log_start_offset=self._log_starts.get(partition, Offset(0)),
            record_validation=self._validation,
            producer_expiration_ms=self._expiration_ms,
        )
        self.logs[partition] = log
        return log

    def has_folder(self, partition: TopicPartition, topic_id: Uuid) -> bool:
        """Whether there is a folder that is this topic's, open or not."""
        folder = str(partition)
        return self._files.exists(folder) and read_topic_id(self._files, folder) == topic_id

    def delete_partition(self, partition: TopicPartition, unique: Uuid) -> str:
        """Let go of it and rename it, so that its name is free at once: the folder for `remove`.

        `OSError` leaves the folder where it is; nothing has it open then."""
        return self._set_aside(partition, unique, DELETE_SUFFIX)

    def set_stray(self, partition: TopicPartition, unique: Uuid) -> str:
        """Rename a partition that the metadata does not know; a person may look at it."""
        return self._set_aside(partition, unique, STRAY_SUFFIX)

    def _set_aside(self, partition: TopicPartition, unique: Uuid, suffix: str) -> str:
        log = self.logs.pop(partition, None)
        if log is not None:
            log.release_files()
        tail = f"-{partition.partition}.{unique.hex()}{suffix}"
        folder = partition.topic[: _MAX_NAME - len(tail)] + tail
        self._files.rename(str(partition), folder, sync=False)
        self._has_renamed = True
        for offsets in (self._recovery_points, self._log_starts, self.high_watermarks):
            if offsets.pop(partition, None) is not None:
                self._forgotten.add(partition)
        return folder

    def truncate_partition(
        self, partition: TopicPartition, offset: Offset, now: TimestampMs
    ) -> None:
        """Truncate its log, with the recovery point on the disk lowered before more is appended."""
        self.logs[partition].truncate_to(offset, now)
        self._write_recovery_points()

    def find_deleted(self) -> list[str]:
        """Folders renamed for deletion and still there."""
        return [
            name
            for name in self._files.list("")
            if _is_set_aside(name, DELETE_SUFFIX) and self._files.is_folder(name)
        ]

    def remove(self, folder: str) -> None:
        """Remove a folder that `delete_partition` renamed. May take long; safe in a worker.

        Once its new name is durable: a loss of power must not leave half of it under the old one.
        """
        assert _is_set_aside(folder, DELETE_SUFFIX), f"{folder} is not ours to remove"
        if self._has_renamed:
            self._has_renamed = False  # First: another rename may come meanwhile.
            self._files.sync_folder("")
        self._files.remove_folder(folder)

    def write_checkpoints(self, high_watermarks: Mapping[TopicPartition, Offset]) -> None:
        """Write recovery points, log starts and high watermarks of what is open."""
        self._write_recovery_points()
        self.write_log_starts(self.find_log_starts())
        write_offsets(
            self._files,
            HIGH_WATERMARKS,
            {
                key: offset
                for key, offset in high_watermarks.items()
                if key in self.logs and key != METADATA_PARTITION
            },
        )

    def find_log_starts(self) -> dict[TopicPartition, Offset]:
        """Where the logs begin that begin within a segment; of those that are not open, as they
        were."""
        starts = {key: start for key, start in self._log_starts.items() if key not in self.logs}
        for key, log in self.logs.items():
            if log.log_start_offset > log.first_segment_offset and key != METADATA_PARTITION:
                starts[key] = log.log_start_offset
        return starts

    def write_log_starts(self, starts: Mapping[TopicPartition, Offset]) -> None:
        """Write their checkpoint, durably. Safe in a worker, one at a time."""
        write_offsets(self._files, LOG_START_OFFSETS, starts)

    def _write_recovery_points(self) -> None:
        """Those of partitions that are not open stay as they were."""
        for key, log in self.logs.items():
            if key != METADATA_PARTITION:
                self._recovery_points[key] = log.recovery_point
        write_offsets(self._files, RECOVERY_POINTS, self._recovery_points)

    def close(
        self, *, broker_epoch: BrokerEpoch, high_watermarks: Mapping[TopicPartition, Offset]
    ) -> None:
        """A clean stop: sync and close every log, then put that on record, and free the folder.

        `OSError` when the disk refuses any of it, which names what: then the stop was no clean one,
        what could be written is, and the folder is free.
        """
        refused: dict[str, Exception] = {}

        def attempt(name: str, action: Callable[[], None]) -> None:
            try:
                action()
            except (OSError, CorruptRecordError, InvariantError) as error:
                refused[name] = error

        try:
            for key, log in self.logs.items():
                attempt(str(key), partial(log.close, sync=True))
            attempt("the folder", partial(self._files.sync_folder, ""))
            attempt("checkpoints", partial(self.write_checkpoints, high_watermarks))
            if not refused:
                attempt(CLEAN_SHUTDOWN, partial(self._record_clean_shutdown, broker_epoch))
        finally:
            self.abandon()
        if refused:
            first = next(iter(refused.values()))
            some = ", ".join(list(refused)[:_NAMES_TOLD])
            more = len(refused) - _NAMES_TOLD
            names = f"{some} and {more} more" if more > 0 else some
            code, reason = (
                (first.errno, first.strerror) if isinstance(first, OSError) else (EIO, first)
            )
            raise OSError(code, f"{reason}; not written: {names}", self.location)

    def _record_clean_shutdown(self, broker_epoch: BrokerEpoch) -> None:
        if not self._files.exists(CLEANER_OFFSETS):
            write_offsets(self._files, CLEANER_OFFSETS, {})
        record = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
        self._files.replace(CLEAN_SHUTDOWN, record.encode())

    def abandon(self) -> None:
        """Let go without a word on the disk, as a crash would."""
        for log in self.logs.values():
            log.release_files()
        self.logs.clear()
        self._lock.release()


def _is_set_aside(name: str, suffix: str) -> bool:
    match = _SET_ASIDE.fullmatch(name)
    return match is not None and match[2] == suffix and is_legal(match[1])
