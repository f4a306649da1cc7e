"""Checkpoint files of the metadata log: snapshots, and what the cluster was formatted with.

    OFFSET-EPOCH.checkpoint    all changes below OFFSET (20 digits), the last of them of EPOCH (10)

A checkpoint is a run of batches, as in a log: a control batch with the snapshot's header and the
voters, batches of changes, a control batch with the footer. The one at offset 0 of epoch 0 is no
snapshot: it has the features and settings that `kafka-storage format` was told, which the first
controller writes to the log.

Source: Kafka's `Snapshots`, `RecordsSnapshotWriter`, `Formatter` (KIP-630, KIP-853).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from kafkalite.errors import CorruptRecordError
from kafkalite.log.checkpoints import read_file
from kafkalite.log.files import Files
from kafkalite.metadata.changes import Change, decode_change, encode_change
from kafkalite.protocol.messages.control_records import (
    Endpoint,
    KRaftVersionFeature,
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
    VotersRecordVoter,
)
from kafkalite.protocol.records.batch import BatchHeader, crc_is_valid, iter_headers, read_header
from kafkalite.protocol.records.control import kraft_control_record, read_kraft_control_record
from kafkalite.protocol.records.record import Record, build_batch, read_records
from kafkalite.types import BrokerId, LeaderEpoch, Offset, TimestampMs, Uuid

_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_BATCH_RECORDS = 100
"""Of a snapshot: made in one go, which takes some 3 ms."""
_BATCH_BYTES = 1 << 26
"""Of a compressed batch, which no Kafka writes here; its others are of 8 MiB at most."""
_HEAD_BYTES = 1 << 16
"""Far more than a first batch has, which tells of the voters."""
_FIRST_EPOCH = LeaderEpoch(0)


class Checkpoint(NamedTuple):
    """A file of them. In the order of offsets."""

    end_offset: Offset
    """Exclusive: the log goes on from there."""
    epoch: LeaderEpoch
    name: str


def checkpoint_name(end_offset: int, epoch: int) -> str:
    """The name of the file."""
    return f"{end_offset:020}-{epoch:010}.checkpoint"


FORMATTED = checkpoint_name(0, 0)


def find_checkpoints(files: Files, folder: str) -> list[Checkpoint]:
    """All of them, that of the format too, in order."""
    return sorted(
        Checkpoint(Offset(int(match[1])), LeaderEpoch(int(match[2])), name)
        for name in files.list(folder)
        if (match := _NAME.fullmatch(name))
    )


def newest_checkpoint(files: Files, folder: str) -> Checkpoint | None:
    """The snapshot with the highest offset; None when there is none."""
    found = [each for each in find_checkpoints(files, folder) if each.name != FORMATTED]
    return found[-1] if found else None


def read_timestamp(files: Files, path: str) -> TimestampMs:
    """When the last of its changes was made, as its header says. `CorruptRecordError` when that
    cannot be read."""
    file = files.open_read(path)
    try:
        data = memoryview(file.read(0, _HEAD_BYTES))
    finally:
        file.close()
    header = read_header(data)
    if header.size_bytes > len(data) or not crc_is_valid(data, 0, header):
        raise CorruptRecordError(f"{path} does not begin with a sound batch")
    for record in read_records(data, 0, header) if header.is_control else ():
        control = read_kraft_control_record(record)
        if isinstance(control, SnapshotHeaderRecord):
            return TimestampMs(control.last_contained_log_timestamp)
    raise CorruptRecordError(f"{path} does not begin with the header of a snapshot")


def read_checkpoint(files: Files, path: str) -> Iterator[Change]:
    """Its changes; none when the file is missing. `CorruptRecordError` for a damaged one, at the
    latest when all were taken."""
    content = read_file(files, path)
    if content is None:
        return
    data, is_whole = memoryview(content), False
    for position, header in iter_headers(data):
        yield from changes_in(data, position, header)
        is_whole = header.is_control and position > 0  # As its footer is.
    if not is_whole:
        raise CorruptRecordError(f"{path} ends before its footer")


def changes_in(data: memoryview, position: int, header: BatchHeader) -> Iterator[Change]:
    """The changes in one batch, whose CRC is checked; none in control batches."""
    if not crc_is_valid(data, position, header):
        raise CorruptRecordError(f"the metadata batch at offset {header.base_offset} has a bad CRC")
    if header.is_control:
        return
    for record in read_records(data, position, header, _BATCH_BYTES):
        if record.value is not None:
            yield decode_change(record.value)


def voter_records(node_id: BrokerId, directory_id: Uuid, now: TimestampMs) -> list[Record]:
    """That the quorum is this node alone, as its control records say it."""
    voter = VotersRecordVoter(
        voter_id=node_id,
        voter_directory_id=directory_id,
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


def checkpoint(voters: list[Record], changes: Iterable[Change], now: TimestampMs) -> bytes:
    """The content of what a cluster was formatted with."""
    return b"".join(checkpoint_batches(voters, changes, now))


def checkpoint_batches(
    voters: list[Record],
    changes: Iterable[Change],
    now: TimestampMs,
    *,
    leader_epoch: LeaderEpoch = _FIRST_EPOCH,
) -> Iterator[bytearray]:
    """The content of a checkpoint file, piece by piece. `now`: when the last change was made."""
    offset = 0

    def batch(records: list[Record], *, is_control: bool) -> bytearray:
        nonlocal offset
        offset, base_offset = offset + len(records), Offset(offset)
        return build_batch(
            records, base_offset=base_offset, leader_epoch=leader_epoch, is_control=is_control
        )

    header = kraft_control_record(SnapshotHeaderRecord(last_contained_log_timestamp=now), now)
    yield batch([header, *voters], is_control=True)
    values = (Record(None, encode_change(change), timestamp=now) for change in changes)
    while records := list(islice(values, _BATCH_RECORDS)):
        yield batch(records, is_control=False)
    yield batch([kraft_control_record(SnapshotFooterRecord(), now)], is_control=True)
