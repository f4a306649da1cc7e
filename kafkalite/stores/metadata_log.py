"""The metadata on disk: Kafka's own `__cluster_metadata-0`, as a quorum of this one voter writes
it.

    00000000000000000000-0000000000.checkpoint   what the cluster was formatted with
    00000000000000000000.log                     all changes since, with KRaft's control records
    OFFSET-EPOCH.checkpoint                      a snapshot: all changes below OFFSET
    quorum-state                                 who leads the quorum, in which epoch
    partition.metadata, leader-epoch-checkpoint  as in any partition

A real Kafka 4.4 starts on such a folder, and this on one of its. Each commit is one batch, so it is
there whole or not at all; it survives the death of the process once `append` has returned. A
start that has replayed a long log leaves a snapshot, so that the next one need not. What a log has
lost is told before anything is changed (losses.py).

Kafka differs: it flushes a commit to the disk before it counts. Here it is in the page cache: it
survives the death of the process, not the loss of power, and costs no 3 ms. A block of producer
ids is flushed, as everything before it: were its ids given again after a loss of power, records of
the second producer would pass for those that the first one wrote, and be dropped.

Kafka differs: it writes snapshots while it runs, by size and by time, and drops the log below them.
Here a snapshot is written at a start alone.

Source: Kafka's `KafkaRaftLog`, `Formatter`, `FileQuorumStateStore`, `MetadataBatchLoader` (KIP-595,
KIP-630, KIP-853, KIP-868).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from typing import NamedTuple

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError, InvariantError, KafkaError
from kafkalite.log.directory_set import LogFolderFailedError, Place
from kafkalite.log.files import Files
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.log_cuts import truncate_to
from kafkalite.log.opening import open_log
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.validation import AppendOrigin
from kafkalite.metadata.changes import Change, encode_change
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
    checkpoint,
    checkpoint_name,
    read_checkpoint,
    voter_records,
)
from kafkalite.stores.losses import QUORUM_STATE, read_epoch, refuse_lost_topics, sound_end
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
"""Records replayed at a start that are worth a snapshot."""

_log = logging.getLogger(__name__)

_CONFIG = TopicConfig(max_message_bytes=2**31 - 1)
"""Kafka's `metadata.log.segment.bytes` and `.ms` are the defaults of topics; a commit is one batch,
however large."""


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
        syncs: bool,
    ) -> None:
        self._files = files
        self._syncs = syncs
        self._folder = folder
        self._log = log
        self._node_id = node_id
        self._directory_id = directory_id
        self._found: Replayed | None = found
        self._aborts = found.is_in_transaction
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
        try:
            log = open_log(
                files, folder, config=_CONFIG, topic_id=METADATA_TOPIC_ID, now=now, clean=clean
            )
        except KafkaError as error:  # It has the id of another topic.
            raise CorruptRecordError(str(error)) from error
        for cut in log.cuts:
            _log.warning("a crash tore the end of the metadata log: %s", cut)
        truncate_to(log, end_offset, now)
        if log.end_offset != end_offset:
            raise InvariantError(f"{folder} ends at {log.end_offset}, and was read to {end_offset}")
        log.folder.make()
        if not clean and end_offset > 0:
            # Recovery of partitions syncs what it cuts: their topics must not be lost after that.
            log.sync()
        opened = cls(files, folder, log, found, node_id, directory_id, syncs=syncs)
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
        A new log gets what it was formatted with, a long one leaves a snapshot first.

        The image of `open` was told to the broker by now: what a stop has left of deleted topics
        has lost its name."""
        if self._found is not None:
            self._write_snapshot(self._found, now)
            self._found = None
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
        try:
            self._log.sync()
        except OSError as error:
            raise LogFolderFailedError(
                f"{self._folder} cannot be synced; what of it is on the disk is not known: {error}"
            ) from error

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

    def _quorum_state(self) -> bytes:
        state = {
            "leaderId": self._node_id,
            "leaderEpoch": self.epoch,
            "votedId": -1,
            "votedDirectoryId": format_uuid(Uuid(bytes(16))),
            "data_version": 1,
        }
        return json.dumps(state, separators=(",", ":")).encode()

    def _write_snapshot(self, found: Replayed, now: TimestampMs) -> None:
        """So that the next start need not replay as much, if that is much, and the image smaller by
        far."""
        replayed = self._log.end_offset - found.from_offset
        if replayed <= SNAPSHOT_AFTER or found.is_in_transaction or not found.is_held:
            return
        changes = list(changes_of(found.image))
        if replayed < 2 * len(changes):
            return
        # The next start will not hear of deleted topics: their folders must not have names then.
        self._files.sync_folder("")
        self._log.sync()
        epoch = self._log.epochs.latest
        name = checkpoint_name(self._log.end_offset, epoch)
        voters = voter_records(self._node_id, self._directory_id, now)
        content = checkpoint(voters, changes, now, leader_epoch=epoch)
        self._files.replace(f"{self._folder}/{name}", content)
