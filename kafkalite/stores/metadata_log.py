"""The metadata on disk: Kafka's own `__cluster_metadata-0`, as a quorum of this one voter writes
it.

    00000000000000000000-0000000000.checkpoint   what the cluster was formatted with
    OFFSET-EPOCH.checkpoint                      a snapshot: all changes below OFFSET
    OFFSET.log                                   changes since, with KRaft's control records
    quorum-state                                 who leads the quorum, in which epoch
    partition.metadata, leader-epoch-checkpoint  as in any partition

A real Kafka 4.4 starts on such a folder, and this on one of its. Each commit is one batch, so it is
there whole or not at all; it survives the death of the process once `append` has returned. What a
log has lost is told before anything is changed (losses.py).

It does not grow for ever: after so much, or so long, it has a snapshot written (new_snapshot.py),
and what that makes needless goes (log_cleaning.py). A start reads the newest snapshot and what
follows; one that had to read many records has a snapshot written soon, so that the next need not.

Kafka differs: it flushes a commit to the disk before it counts. Here it is in the page cache: it
survives the death of the process, not the loss of power, and costs no 3 ms. A block of producer
ids is flushed, as everything before it: were its ids given again after a loss of power, records of
the second producer would pass for those that the first one wrote, and be dropped.

Kafka differs: its log is cut into segments by size and age alone, so that one of a GiB stays
whatever `metadata.max.retention.bytes` says. Here a segment ends where a snapshot begins, too: what
the snapshot makes needless can go, and a start does not read past it.

Source: Kafka's `KafkaRaftLog`, `Formatter`, `FileQuorumStateStore`, `MetadataBatchLoader` (KIP-595,
KIP-630, KIP-853, KIP-868).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from typing import NamedTuple

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError, InvariantError, KafkaError
from kafkalite.log.directory_set import LogFolderFailedError, Place
from kafkalite.log.files import Files
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.log_cuts import truncate_to
from kafkalite.log.opening import open_log
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.retired_files import RetiredFiles
from kafkalite.log.validation import AppendOrigin
from kafkalite.metadata.changes import Change, encode_change
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.snapshot import changes_of
from kafkalite.protocol.messages.control_records import (
    LeaderChangeMessage,
    LeaderChangeMessageVoter,
)
from kafkalite.protocol.messages.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    ProducerIdsRecord,
)
from kafkalite.protocol.records.control import kraft_control_record
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.stores.checkpoint import (
    FORMATTED,
    Checkpoint,
    checkpoint,
    checkpoint_batches,
    checkpoint_name,
    read_checkpoint,
    voter_records,
)
from kafkalite.stores.log_cleaning import clean, remove_leavings
from kafkalite.stores.losses import QUORUM_STATE, read_epoch, refuse_lost_topics, sound_end
from kafkalite.stores.metadata_limits import MetadataLogLimits, SnapshotSchedule
from kafkalite.stores.new_snapshot import NewSnapshot
from kafkalite.stores.replay import Replayed, replay
from kafkalite.types import (
    METADATA_TOPIC_ID,
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    Offset,
    TimestampMs,
    Uuid,
    format_uuid,
)

FOLDER = "__cluster_metadata-0"

SNAPSHOT_AFTER = 20_000
"""Records replayed at a start that are worth a snapshot, if the image is smaller by far."""
DELETE_DELAY_MS = 60_000
"""Files of a log that are needed no more stay so much longer, as in Kafka."""

_DEFAULT_LIMITS = MetadataLogLimits()

_log = logging.getLogger(__name__)


class NewEpoch(NamedTuple):
    """An epoch that began."""

    epoch: ControllerEpoch
    changes: tuple[Change, ...]
    """What was appended with it."""


class MetadataLog:
    """The log of one cluster, open for its one controller."""

    def __init__(
        self,
        files: Files,
        folder: str,
        log: PartitionLog,
        found: Replayed,
        node_id: BrokerId,
        directory_id: Uuid,
        *,
        now: TimestampMs,
        syncs: bool,
        limits: MetadataLogLimits,
    ) -> None:
        self._files = files
        self._syncs = syncs
        self._limits = limits
        self._folder = folder
        self._log = log
        self._node_id = node_id
        self._directory_id = directory_id
        self._aborts = found.is_in_transaction
        self._unheld = found.unheld
        self._schedule = SnapshotSchedule(
            limits, now, size_bytes=found.size_bytes, is_due_at_once=_is_long(found)
        )
        self.epoch = found.image.epoch
        self.image = found.image
        """What is in the log, as of `open`."""
        self.removed_topics = found.removed_topics
        """Ids of topics that the log has seen go, as of `open`."""

    @classmethod
    def open(
        cls,
        files: Files,
        *,
        node_id: BrokerId,
        directory_id: Uuid,
        now: TimestampMs,
        clean: bool,
        formatted_with: Iterable[Change],
        folder: str = FOLDER,
        others: Iterable[Place] = (),
        syncs: bool = False,
        limits: MetadataLogLimits = _DEFAULT_LIMITS,
    ) -> MetadataLog:
        """Open the log and read all of it, or make it, formatted with those records. `others`: the
        log folders beside the one that it is in.

        `syncs`: each append is to be on the disk when it returns. `clean` says that the last stop
        was a clean one. What a crash tore off the end, or left of a transaction, is dropped.
        `CorruptRecordError` and `ProtocolError` for a log that cannot be read or has lost what it
        held, `LostTopicsError` among them; `InvariantError` for one that contradicts itself:
        nothing is served from either, and nothing is changed.
        """
        end_offset = sound_end(files, folder, clean=clean)
        epoch = ControllerEpoch(read_epoch(files, f"{folder}/{QUORUM_STATE}"))
        found = replay(files, folder, end_offset=end_offset, epoch=epoch, controller_id=node_id)
        if not clean:
            refuse_lost_topics(files, found, others)
        log = _opened(files, folder, limits, found.from_offset, now, clean=clean)
        truncate_to(log, end_offset, now)
        if log.end_offset != end_offset:
            raise InvariantError(f"{folder} ends at {log.end_offset}, and was read to {end_offset}")
        log.folder.make()
        if not clean and end_offset > 0:
            # Recovery of partitions syncs what it cuts: their topics must not be lost after that.
            log.sync()
        remove_leavings(files, folder, log)
        opened = cls(
            files,
            folder,
            log,
            found,
            node_id,
            directory_id,
            now=now,
            syncs=syncs,
            limits=limits,
        )
        if log.end_offset == 0 and not files.exists(f"{folder}/{FORMATTED}"):
            voters = voter_records(node_id, directory_id, now)
            files.replace(f"{folder}/{FORMATTED}", checkpoint(voters, formatted_with, now))
        return opened

    @property
    def end_offset(self) -> Offset:
        """Exclusive: where the next record goes."""
        return self._log.end_offset

    def begin_epoch(self, now: TimestampMs) -> NewEpoch:
        """Take the lead in the next epoch, and say so in the log, as a voter that elected itself.
        A new log gets what it was formatted with."""
        self.epoch = ControllerEpoch(max(self.epoch, self._log.epochs.latest) + 1)
        is_first = self._log.end_offset == 0
        if not is_first:
            self._files.replace(f"{self._folder}/{QUORUM_STATE}", self._quorum_state())
        voter = LeaderChangeMessageVoter(voter_id=self._node_id)
        controls = [
            kraft_control_record(
                LeaderChangeMessage(
                    leader_id=self._node_id, voters=[voter], granting_voters=[voter]
                ),
                now,
            )
        ]
        if is_first:
            controls += voter_records(self._node_id, self._directory_id, now)
        self._append(build_batch(controls, is_control=True), now)
        if self._aborts:
            self.append([AbortTransactionRecord(reason="the controller failed over")], now)
            self._aborts = False
        changes: tuple[Change, ...] = ()
        if is_first:
            formatted = tuple(read_checkpoint(self._files, f"{self._folder}/{FORMATTED}"))
            if formatted:
                begin = BeginTransactionRecord(name="Bootstrap records")
                changes = (begin, *formatted, EndTransactionRecord())
                self.append(changes, now)
            # Last: where there was an epoch, there must be a log, after a loss of power too.
            self._log.sync()
            self._files.replace(f"{self._folder}/{QUORUM_STATE}", self._quorum_state())
        return NewEpoch(self.epoch, changes)

    def append(self, changes: Iterable[Change], now: TimestampMs) -> Offset:
        """All of them as one batch; the end offset after it. `OSError` when the disk refuses: then
        nothing was written, but that of a block of producer ids it may have been: its ids are lost.
        `LogFolderFailedError` when it refuses to sync what was written.
        """
        changes = tuple(changes)
        records = (Record(None, encode_change(change), timestamp=now) for change in changes)
        self._append(build_batch(records), now)
        for change in changes:
            self._unheld.see(change)
        if any(isinstance(change, ProducerIdsRecord) for change in changes):
            self._log.sync()
        elif self._syncs:
            self._sync_or_stop()
        return self._log.end_offset

    def sync(self) -> None:
        """Have all of it survive a loss of power, if it does not yet. `LogFolderFailedError` when
        the disk refuses."""
        if self._log.recovery_point < self._log.end_offset:
            self._sync_or_stop()

    def _sync_or_stop(self) -> None:
        with _or_stop(self._folder):
            self._log.sync()

    # Snapshots.

    def wants_snapshot(self, now: TimestampMs) -> bool:
        """Whether one is due, of what has changed; to be asked after a commit."""
        # A snapshot could not say that a transaction is open.
        return not self._aborts and self._schedule.is_due(now)

    def unsynced(self) -> tuple[str, ...]:
        """Paths of files that `begin_snapshot` has to wait for: it waits less if a worker has done
        `sync_file` with them before."""
        return self._log.folder.unsynced(self._log.recovery_point).files

    def sync_file(self, path: str) -> None:
        """Return when the disk has that one of `unsynced`. What has lost its name meanwhile is no
        part of the log any more. `LogFolderFailedError` when the disk refuses: asking again would
        not tell what of it is there. Safe in a worker."""
        with _or_stop(self._folder), suppress(FileNotFoundError):
            self._files.sync_file(path)

    def begin_snapshot(self, image: MetadataImage, now: TimestampMs) -> NewSnapshot:
        """Of `image`, which is what the log says to its end; another segment begins there.

        It is installed only when no folder of a topic that `image` does not have has its name any
        more, on the disk: the next start will not hear that it was deleted. `OSError` when the disk
        refuses, `LogFolderFailedError` to sync: the log is as it was, and the next snapshot is due
        when this one would have been old."""
        log, end_offset = self._log, self._log.end_offset
        if image.end_offset != end_offset:
            raise InvariantError(f"an image of {image.end_offset} is none of {end_offset}")
        self._schedule.begun(now)
        # Without that the log may end before the snapshot, and before what the roll leaves.
        self.sync()
        log.roll(now)
        epoch = log.epochs.latest
        batches = checkpoint_batches(
            voter_records(self._node_id, self._directory_id, now),
            chain(changes_of(image), tuple(self._unheld)),
            now,
            leader_epoch=epoch,
        )
        name = Checkpoint(end_offset, epoch, checkpoint_name(end_offset, epoch))
        return NewSnapshot(self._files, self._folder, name, batches)

    def clean(self, now: TimestampMs) -> list[RetiredFiles]:
        """Take out what snapshots have made needless: to be removed `DELETE_DELAY_MS` later. See
        `log_cleaning.clean`."""
        return clean(self._files, self._folder, self._log, self._limits, now)

    def close(self) -> None:
        """Sync, and let go of the files."""
        try:
            self._log.sync()
            self._log.close()
        finally:
            self._log.release_files()

    # Writing.

    def _append(self, batch: bytearray, now: TimestampMs) -> None:
        append_as_leader(
            self._log,
            memoryview(batch),
            leader_epoch=LeaderEpoch(self.epoch),
            now=now,
            origin=AppendOrigin.RAFT_LEADER,
        )
        self._schedule.appended(len(batch))

    def _quorum_state(self) -> bytes:
        state = {
            "leaderId": self._node_id,
            "leaderEpoch": self.epoch,
            "votedId": -1,
            "votedDirectoryId": format_uuid(Uuid(bytes(16))),
            "data_version": 1,
        }
        return json.dumps(state, separators=(",", ":")).encode()


@contextmanager
def _or_stop(folder: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LogFolderFailedError(
            f"{folder} cannot be synced; what of it is on the disk is not known: {error}"
        ) from error


def _opened(
    files: Files,
    folder: str,
    limits: MetadataLogLimits,
    snapshot_end: Offset,
    now: TimestampMs,
    *,
    clean: bool,
) -> PartitionLog:
    try:
        log = open_log(
            files,
            folder,
            config=_topic_config(limits),
            topic_id=METADATA_TOPIC_ID,
            now=now,
            clean=clean,
            recovery_point=snapshot_end,  # What a snapshot has was on the disk before it.
        )
    except KafkaError as error:  # It has the id of another topic.
        raise CorruptRecordError(str(error)) from error
    for cut in log.cuts:
        _log.warning("a crash tore the end of the metadata log: %s", cut)
    return log


def _topic_config(limits: MetadataLogLimits) -> TopicConfig:
    """A commit is one batch, however large."""
    return TopicConfig(
        max_message_bytes=2**31 - 1,
        segment_bytes=limits.segment_bytes,
        segment_ms=limits.segment_ms,
        retention_ms=-1,
        file_delete_delay_ms=DELETE_DELAY_MS,
    )


def _is_long(found: Replayed) -> bool:
    replayed = found.image.end_offset - found.from_offset
    if replayed <= SNAPSHOT_AFTER:
        return False
    return replayed >= 2 * sum(1 for _ in changes_of(found.image))
