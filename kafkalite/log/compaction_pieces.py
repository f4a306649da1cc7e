"""The steps of a compaction: pieces of closed segments, which a worker reads and works on.

A piece is whole batches, at most so many bytes; a batch that is longer is a piece of its own. It is
on lease meanwhile, so that the loop may open and close files as it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from kafkalite.errors import CorruptRecordError
from kafkalite.log.compaction_filter import BatchFilter, CleanedBatch
from kafkalite.log.compaction_records import OffsetMap, record_bytes
from kafkalite.log.compaction_transactions import CleanedTransactions
from kafkalite.log.files import Part, release_parts
from kafkalite.log.scan import StoredBatch
from kafkalite.log.segment import Segment
from kafkalite.protocol.records.batch import (
    HEADER_SIZE,
    crc_is_valid,
    iter_headers,
    read_header,
)
from kafkalite.protocol.records.compression import DecompressedTooLargeError
from kafkalite.types import Offset


class Step(Protocol):
    """Work for a worker."""

    size_bytes: int
    """What it has read and written, once it has run."""

    def run(self) -> None:
        """Do it. Touches nothing that the event loop changes."""
        ...


class Sync:
    """Waits for the disk."""

    def __init__(self, function: Callable[[], None]) -> None:
        self.size_bytes = 0
        self.run = function


class Piece:
    """A range of one segment, on lease."""

    def __init__(self, segment: Segment, position: int, size: int) -> None:
        self._part: Part = segment.slice(position, size)
        self._position = position
        self.size_bytes = 0
        self.taken_bytes = 0
        """Of whole batches: where the next piece begins. 0: the first batch is longer than this."""
        self.first_batch_bytes = 0

    def run(self) -> None:
        """Take the batches."""
        part = self._part
        buffer = (
            bytes(part)  # Batches that stay are written after the lease has ended.
            if isinstance(part, (bytes, bytearray, memoryview))
            else part.read(0, len(part))
        )
        for at, header in iter_headers(buffer):
            if not self.take(StoredBatch(self._position + at, header, buffer, at)):
                break
            self.taken_bytes = at + header.size_bytes
        else:
            if not self.taken_bytes:
                if len(buffer) < HEADER_SIZE:
                    raise CorruptRecordError("the file ends within a batch")
                self.first_batch_bytes = read_header(buffer).size_bytes
        self.size_bytes += len(buffer)

    def take(self, batch: StoredBatch) -> bool:
        """Work on one batch; False: no more."""
        raise NotImplementedError

    def release(self) -> None:
        """Give the lease back."""
        release_parts((self._part,))


class PieceToIndex(Piece):
    """Keys for the map."""

    def __init__(
        self,
        segment: Segment,
        position: int,
        size: int,
        *,
        offsets: OffsetMap,
        transactions: CleanedTransactions,
        start: Offset,
    ) -> None:
        super().__init__(segment, position, size)
        self._offsets = offsets
        self._transactions = transactions
        self._start = start
        self.is_full = False

    def take(self, batch: StoredBatch) -> bool:
        """See `Piece`."""
        header = batch.header
        if not crc_is_valid(batch.buffer, batch.at, header):
            # Before anything is dropped: a damaged key could pass for another.
            raise CorruptRecordError(f"the batch at offset {header.base_offset} has a wrong CRC")
        if header.is_control:
            self._transactions.take_control(batch)
        elif not self._transactions.take_data(batch) and not self._put_keys(batch):
            self.is_full = True
            return False
        if header.last_offset >= self._start:
            self._offsets.latest_offset = header.last_offset
        return True

    def _put_keys(self, batch: StoredBatch) -> bool:
        try:
            data = record_bytes(batch)
        except DecompressedTooLargeError:
            return True  # It stays, and supersedes nothing.
        header = batch.header
        return self._offsets.put_keys(data, header.records_count, header.base_offset, self._start)


class PieceToFilter(Piece):
    """Batches for the cleaned segment."""

    def __init__(self, segment: Segment, position: int, size: int, decide: BatchFilter) -> None:
        super().__init__(segment, position, size)
        self._filter = decide
        self.kept: list[CleanedBatch] = []

    def take(self, batch: StoredBatch) -> bool:
        """See `Piece`."""
        cleaned = self._filter.filter(batch)
        if cleaned is not None:
            self.kept.append(cleaned)
            self.size_bytes += cleaned.header.size_bytes
        return True


def taken(piece: Piece) -> Iterator[Step]:
    """The piece as a step, with its lease given back whatever becomes of it."""
    try:
        yield piece
    finally:
        piece.release()
