"""The timestamps and offsets of a batch's records, for lookups by time: nothing else is read, and
what is compressed is decompressed piece by piece, only as far as the reader goes.

Batches come from strangers, and a small one can hold gigabytes of nothing. A `LookupBudget` bounds
what one lookup may cost. Kafka differs: it reads on as long as it takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import NamedTuple

from kafkalite.errors import CorruptRecordError
from kafkalite.protocol.records.batch import HEADER_SIZE, BatchHeader, TimestampType
from kafkalite.protocol.records.compression import Buffer, Compression, decompress_pieces
from kafkalite.protocol.records.record import wrap_long
from kafkalite.protocol.records.varints import VARLONG_BYTES, read_varint
from kafkalite.types import Offset, TimestampMs

LOOKUP_BYTES = 64 << 20
LOOKUP_RECORDS = 1 << 20
_HEAD_BYTES = 21
"""The most that a record's length, attributes, timestamp and offset take."""


class RecordTime(NamedTuple):
    """Of one record."""

    timestamp: TimestampMs
    offset: Offset


class LookupBudget:
    """What one lookup may still decompress and look at, over all its batches."""

    __slots__ = ("bytes_left", "records_left")

    def __init__(
        self, limit_bytes: int = LOOKUP_BYTES, limit_records: int = LOOKUP_RECORDS
    ) -> None:
        """`limit_bytes` above LOOKUP_BYTES counts as that."""
        self.bytes_left = min(limit_bytes, LOOKUP_BYTES)
        self.records_left = limit_records


def read_times(
    buffer: Buffer, position: int, header: BatchHeader, budget: LookupBudget
) -> Iterator[RecordTime]:
    """Of each record of the batch whose header stands at `position`.

    `CorruptRecordError`, which may come after some, where `read_records` gives one for lengths and
    counts that cannot be, and when the budget is spent.
    """
    payload = memoryview(buffer)[position + HEADER_SIZE : position + header.size_bytes]
    stream = _Stream(header.compression, payload, budget)
    append_time = (
        header.max_timestamp if header.timestamp_type is TimestampType.LOG_APPEND_TIME else None
    )
    for _ in repeat(None, header.records_count):
        budget.records_left -= 1
        if budget.records_left < 0:
            raise CorruptRecordError("a lookup by time has looked at too many records")
        head = stream.head()
        try:
            length, body = read_varint(head, 0)
            timestamp, at = read_varint(head, body + 1, VARLONG_BYTES)
            offset, at = read_varint(head, at)
        except IndexError as error:
            raise CorruptRecordError("the batch ends within a record") from error
        if length < at - body:
            raise CorruptRecordError(f"a record of {length} bytes")
        timestamp = timestamp + header.base_timestamp if append_time is None else append_time
        yield RecordTime(
            TimestampMs(wrap_long(timestamp)), Offset(wrap_long(offset + header.base_offset))
        )
        stream.skip(body + length)


class _Stream:
    """Decompressed bytes, of which a few are kept."""

    __slots__ = ("_at", "_pieces", "_window")

    def __init__(self, codec: Compression, payload: memoryview, budget: LookupBudget) -> None:
        if codec is Compression.NONE:
            self._pieces: Iterator[Buffer] = iter((payload,))
        else:
            self._pieces = _charged(codec, payload, budget)
        self._window = memoryview(b"")
        self._at = 0

    def head(self) -> memoryview:
        """The next `_HEAD_BYTES`; fewer where the batch ends."""
        head = self._window[self._at : self._at + _HEAD_BYTES]
        while len(head) < _HEAD_BYTES:
            piece = next(self._pieces, None)
            if piece is None:
                break
            self._window = memoryview(b"".join((head, piece)))
            self._at = 0
            head = self._window[:_HEAD_BYTES]
        return head

    def skip(self, size: int) -> None:
        self._at += size
        while self._at > len(self._window):
            self._at -= len(self._window)
            piece = next(self._pieces, None)
            if piece is None:
                raise CorruptRecordError("the batch ends within a record")
            self._window = memoryview(piece)


def _charged(codec: Compression, payload: memoryview, budget: LookupBudget) -> Iterator[Buffer]:
    for piece in decompress_pieces(codec, payload, budget.bytes_left):
        budget.bytes_left -= len(piece)
        yield piece
