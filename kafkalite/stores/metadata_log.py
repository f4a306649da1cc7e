"""The metadata on disk: Kafka's own `__cluster_metadata-0`, as a quorum of this one voter writes
it.

    00000000000000000000-0000000000.checkpoint   what the cluster was formatted with
    00000000000000000000.log                     all changes since, with KRaft's control records
    OFFSET-EPOCH.checkpoint                      a snapshot: all changes below OFFSET
    quorum-state                                 who leads the quorum, in which epoch
    partition.metadata, leader-epoch-checkpoint  as in any partition

A real Kafka 4.4 starts on such a folder, and this on one of its. Each commit is one batch, so it is
there whole or not at all; it survives the death of the process once `append` has returned. A
start that has replayed a long log leaves a snapshot, so that the next one need not.

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
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError, InvariantError
from kafkalite.log.checkpoints import read_file
from kafkalite.log.files import Files, read_part
from kafkalite.log.folder_names import METADATA_PARTITION, parse_partition
from kafkalite.log.opening import open_log
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.validation import AppendOrigin
from kafkalite.metadata.changes import Change, encode_change
from kafkalite.metadata.draft import MetadataDraft
from kafkalite.metadata.image import MetadataImage
from kafkalite.metadata.snapshot import changes_of, is_held
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
from kafkalite.protocol.records.batch import iter_headers
from kafkalite.protocol.records.control import kraft_control_record
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.stores.checkpoint import (
    FORMATTED,
    changes_in,
    checkpoint,
    checkpoint_name,
    newest_checkpoint,
    read_checkpoint,
    voter_records,
)
from kafkalite.stores.soundness import examine
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

_QUORUM_STATE = "quorum-state"
_SNAPSHOT = ".snapshot"
_READ_BYTES = 4 << 20
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
        self, files: Files, folder: str, log: PartitionLog, node_id: BrokerId, directory_id: Uuid
    ) -> None:
        self._files = files
        self._folder = folder
        self._log = log
        self._node_id = node_id
        self._directory_id = directory_id
        self._aborts = False
        """Whether the log ends within a transaction that nobody will end."""
        self.epoch = ControllerEpoch(_read_epoch(files, f"{folder}/{_QUORUM_STATE}"))
        self.image = MetadataImage()
        """What is in the log, as of `open`."""
        self.removed_topics: frozenset[Uuid] = frozenset()
        """Ids of the topics that the log has seen come and go, as of `open`."""

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
    ) -> MetadataLog:
        """Open the log and read all of it, or make it, formatted with those records.

        `clean` says that the last stop was a clean one. What a crash tore off the end, or left of a
        transaction, is dropped. `CorruptRecordError` and `ProtocolError` for a log that cannot be
        read or has lost what it held, `InvariantError` for one that contradicts itself: nothing is
        served from either, and nothing is changed.
        """
        _refuse_damaged(files, folder, clean=clean)
        log = open_log(
            files,
            folder,
            config=_CONFIG,
            topic_id=METADATA_TOPIC_ID,
            now=now,
            clean=clean,
        )
        for cut in log.cuts:
            _log.warning("a crash tore the end of the metadata log: %s", cut)
        log.folder.make()
        opened = cls(files, folder, log, node_id, directory_id)
        if log.end_offset == 0 and not files.exists(f"{folder}/{FORMATTED}"):
            voters = voter_records(node_id, directory_id, now)
            files.replace(f"{folder}/{FORMATTED}", checkpoint(voters, formatted_with, now))
        opened._load(now)
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
            self._files.replace(f"{self._folder}/{_QUORUM_STATE}", self._quorum_state())
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
            # Last: where there was an epoch, there must be a log.
            self._files.replace(f"{self._folder}/{_QUORUM_STATE}", self._quorum_state())
        return NewEpoch(self.epoch, changes)

    def append(self, changes: Iterable[Change], now: TimestampMs) -> Offset:
        """All of them as one batch; the end offset after it. `OSError` when the disk refuses: then
        nothing was written, but that of a block of producer ids it may have been: its ids are lost.
        """
        changes = tuple(changes)
        records = (Record(None, encode_change(change), timestamp=now) for change in changes)
        self._append(build_batch(records), now)
        if any(isinstance(change, ProducerIdsRecord) for change in changes):
            self._log.sync()
        return self._log.end_offset

    def close(self) -> None:
        """Sync, and let go of the files."""
        try:
            self._log.sync()
            self._log.close()
        finally:
            self._log.release_files()

    # Writing.

    def _append(self, batch: bytearray, now: TimestampMs) -> None:
        self._log.append_as_leader(
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

    # Reading.

    def _load(self, now: TimestampMs) -> None:
        """From the newest snapshot, then the log behind it."""
        draft = MetadataDraft(self.image)
        offset = self._log.log_start_offset
        newest = newest_checkpoint(self._files, self._folder)
        if newest is not None:
            draft.apply_all(read_checkpoint(self._files, f"{self._folder}/{newest.name}"))
            offset = newest.end_offset
            if offset > self._log.end_offset:
                raise InvariantError(f"{self._folder} ends before its snapshot {newest.name}")
        elif offset > 0:
            raise InvariantError(f"{self._folder} begins at offset {offset}, and has no snapshot")
        held = True
        pending: list[Change] | None = None
        for change in self._changes_from(offset):
            held = held and is_held(change)
            match change:
                case BeginTransactionRecord():
                    pending = []
                case EndTransactionRecord() | AbortTransactionRecord():
                    if isinstance(change, EndTransactionRecord):
                        draft.apply_all(pending or ())
                    pending = None
                case _ if pending is not None:
                    pending.append(change)
                case _:
                    draft.apply(change)
        self._aborts = pending is not None
        self.image = draft.finish(
            end_offset=self._log.end_offset, epoch=self.epoch, controller_id=self._node_id
        ).image
        replayed = self._log.end_offset - offset
        if held and not self._aborts and replayed > SNAPSHOT_AFTER:
            self._write_snapshot(replayed, now)

    def _write_snapshot(self, replayed: int, now: TimestampMs) -> None:
        """So that the next start need not replay as much, if the image is smaller by far."""
        changes = list(changes_of(self.image))
        if replayed < 2 * len(changes):
            return
        self._log.sync()
        epoch = self._log.epochs.latest
        name = checkpoint_name(self._log.end_offset, epoch)
        voters = voter_records(self._node_id, self._directory_id, now)
        content = checkpoint(voters, changes, now, leader_epoch=epoch)
        self._files.replace(f"{self._folder}/{name}", content)

    def _changes_from(self, offset: Offset) -> Iterator[Change]:
        while offset < self._log.end_offset:
            read = self._log.read(
                offset,
                max_bytes=_READ_BYTES,
                max_offset=self._log.end_offset,
                first_batch_whole=True,
            )
            part = read.part
            if part is None:
                raise InvariantError(f"{self._folder} has a hole at offset {offset}")
            data = read_part(part)
            next_offset = offset
            for position, header in iter_headers(data):
                next_offset = header.next_offset
                yield from changes_in(data, position, header)
            if next_offset == offset:
                raise InvariantError(f"{self._folder} has no whole batch at offset {offset}")
            offset = next_offset


def _refuse_damaged(files: Files, folder: str, *, clean: bool) -> None:
    """`CorruptRecordError` unless the log is whole, or a crash can have left it so."""
    end_offset, damage = examine(files, folder, clean=clean)
    if damage is not None and (clean or not damage.is_end):
        behind = "" if damage.is_end else ", with sound records behind that"
        raise CorruptRecordError(f"{damage.file} is damaged at byte {damage.position}{behind}")
    closed_at = _snapshot_offset(files, folder)
    if end_offset < closed_at:
        raise CorruptRecordError(
            f"{folder} ends at offset {end_offset}, before the {closed_at} that its clean stop left"
        )
    if end_offset == 0:
        trace = _trace_of_a_cluster(files, folder)
        if trace:
            raise CorruptRecordError(f"{folder} has no records, and yet there is {trace}")


def _trace_of_a_cluster(files: Files, folder: str) -> str:
    """Something that only a cluster leaves that had a metadata log; empty when there is nothing."""
    if files.exists(folder):
        newest = newest_checkpoint(files, folder)
        if newest is not None:
            return f"the snapshot {newest.name}"
        epoch = _read_epoch(files, f"{folder}/{_QUORUM_STATE}")
        if epoch > 0:
            return f"epoch {epoch} in {_QUORUM_STATE}"
    for name in files.list("") if files.exists("") else ():
        if parse_partition(name) not in (None, METADATA_PARTITION) and files.is_folder(name):
            return f"the partition {name}"
    return ""


def _snapshot_offset(files: Files, folder: str) -> Offset:
    """Where the log ended when it was closed: the newest snapshot of producers names it."""
    names = files.list(folder) if files.exists(folder) else []
    stems = [name.removesuffix(_SNAPSHOT) for name in names if name.endswith(_SNAPSHOT)]
    return Offset(max((int(stem) for stem in stems if stem.isdecimal()), default=0))


def _read_epoch(files: Files, path: str) -> int:
    data = read_file(files, path)
    if data is None:
        return 0
    try:
        epoch = json.loads(data)["leaderEpoch"]
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptRecordError(f"{path} is no quorum state: {error}") from error
    if not isinstance(epoch, int):
        raise CorruptRecordError(f"{path} has the epoch {epoch!r}")
    return epoch
