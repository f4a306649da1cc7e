"""The metadata on disk: Kafka's own `__cluster_metadata-0`, as a quorum of this one voter writes
it.

    00000000000000000000-0000000000.checkpoint   what the cluster was formatted with
    00000000000000000000.log                     all changes since, with KRaft's control records
    quorum-state                                 who leads the quorum, in which epoch
    partition.metadata, leader-epoch-checkpoint  as in any partition

A real Kafka 4.4 starts on such a folder, and this on one of its. Each commit is one batch, so it is
there whole or not at all; it survives the death of the process once `append` has returned. Kafka
also writes snapshots (`OFFSET-EPOCH.checkpoint`): they are read, not written yet, so opening takes
time with the length of the log.

Source: Kafka's `KafkaRaftLog`, `Formatter`, `FileQuorumStateStore`, `MetadataBatchLoader` (KIP-595,
KIP-630, KIP-853, KIP-868).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError, InvariantError
from kafkalite.log.checkpoints import read_file
from kafkalite.log.files import Files
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.validation import AppendOrigin
from kafkalite.metadata.changes import Change, decode_change, encode_change
from kafkalite.metadata.draft import MetadataDraft
from kafkalite.metadata.image import MetadataImage
from kafkalite.protocol.messages.control_records import (
    Endpoint,
    KRaftVersionFeature,
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeMessageVoter,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
    VotersRecordVoter,
)
from kafkalite.protocol.messages.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
)
from kafkalite.protocol.records.batch import BatchHeader, crc_is_valid, iter_headers
from kafkalite.protocol.records.control import kraft_control_record
from kafkalite.protocol.records.record import Record, build_batch, read_records
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

_QUORUM_STATE = "quorum-state"
_CHECKPOINT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_FORMATTED = f"{0:020}-{0:010}.checkpoint"
_READ_BYTES = 4 << 20
_CONFIG = TopicConfig(max_message_bytes=2**31 - 1)
"""Kafka's `metadata.log.segment.bytes` and `.ms` are the defaults of topics; a commit is one batch,
however large."""
_NO_EPOCH = LeaderEpoch(0)


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

    @classmethod
    def open(
        cls,
        files: Files,
        *,
        node_id: BrokerId,
        directory_id: Uuid,
        now: TimestampMs,
        clean: bool,
        formatted_with: Iterable[FeatureLevelRecord],
        folder: str = FOLDER,
    ) -> MetadataLog:
        """Open the log and read all of it, or make it, formatted with those features.

        `clean` says that the last stop was a clean one. What a crash tore off the end, or left of a
        transaction, is dropped. `CorruptRecordError` and `ProtocolError` for a log that cannot be
        read, `InvariantError` for one that contradicts itself: nothing is served from either.
        """
        log = PartitionLog.open(
            files,
            folder,
            config=_CONFIG,
            topic_id=METADATA_TOPIC_ID,
            now=now,
            clean=clean,
        )
        opened = cls(files, folder, log, node_id, directory_id)
        if log.end_offset == 0 and not files.exists(f"{folder}/{_FORMATTED}"):
            opened._write_formatted(formatted_with, now)
        opened._load()
        return opened

    @property
    def end_offset(self) -> Offset:
        """Exclusive: where the next record goes."""
        return self._log.end_offset

    def begin_epoch(self, now: TimestampMs) -> NewEpoch:
        """Take the lead in the next epoch, and say so in the log, as a voter that elected itself.
        A new log gets what it was formatted with."""
        self.epoch = ControllerEpoch(max(self.epoch, self._log.epochs.latest) + 1)
        self._files.replace(f"{self._folder}/{_QUORUM_STATE}", self._quorum_state())
        is_first = self._log.end_offset == 0
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
            controls += self._voter_records(now)
        self._append(build_batch(controls, is_control=True), now)
        if self._aborts:
            self.append([AbortTransactionRecord(reason="the controller failed over")], now)
            self._aborts = False
        changes: tuple[Change, ...] = ()
        if is_first:
            formatted = tuple(self._formatted_changes())
            if formatted:
                begin = BeginTransactionRecord(name="Bootstrap records")
                changes = (begin, *formatted, EndTransactionRecord())
                self.append(changes, now)
        return NewEpoch(self.epoch, changes)

    def append(self, changes: Iterable[Change], now: TimestampMs) -> Offset:
        """All of them as one batch; the end offset after it. `OSError` when the disk refuses: then
        nothing was written."""
        records = (Record(None, encode_change(change), timestamp=now) for change in changes)
        self._append(build_batch(records), now)
        return self._log.end_offset

    def close(self) -> None:
        """Sync, and let go of the files."""
        self._log.sync()
        self._log.close()

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

    def _voter_records(self, now: TimestampMs) -> list[Record]:
        voter = VotersRecordVoter(
            voter_id=self._node_id,
            voter_directory_id=self._directory_id,
            # Nobody dials it; a Kafka that starts on this folder writes its own.
            endpoints=[Endpoint(name="CONTROLLER", host="localhost", port=9093)],
            k_raft_version_feature=KRaftVersionFeature(
                min_supported_version=0, max_supported_version=1
            ),
        )
        return [
            kraft_control_record(KRaftVersionRecord(k_raft_version=1), now),
            kraft_control_record(VotersRecord(voters=[voter]), now),
        ]

    def _write_formatted(self, features: Iterable[FeatureLevelRecord], now: TimestampMs) -> None:
        """What `kafka-storage format --standalone` leaves: a snapshot of nothing but the
        features."""
        header = kraft_control_record(SnapshotHeaderRecord(last_contained_log_timestamp=0), now)
        records = [Record(None, encode_change(level), timestamp=now) for level in features]
        voters = [header, *self._voter_records(now)]
        footer = kraft_control_record(SnapshotFooterRecord(), now)
        content = b"".join(
            [
                _snapshot_batch(voters, 0, is_control=True),
                _snapshot_batch(records, len(voters), is_control=False),
                _snapshot_batch([footer], len(voters) + len(records), is_control=True),
            ]
        )
        self._files.replace(f"{self._folder}/{_FORMATTED}", content)

    # Reading.

    def _load(self) -> None:
        """From the newest snapshot, then the log behind it."""
        draft = MetadataDraft(self.image)
        offset = self._log.log_start_offset
        found = [m for name in self._files.list(self._folder) if (m := _CHECKPOINT.fullmatch(name))]
        newest = max(found, key=lambda match: match[1] + match[2], default=None)
        if newest is not None and newest[0] != _FORMATTED:
            data = self._read_checkpoint(newest[0])
            for position, header in iter_headers(data):
                draft.apply_all(_changes(data, position, header))
            offset = Offset(int(newest[1]))
        elif offset > 0:
            raise InvariantError(f"{self._folder} begins at offset {offset}, and has no snapshot")
        pending: list[Change] | None = None
        for change in self._changes_from(offset):
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
            if isinstance(part, bytes | bytearray | memoryview):
                data = memoryview(part)
            else:
                data = memoryview(part.read(0, read.size_bytes))
                part.release()
            next_offset = offset
            for position, header in iter_headers(data):
                next_offset = header.next_offset
                yield from _changes(data, position, header)
            if next_offset == offset:
                raise InvariantError(f"{self._folder} has no whole batch at offset {offset}")
            offset = next_offset

    def _formatted_changes(self) -> Iterator[Change]:
        """What a cluster that Kafka formatted, and never started, was formatted with."""
        data = self._read_checkpoint(_FORMATTED)
        for position, header in iter_headers(data):
            yield from _changes(data, position, header)

    def _read_checkpoint(self, name: str) -> memoryview:
        return memoryview(read_file(self._files, f"{self._folder}/{name}") or b"")


def _snapshot_batch(records: list[Record], base_offset: int, *, is_control: bool) -> bytearray:
    return build_batch(
        records, base_offset=Offset(base_offset), leader_epoch=_NO_EPOCH, is_control=is_control
    )


def _changes(data: memoryview, position: int, header: BatchHeader) -> Iterator[Change]:
    """The changes in one batch; none in control batches."""
    if not crc_is_valid(data, position, header):
        raise CorruptRecordError(f"the metadata batch at offset {header.base_offset} has a bad CRC")
    if header.is_control:
        return
    for record in read_records(data, position, header):
        if record.value is not None:
            yield decode_change(record.value)


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
