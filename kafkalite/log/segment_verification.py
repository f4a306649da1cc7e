"""A walk through the segments of one partition, oldest first, that says what is wrong with them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from kafkalite.errors import CorruptRecordError
from kafkalite.log.checkpoints import read_file
from kafkalite.log.epochs import EpochStart
from kafkalite.log.files import File, Files
from kafkalite.log.index import MAX_RELATIVE_OFFSET, OffsetIndex
from kafkalite.log.index_checks import (
    NO_OFFSET,
    OffsetNotFound,
    TimestampMismatch,
    TimestampOutOfOrder,
    check_offset_entries,
    check_time_entries,
)
from kafkalite.log.inspection import (
    FileKind,
    TimeIndexEntry,
    read_offset_entries,
    read_time_entries,
)
from kafkalite.log.producer_snapshots import parse_snapshot
from kafkalite.log.producers import BatchMetadata
from kafkalite.log.scan import StoredBatch, scan_batches
from kafkalite.log.time_index import TimeIndex
from kafkalite.log.transaction_index import AbortedTransaction, parse_transaction_index
from kafkalite.protocol.records.batch import BatchHeader, crc_is_valid
from kafkalite.protocol.records.control import read_end_transaction_marker
from kafkalite.protocol.records.record import read_records
from kafkalite.types import NO_PRODUCER_ID, NO_TIMESTAMP, Offset, ProducerId, TimestampMs

_CONTROL_BATCH_BYTES = 1 << 16

_start_of = attrgetter("start_offset")


class Finding(NamedTuple):
    """What is wrong with a file."""

    file: str
    problem: str

    def __str__(self) -> str:
        return f"{self.file}: {self.problem}"


class _Expected(NamedTuple):
    """What a snapshot says of the last batch of a producer."""

    file: str
    producer_id: ProducerId
    batch: BatchMetadata


class SegmentWalk:
    """What the segments behind tell of those to come."""

    def __init__(self, files: Files, folder: str, epochs: Sequence[EpochStart] | None) -> None:
        """`epochs`: None if they are not known."""
        self._files = files
        self._folder = folder
        self._epochs = epochs
        self._expected: dict[Offset, list[_Expected]] = {}
        self._snapshots: list[Offset] = []
        self._open_since: dict[ProducerId, Offset] = {}
        """Where the transactions under way began."""
        self.end_offset = Offset(0)
        self.size_bytes = 0
        """Of the last segment's `.log`."""

    def _path(self, offset: Offset, kind: FileKind) -> str:
        return f"{self._folder}/{offset:020d}{kind.value}"

    def read_snapshots(self, offsets: Sequence[Offset]) -> Iterator[Finding]:
        """Before the first segment: what the snapshots say is held against the batches."""
        for offset in offsets:
            file = self._path(offset, FileKind.PRODUCER_SNAPSHOT)
            try:
                states = parse_snapshot(read_file(self._files, file) or b"")
            except CorruptRecordError as error:
                yield Finding(file, f"is {error}")
                continue
            self._snapshots.append(offset)
            for state in states:
                for batch in state.batches:
                    if batch.last_offset >= offset:
                        yield Finding(file, f"has offset {batch.last_offset}, which is behind it")
                    told = _Expected(file, state.producer_id, batch)
                    self._expected.setdefault(batch.last_offset, []).append(told)

    def segment(self, base: Offset, *, is_last: bool) -> Iterator[Finding]:
        """The next segment, with its indexes."""
        name = self._path(base, FileKind.LOG)
        if base < self.end_offset:
            problem = f"begins at offset {base}, and the one before it ends at {self.end_offset}"
            yield Finding(name, problem)
        log = self._files.open_read(name)
        try:
            self.size_bytes = log.size
            aborted = yield from self._aborted(base)
            times = yield from self._indexes(log, base, is_last=is_last)
            latest = yield from self._batches(log, base, times or (), aborted)
        finally:
            log.close()
        known = times[-1].timestamp if times else NO_TIMESTAMP
        if not is_last and times is not None and latest > known:
            problem = f"ends before timestamp {latest}, the latest of its log"
            yield Finding(self._path(base, FileKind.TIME_INDEX), problem)
        for entry in aborted.values():
            problem = f"has a transaction that no marker aborts at offset {entry.last_offset}"
            yield Finding(self._path(base, FileKind.TRANSACTION_INDEX), problem)

    def _batches(
        self,
        log: File,
        base: Offset,
        times: Sequence[TimeIndexEntry],
        aborted: dict[Offset, AbortedTransaction],
    ) -> Generator[Finding, None, TimestampMs]:
        """The generator's value is the latest timestamp."""
        name, position = self._path(base, FileKind.LOG), 0
        due, latest, next_time = base, NO_TIMESTAMP, 0
        try:
            for batch in scan_batches(log, 0, log.size):
                header, position = batch.header, batch.position + batch.header.size_bytes
                problem = _what_is_wrong(batch, base, due)
                if problem:
                    yield Finding(name, f"{problem}, at byte {batch.position}")
                due = max(due, header.next_offset)
                yield from self._epoch(header)
                yield from self._producer(header)
                yield from self._transaction(batch, base, aborted)
                latest = max(latest, header.max_timestamp)
                while next_time < len(times) and times[next_time].offset <= header.last_offset:
                    timestamp, offset = times[next_time]
                    if timestamp < latest:
                        time_index = self._path(base, FileKind.TIME_INDEX)
                        problem = f"has timestamp {timestamp} at offset {offset}, behind {latest}"
                        yield Finding(time_index, problem)
                    next_time += 1
        except CorruptRecordError as error:
            yield Finding(name, f"{log.size - position} bytes from {position} on: {error}")
        self.end_offset = due
        return latest

    def _epoch(self, header: BatchHeader) -> Iterator[Finding]:
        epoch, offset = header.partition_leader_epoch, header.base_offset
        if self._epochs is None or epoch < 0:
            return
        at = bisect_right(self._epochs, offset, key=_start_of)
        if at and self._epochs[at - 1].epoch == epoch:
            return
        if not at and self._epochs:
            return  # Below the start of the log, which only whole segments are taken off.
        told = f"epoch {self._epochs[at - 1].epoch}" if at else "no epoch"
        problem = f"has {told} at offset {offset}, whose batch is of epoch {epoch}"
        yield Finding(f"{self._folder}/leader-epoch-checkpoint", problem)

    def _producer(self, header: BatchHeader) -> Iterator[Finding]:
        for file, producer_id, batch in self._expected.pop(header.last_offset, ()):
            same = (header.producer_id, header.last_sequence) == (producer_id, batch.last_sequence)
            if not same:
                problem = (
                    f"has producer {producer_id} at offset {batch.last_offset}, with sequence "
                )
                found = f"{header.producer_id}, with {header.last_sequence}"
                yield Finding(file, f"{problem}{batch.last_sequence}; the log has producer {found}")

    def _transaction(
        self, batch: StoredBatch, base: Offset, aborted: dict[Offset, AbortedTransaction]
    ) -> Iterator[Finding]:
        header = batch.header
        if not header.is_transactional or header.producer_id <= NO_PRODUCER_ID:
            return
        if not header.is_control:
            self._open_since.setdefault(header.producer_id, header.base_offset)
            return
        first = self._open_since.pop(header.producer_id, None)
        if not _aborts(batch):
            return
        entry = aborted.pop(header.last_offset, None)
        index = self._path(base, FileKind.TRANSACTION_INDEX)
        if entry is None and first is not None:
            yield Finding(index, f"lacks the transaction that ends at offset {header.last_offset}")
        if entry is not None and (
            entry.producer_id != header.producer_id
            or (first is not None and entry.first_offset != first)
        ):
            told = f"producer {entry.producer_id} from offset {entry.first_offset} on"
            yield Finding(
                index,
                f"has {told} at offset {entry.last_offset}; the log has producer "
                f"{header.producer_id} from {'an unknown one' if first is None else first} on",
            )

    def _aborted(self, base: Offset) -> Generator[Finding, None, dict[Offset, AbortedTransaction]]:
        path = self._path(base, FileKind.TRANSACTION_INDEX)
        try:
            entries = parse_transaction_index(read_file(self._files, path) or b"")
        except CorruptRecordError as error:
            yield Finding(path, f"is {error}")
            return {}
        return {entry.last_offset: entry for entry in entries}

    def _indexes(
        self, log: File, base: Offset, *, is_last: bool
    ) -> Generator[Finding, None, list[TimeIndexEntry] | None]:
        """The generator's value: the entries of the time index; None: it cannot be read."""
        offset_path = self._path(base, FileKind.OFFSET_INDEX)
        time_path = self._path(base, FileKind.TIME_INDEX)
        offset_data = read_file(self._files, offset_path)
        time_data = read_file(self._files, time_path)
        if log.size and not is_last:
            for path, data in ((offset_path, offset_data), (time_path, time_data)):
                if data is None:
                    yield Finding(path, "is missing")
        offsets = read_offset_entries(offset_data or b"", base)
        try:
            if not OffsetIndex.from_bytes(offset_data or b"").ascends():
                yield Finding(offset_path, "has entries that do not ascend")
            for entry, found in check_offset_entries(log, offsets):
                told = f"has offset {entry.offset} at byte {entry.position} of the log"
                yield Finding(offset_path, f"{told}, {_where_it_ends(found)}")
        except CorruptRecordError as error:
            yield Finding(offset_path, f"is {error}")
            offsets = []
        try:
            if not TimeIndex.from_bytes(time_data or b"").ascends():
                yield Finding(time_path, "has entries that do not ascend")
        except CorruptRecordError as error:
            yield Finding(time_path, f"is {error}")
            return None
        times = read_time_entries(time_data or b"", base)
        for complaint in check_time_entries(log, offsets, times):
            time = complaint.entry
            told = f"has timestamp {time.timestamp} at offset {time.offset}"
            match complaint:
                case TimestampMismatch(_, found_time):
                    yield Finding(time_path, f"{told}, where the log has {found_time}")
                case OffsetNotFound(_, found_end):
                    yield Finding(time_path, f"{told}, {_where_it_ends(found_end)}")
                case TimestampOutOfOrder():
                    pass  # Told above.
        return times

    def left_over(self) -> Iterator[Finding]:
        """After the last segment: snapshots of what is not there."""
        for offset in self._snapshots:
            if offset > self.end_offset:
                file = self._path(offset, FileKind.PRODUCER_SNAPSHOT)
                yield Finding(file, f"is of offset {offset}, and the log ends at {self.end_offset}")

    def metadata_snapshot(self, name: str) -> Iterator[Finding]:
        """A `.checkpoint` of the metadata log."""
        path = f"{self._folder}/{name}"
        file = self._files.open_read(path)
        position, is_whole = 0, False
        try:
            for batch in scan_batches(file, 0, file.size):
                position = batch.position + batch.header.size_bytes
                is_whole = batch.header.is_control and batch.position > 0
                problem = _what_is_wrong(batch, Offset(0), Offset(0))
                if problem:
                    yield Finding(path, f"{problem}, at byte {batch.position}")
            if not is_whole:
                yield Finding(path, "ends before its footer")
        except CorruptRecordError as error:
            yield Finding(path, f"{file.size - position} bytes from {position} on: {error}")
        finally:
            file.close()


def _what_is_wrong(batch: StoredBatch, base: Offset, due: Offset) -> str:
    header = batch.header
    if not crc_is_valid(batch.buffer, batch.at, header):
        return f"the batch at offset {header.base_offset} has a wrong CRC"
    if header.base_offset < due:
        return f"a batch at offset {header.base_offset}, where {due} or more is due"
    if not 0 <= header.records_count <= header.last_offset_delta + 1:
        return f"the batch at offset {header.base_offset} has {header.records_count} records"
    if header.last_offset - base > MAX_RELATIVE_OFFSET:
        return f"the batch at offset {header.base_offset} is too far from {base}"
    return ""


def _where_it_ends(found: Offset) -> str:
    return "where no batch is" if found == NO_OFFSET else f"where the batch ends at {found}"


def _aborts(batch: StoredBatch) -> bool:
    """Whether the control batch ends a transaction so that its records do not count."""
    try:
        for record in read_records(batch.buffer, batch.at, batch.header, _CONTROL_BATCH_BYTES):
            marker = read_end_transaction_marker(record)
            if marker is not None:
                return not marker.is_commit
    except CorruptRecordError:
        pass  # Its CRC is told of.
    return False
