"""The files of a partition's folder as they stand, for those who look into one.

    .log          record batches: `scan.scan_batches`
    .index        OffsetEntry    .timeindex    TimeIndexEntry    (relative to the file's name)
    .txnindex     aborted transactions: `transaction_index.parse_transaction_index`
    .snapshot     producers: `producer_snapshots.parse_snapshot`
    .checkpoint   a snapshot of the metadata: record batches

What is read here need not make sense: the entries come as they stand, for whoever judges them.
Source: Kafka's `OffsetIndex`, `TimeIndex`, `Snapshots`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from struct import Struct
from typing import NamedTuple

from kafkalite.errors import CorruptRecordError
from kafkalite.log.files import File
from kafkalite.log.index import OFFSET_ENTRY_SIZE
from kafkalite.log.scan import StoredBatch, scan_batches
from kafkalite.log.time_index import TIME_ENTRY_SIZE
from kafkalite.protocol.records.batch import MAX_SEQUENCE, NO_SEQUENCE, BatchHeader, crc_is_valid
from kafkalite.protocol.records.record import Record, read_records
from kafkalite.types import LeaderEpoch, Offset, TimestampMs


class FileKind(Enum):
    """What a file of a partition's folder is, by the end of its name."""

    LOG = ".log"
    OFFSET_INDEX = ".index"
    TIME_INDEX = ".timeindex"
    TRANSACTION_INDEX = ".txnindex"
    PRODUCER_SNAPSHOT = ".snapshot"
    METADATA_SNAPSHOT = ".checkpoint"


class NamedFile(NamedTuple):
    """A file that is named by an offset."""

    kind: FileKind
    offset: Offset
    """A segment's first; a snapshot's end (exclusive)."""
    epoch: LeaderEpoch | None = None
    """Of a snapshot of the metadata."""


class OffsetEntry(NamedTuple):
    """The last offset of the batch at a position of the `.log`."""

    offset: Offset
    position: int


class TimeIndexEntry(NamedTuple):
    """No record up to the offset is later than the timestamp."""

    timestamp: TimestampMs
    offset: Offset


_NAME = re.compile(r"([0-9]{20})(?:-([0-9]{10}))?(\.[a-z]+)")
_KINDS = {kind.value: kind for kind in FileKind}
_OFFSET_ENTRY = Struct(">ii")
_TIME_ENTRY = Struct(">qi")


def parse_name(name: str) -> NamedFile | None:
    """What the file of this name is; None when it is none of these."""
    match = _NAME.fullmatch(name)
    kind = None if match is None else _KINDS.get(match[3])
    if match is None or kind is None:
        return None
    if (kind is FileKind.METADATA_SNAPSHOT) != (match[2] is not None):
        return None
    epoch = None if match[2] is None else LeaderEpoch(int(match[2]))
    return NamedFile(kind, Offset(int(match[1])), epoch)


def read_offset_entries(data: bytes, base_offset: Offset) -> list[OffsetEntry]:
    """Of an `.index`, up to the zeros that Kafka allocated ahead; bytes that are left over are
    passed by."""
    whole = len(data) - len(data) % OFFSET_ENTRY_SIZE
    entries: list[OffsetEntry] = []
    for relative, position in _OFFSET_ENTRY.iter_unpack(data[:whole]):
        if relative == 0 and entries:
            break
        entries.append(OffsetEntry(Offset(base_offset + relative), position))
    return entries


def read_time_entries(data: bytes, base_offset: Offset) -> list[TimeIndexEntry]:
    """Of a `.timeindex`, as `read_offset_entries`."""
    whole = len(data) - len(data) % TIME_ENTRY_SIZE
    entries: list[TimeIndexEntry] = []
    for timestamp, relative in _TIME_ENTRY.iter_unpack(data[:whole]):
        if relative == 0 and entries:
            break
        entries.append(TimeIndexEntry(timestamp, Offset(base_offset + relative)))
    return entries


class BatchFact(NamedTuple):
    """A batch of a `.log`."""

    position: int
    header: BatchHeader
    is_valid: bool
    """Whether its CRC is right."""


class RecordFact(NamedTuple):
    """A record of the batch before."""

    header: BatchHeader
    """Of its batch."""
    record: Record

    @property
    def sequence(self) -> int:
        """Its producer's; -1 without one."""
        base = self.header.base_sequence
        delta = self.record.offset - self.header.base_offset
        return NO_SEQUENCE if base == NO_SEQUENCE else (base + delta) & MAX_SEQUENCE


class UnreadableRecords(NamedTuple):
    """What keeps the rest of the batch before from being read."""

    reason: str


class InvalidEnd(NamedTuple):
    """Bytes at the end of a `.log` that are no batch."""

    position: int
    size_bytes: int
    reason: str


LogFact = BatchFact | RecordFact | UnreadableRecords | InvalidEnd


def walk_log(
    file: File, *, records: bool = False, max_bytes: int | None = None
) -> Iterator[LogFact]:
    """All that stands in a `.log`, or, with `max_bytes`, the whole batches among so many bytes.

    `records`: those of each batch too.
    """
    end = file.size if max_bytes is None else min(max_bytes, file.size)
    position = 0
    try:
        for batch in scan_batches(file, 0, end):
            header = batch.header
            is_valid = crc_is_valid(batch.buffer, batch.at, header)
            yield BatchFact(batch.position, header, is_valid)
            if records:
                yield from _records_of(batch)
            position = batch.position + header.size_bytes
    except CorruptRecordError as error:
        if max_bytes is None:
            yield InvalidEnd(position, end - position, str(error))


def _records_of(batch: StoredBatch) -> Iterator[RecordFact | UnreadableRecords]:
    try:
        for record in read_records(batch.buffer, batch.at, batch.header):
            yield RecordFact(batch.header, record)
    except CorruptRecordError as error:
        yield UnreadableRecords(str(error))
