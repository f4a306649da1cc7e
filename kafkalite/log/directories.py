"""A broker's log folder: one process holds it, and it remembers how it was left.

    meta.properties, .lock, .kafka_cleanshutdown    see claimed_folder.py
    *-offset-checkpoint                             see offset_checkpoints.py
    topic-0, topic-0...                             a partition; see folder_names.py

Opens and closes logs; which ones there should be, the metadata says. What else is in the folder is
somebody's own and is left alone. Source: Kafka's `LogManager`.

Kafka differs: it keeps the folder of a deleted partition, renamed, for `file.delete.delay.ms`, for
those who still read. Here leases keep what is read, so the folder goes at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError
from kafkalite.log.checkpoints import read_topic_id
from kafkalite.log.claimed_folder import CLEAN_SHUTDOWN, ClaimedFolder
from kafkalite.log.files import DiskSpace, Files
from kafkalite.log.folder_names import (
    DELETE_SUFFIX,
    FUTURE_SUFFIX,
    METADATA_PARTITION,
    STRAY_SUFFIX,
    is_set_aside,
    parse_partition,
    set_aside_name,
)
from kafkalite.log.log_cuts import restart_at, truncate_to
from kafkalite.log.log_opener import LogOpener
from kafkalite.log.meta_properties import Meta
from kafkalite.log.offset_checkpoints import OffsetCheckpoints
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.producers import PRODUCER_EXPIRATION_MS
from kafkalite.log.segment_indexes import LOG_SUFFIX
from kafkalite.log.validation import RecordValidation
from kafkalite.types import (
    METADATA_TOPIC_ID,
    BrokerEpoch,
    BrokerId,
    Offset,
    TimestampMs,
    TopicPartition,
    Uuid,
)

if TYPE_CHECKING:
    from kafkalite.log.clean_stop import Round


class LogDirectory:
    """One locked log folder and the logs that are open in it."""

    __slots__ = ("_files", "_has_renamed", "checkpoints", "claimed", "location", "logs", "opener")

    def __init__(
        self,
        files: Files,
        location: str,
        claimed: ClaimedFolder,
        *,
        record_validation: RecordValidation,
        producer_expiration_ms: int,
    ) -> None:
        self._files = files
        self.location = location
        """The folder's name for people, and for DescribeLogDirs."""
        self.claimed = claimed
        """Whose it is, and how it was left."""
        self._has_renamed = False
        self.logs: dict[TopicPartition, PartitionLog] = {}
        """All that are open."""
        self.checkpoints = OffsetCheckpoints(files, location, self.logs)
        self.checkpoints.forget_absent(frozenset(files.list("")))
        self.opener = LogOpener(
            files,
            claimed,
            self.checkpoints,
            record_validation=record_validation,
            producer_expiration_ms=producer_expiration_ms,
        )
        """Of `logs`, and asked by `open_partition`."""

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
        """See `ClaimedFolder.take`. The new ids are for a folder that has none yet."""
        new = Meta(node_id, new_cluster_id, new_directory_id)
        claimed = ClaimedFolder.take(files, location, new)
        try:
            return cls(
                files,
                location,
                claimed,
                record_validation=record_validation,
                producer_expiration_ms=producer_expiration_ms,
            )
        except BaseException:
            claimed.release()
            raise

    @property
    def id(self) -> Uuid:
        """What the metadata knows it by: `directory.id`."""
        return self.claimed.meta.directory_id

    def probe(self, name: str) -> None:
        """Write a small file and remove it. `OSError` when the disk does not take it."""
        self._files.replace(name, b"", sync=False)
        self._files.remove(name)

    @property
    def files(self) -> Files:
        """The disk, with this folder at its root."""
        return self._files

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

    def size_bytes(self, partition: TopicPartition) -> int:
        """Of the records in its folder, open or not; 0 without one."""
        folder = str(partition)
        if not self._files.exists(folder):
            return 0
        return sum(
            self._files.size(f"{folder}/{name}")
            for name in self._files.list(folder)
            if name.endswith(LOG_SUFFIX)
        )

    def open_partition(
        self,
        partition: TopicPartition,
        *,
        topic_id: Uuid,
        config: TopicConfig,
        now: TimestampMs,
        is_clean: bool = False,
    ) -> PartitionLog:
        """Open the partition's log and keep it in `logs`. Without a folder it has none until its
        first append, or until one is made for it (see new_folders.py). `is_clean`: it was closed
        cleanly, however the others were left.

        `KafkaError(INCONSISTENT_TOPIC_ID)` when the folder is an older topic's of the same name: it
        is a stray then.
        """
        assert partition not in self.logs, f"{partition} is open"
        is_metadata = partition == METADATA_PARTITION
        assert is_metadata == (topic_id == METADATA_TOPIC_ID)
        log = self.opener.open(
            partition, topic_id=topic_id, config=config, now=now, is_clean=is_clean
        )
        self.logs[partition] = log
        return log

    def expire_producers_after(self, expiration_ms: int) -> None:
        """Forget producers that are silent for so long, in the logs that are open and those to
        come."""
        self.opener.producer_expiration_ms = expiration_ms
        for log in self.logs.values():
            log.producers.expiration_ms = expiration_ms

    def delete_partition(self, partition: TopicPartition, unique: Uuid) -> str | None:
        """Let go of it and rename it, so that its name is free at once: the folder for `remove`;
        None when it has none.

        `OSError` leaves the folder where it is; nothing has it open then."""
        log = self.logs.get(partition)
        is_unmade = log is not None and not log.folder.exists
        # A full disk may have taken the folder and not its files: its name is to be free, too.
        if is_unmade and not self._files.exists(str(partition)):
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

    def truncate_partition(
        self, partition: TopicPartition, offset: Offset, now: TimestampMs
    ) -> None:
        """Truncate its log: see `truncate_to`."""
        self._lower(partition, offset)
        truncate_to(self.logs[partition], offset, now)

    def restart_partition(
        self, partition: TopicPartition, offset: Offset, now: TimestampMs
    ) -> None:
        """Have its log begin anew, without records, at `offset`: see `restart_at`."""
        self._lower(partition, Offset(0))
        restart_at(self.logs[partition], offset, now)

    def _lower(self, partition: TopicPartition, end_offset: Offset) -> None:
        """Before its log is cut: too low, they cost a scan and a cleaning; too high, they would be
        believed of what is appended next."""
        log = self.logs[partition]
        log.recovery_point = min(log.recovery_point, end_offset)
        self.checkpoints.write_recovery_points()
        self.checkpoints.limit_cleaner_offset(partition, end_offset)

    def find_deleted(self) -> list[str]:
        """Folders renamed for deletion and still there."""
        return [
            name
            for name in self._files.list("")
            if is_set_aside(name, DELETE_SUFFIX) and self._files.is_folder(name)
        ]

    def doom(self, folder: str) -> str:
        """Rename a log that is not wanted, and not open, as one to be removed: for `remove`."""
        doomed = folder.removesuffix(FUTURE_SUFFIX) + DELETE_SUFFIX
        self._files.rename(folder, doomed, sync=False)
        self._has_renamed = True
        return doomed

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
        from kafkalite.log.clean_stop import Refusals, close_logs  # Not for a start.

        refusals = Refusals()
        try:
            yield from close_logs(self._files, self.logs, refusals)
            with refusals.of("the folder"):
                self._files.sync_folder("")
            with refusals.of("checkpoints"):
                self.checkpoints.write(high_watermarks)
            if not refusals and (
                self.claimed.was_clean or not self.find_partitions(self.logs.__contains__)
            ):
                with refusals.of(CLEAN_SHUTDOWN):
                    self.claimed.record_clean_stop(broker_epoch)
        finally:
            self.abandon()
        refusals.tell(self.location)

    def abandon(self) -> None:
        """Let go without a word on the disk, as a crash would."""
        for log in self.logs.values():
            log.release_files()
        self.logs.clear()
        self.claimed.release()
