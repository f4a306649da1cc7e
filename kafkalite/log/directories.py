"""A broker's log folder: one process holds it, and it remembers how it was left.

    meta.properties          whose folder it is (meta_properties.py)
    .lock                    held while a broker runs on it
    .kafka_cleanshutdown     written last of all at a clean stop, removed first at a start
    *-offset-checkpoint      offsets of all partitions (offset_checkpoints.py)
    topic-0/                 a partition
    topic-0...               see folder_names.py

Opens and closes logs; which ones there should be, the metadata says. What else is in the folder is
somebody's own and is left alone. Source: Kafka's `LogManager`.

Kafka differs: it keeps the folder of a deleted partition, renamed, for `file.delete.delay.ms`, for
those who still read. Here leases keep what is read, so the folder goes at once.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError
from kafkalite.log.checkpoints import CLEANER_OFFSETS, read_file, read_topic_id, write_offsets
from kafkalite.log.clean_stop import Refusals, Round, close_logs
from kafkalite.log.files import DiskSpace, Files, Lock
from kafkalite.log.folder_names import (
    DELETE_SUFFIX,
    METADATA_PARTITION,
    STRAY_SUFFIX,
    is_set_aside,
    parse_partition,
    set_aside_name,
)
from kafkalite.log.meta_properties import META_PROPERTIES, LogDirectoryError, Meta, claim
from kafkalite.log.offset_checkpoints import OffsetCheckpoints
from kafkalite.log.opening import open_log
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.producers import PRODUCER_EXPIRATION_MS
from kafkalite.log.validation import RecordValidation
from kafkalite.types import (
    METADATA_TOPIC_ID,
    NO_BROKER_EPOCH,
    BrokerEpoch,
    BrokerId,
    Offset,
    TimestampMs,
    TopicPartition,
    Uuid,
)

LOCK = ".lock"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"

_GIT_IGNORE = ".gitignore"
_OF_A_FIRST_START = frozenset((_GIT_IGNORE, LOCK, f"{META_PROPERTIES}.tmp", "lost+found"))
"""What a first start that was cut short may leave, and what a new disk has."""

_log = logging.getLogger(__name__)


class FolderPlan(NamedTuple):
    """The folder that a log without one is to have, as it is made beside."""

    partition: TopicPartition
    log: PartitionLog
    folder: str
    """Its name until the log takes it: as of one to be removed, should it come to that."""
    files: dict[str, bytes]


class _Before(NamedTuple):
    """What was in the place of a log folder."""

    names: frozenset[str] | None
    """None: there was no folder."""


class LogDirectory:
    """One locked log folder and the logs that are open in it."""

    __slots__ = (
        "_clean_record",
        "_expiration_ms",
        "_files",
        "_has_renamed",
        "_lock",
        "_made_from",
        "_validation",
        "broker_epoch",
        "checkpoints",
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
        made_from: _Before | None = None,
        record_validation: RecordValidation,
        producer_expiration_ms: int,
    ) -> None:
        """`made_from`: what was there, when this start is the folder's first."""
        self._files = files
        self._made_from = made_from
        self.location = location
        """The folder's name for people, and for DescribeLogDirs."""
        self._lock = lock
        self._validation = record_validation
        self._expiration_ms = producer_expiration_ms
        self._has_renamed = False
        self.meta = meta
        self.logs: dict[TopicPartition, PartitionLog] = {}
        """All that are open."""
        self._clean_record: bytes | None = None
        self.was_clean = False
        """Whether the last stop was a clean one."""
        self.broker_epoch = NO_BROKER_EPOCH
        """The broker's epoch when it last stopped cleanly, else -1."""
        self.checkpoints = OffsetCheckpoints(files, location, self.logs)

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
        found = frozenset(files.list("")) if files.exists("") else None
        if is_new and found:
            others = [name for name in sorted(found) if name not in _OF_A_FIRST_START]
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
                made_from=_Before(found) if is_new else None,
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
        self._clean_record = data
        try:
            self.broker_epoch = BrokerEpoch(int(json.loads(data)["brokerEpoch"]))
        except (ValueError, KeyError, TypeError):
            self.broker_epoch = NO_BROKER_EPOCH  # Older Kafka leaves the file empty.
        self._files.remove(CLEAN_SHUTDOWN)
        self._files.sync_folder("")

    def space(self) -> DiskSpace:
        """Of the disk that the folder is on."""
        return self._files.space()

    def find_partitions(self, unless: Callable[[TopicPartition], bool]) -> list[TopicPartition]:
        """The partitions that have a folder, but for the metadata log, those renamed, and those
        of which `unless` holds."""
        found = []
        for name in self._files.list(""):
            partition = parse_partition(name)
            if partition is None or partition == METADATA_PARTITION or unless(partition):
                continue
            if self._files.is_folder(name):
                found.append(partition)
        return found

    def read_topic_id(self, partition: TopicPartition) -> Uuid | None:
        """Whose its folder is; None when there is none, or it does not tell."""
        try:
            return read_topic_id(self._files, str(partition))
        except CorruptRecordError:
            return None  # Told when it is opened, if it is.

    def open_partition(
        self, partition: TopicPartition, *, topic_id: Uuid, config: TopicConfig, now: TimestampMs
    ) -> PartitionLog:
        """Open the partition's log and keep it in `logs`. Without a folder it has none until its
        first append, or until `adopt`.

        `KafkaError(INCONSISTENT_TOPIC_ID)` when the folder is an older topic's of the same name: it
        is a stray then.
        """
        assert partition not in self.logs, f"{partition} is open"
        is_metadata = partition == METADATA_PARTITION
        assert is_metadata == (topic_id == METADATA_TOPIC_ID)
        self.checkpoints.open(partition)
        log = open_log(
            self._files,
            str(partition),
            config=config,
            topic_id=topic_id,
            now=now,
            clean=self.was_clean,
            recovery_point=self.checkpoints.recovery_points.get(partition, Offset(0)),
            log_start_offset=self.checkpoints.log_starts.get(partition, Offset(0)),
            record_validation=self._validation,
            producer_expiration_ms=self._expiration_ms,
        )
        self.logs[partition] = log
        return log

    def expire_producers_after(self, expiration_ms: int) -> None:
        """Forget producers that are silent for so long, in the logs that are open and those to
        come."""
        self._expiration_ms = expiration_ms
        for log in self.logs.values():
            log.producers.expiration_ms = expiration_ms

    def delete_partition(self, partition: TopicPartition, unique: Uuid) -> str | None:
        """Let go of it and rename it, so that its name is free at once: the folder for `remove`;
        None when it has none.

        `OSError` leaves the folder where it is; nothing has it open then."""
        log = self.logs.get(partition)
        if log is not None and not log.folder.exists:
            del self.logs[partition]
            return None
        return self._set_aside(partition, unique, DELETE_SUFFIX)

    def set_stray(self, partition: TopicPartition, unique: Uuid) -> str:
        """Rename a partition that the metadata does not know; a person may look at it."""
        return self._set_aside(partition, unique, STRAY_SUFFIX)

    def _set_aside(self, partition: TopicPartition, unique: Uuid, suffix: str) -> str:
        log = self.logs.pop(partition, None)
        if log is not None:
            log.release_files()
        folder = set_aside_name(partition, unique, suffix)
        self._files.rename(str(partition), folder, sync=False)
        self._has_renamed = True
        self.checkpoints.forget(partition)
        return folder

    # Folders of new partitions, which a worker makes.

    def plan(self, partition: TopicPartition, log: PartitionLog, unique: Uuid) -> FolderPlan:
        """What `build` is to make for a log without a folder."""
        folder = set_aside_name(partition, unique, DELETE_SUFFIX)
        return FolderPlan(partition, log, folder, log.folder.new_files())

    def build(self, plan: FolderPlan) -> None:
        """Make the folder, under a name that nobody looks for. Safe in a worker."""
        self._files.make_folder(plan.folder)
        for name, content in plan.files.items():
            self._files.replace(f"{plan.folder}/{name}", content, sync=False)

    def adopt(self, plan: FolderPlan) -> bool:
        """Give the folder that was built its name; False when nobody wants it any more: the log has
        made one itself, or is gone. Then it is for `remove`."""
        if self.logs.get(plan.partition) is not plan.log or plan.log.folder.exists:
            return False
        self._files.rename(plan.folder, plan.log.folder.path, sync=False)
        plan.log.folder.was_made(plan.files)
        return True

    def truncate_partition(
        self, partition: TopicPartition, offset: Offset, now: TimestampMs
    ) -> None:
        """Truncate its log, with the recovery point on the disk lowered before more is appended."""
        self.logs[partition].truncate_to(offset, now)
        self.checkpoints.write_recovery_points()

    def find_deleted(self) -> list[str]:
        """Folders renamed for deletion and still there."""
        return [
            name
            for name in self._files.list("")
            if is_set_aside(name, DELETE_SUFFIX) and self._files.is_folder(name)
        ]

    def remove(self, folder: str) -> None:
        """Remove a folder that `delete_partition` renamed. May take long; safe in a worker.

        Once its new name is durable: a loss of power must not leave half of it under the old one.
        """
        assert is_set_aside(folder, DELETE_SUFFIX), f"{folder} is not ours to remove"
        if self._has_renamed:
            self._has_renamed = False  # First: another rename may come meanwhile.
            self._files.sync_folder("")
        self._files.remove_folder(folder)

    def close(
        self, *, broker_epoch: BrokerEpoch, high_watermarks: Mapping[TopicPartition, Offset]
    ) -> Iterator[Round]:
        """A clean stop: sync and close every log, then put that on record, and free the folder. Run
        the parts of each round, and then ask for the next.

        `OSError` when the disk refuses any of it, which names what: then the stop was no clean one,
        what could be written is, and the folder is free. Nor is it one, as in Kafka, when a
        partition was not opened since a crash: it is still to be checked.
        """
        refusals = Refusals()
        try:
            yield from close_logs(self._files, self.logs, refusals)
            with refusals.of("the folder"):
                self._files.sync_folder("")
            with refusals.of("checkpoints"):
                self.checkpoints.write(high_watermarks)
            if not refusals and (
                self.was_clean or not self.find_partitions(self.logs.__contains__)
            ):
                with refusals.of(CLEAN_SHUTDOWN):
                    self._record_clean_shutdown(broker_epoch)
        finally:
            self.abandon()
        refusals.tell(self.location)

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

    def undo(self) -> None:
        """Before `abandon`, when a start has failed and no log was opened: leave the place as it
        was found, the mark of a clean stop included."""
        if self._clean_record is not None:
            self._files.replace(CLEAN_SHUTDOWN, self._clean_record)
        before = self._made_from
        if before is None:
            return
        if before.names is None:
            self._files.remove_folder("")
            return
        for name in self._files.list(""):
            if name not in before.names:
                if self._files.is_folder(name):
                    self._files.remove_folder(name)
                else:
                    self._files.remove(name)
