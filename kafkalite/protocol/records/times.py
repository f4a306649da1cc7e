"""The timestamps and offsets of a batch's records, for lookups by time: nothing else is read.

Kafka differs: it decompresses and reads all that a lookup by time may need. Here one lookup reads
at most 64 MiB, or 1,048,576 records.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import NamedTuple

from kafkalite.errors import CorruptRecordError
from kafkalite.protocol.records.batch import HEADER_SIZE, BatchHeader, TimestampType
from kafkalite.protocol.records.compression import Buffer
from kafkalite.protocol.records.record import wrap_long
from kafkalite.protocol.records.stream import ReadBudget, RecordStream
from kafkalite.protocol.records.varints import VARLONG_BYTES, read_varint
from kafkalite.types import Offset, TimestampMs

LOOKUP_BYTES = 64 << 20
LOOKUP_RECORDS = 1 << 20


class RecordTime(NamedTuple):
    """Of one record."""

    timestamp: TimestampMs
    offset: Offset


class LookupBudget(ReadBudget):
    """What one lookup may cost, over all its batches."""

    __slots__ = ()

    def __init__(
        self, limit_bytes: int = LOOKUP_BYTES, limit_records: int = LOOKUP_RECORDS
    ) -> None:
        super().__init__(limit_bytes, limit_records)


def read_times(
    buffer: Buffer, position: int, header: BatchHeader, budget: LookupBudget
) -> Iterator[RecordTime]:
    """Of each record of the batch whose header stands at `position`.

    `CorruptRecordError`, which may come after some, where `read_records` gives one for lengths and
    counts that cannot be, and when the budget is spent.
    """
    payload = memoryview(buffer)[position + HEADER_SIZE : position + header.size_bytes]
    stream = RecordStream(header.compression, payload, budget)
    append_time = (
        header.max_timestamp if header.timestamp_type is TimestampType.LOG_APPEND_TIME else None
    )
    for _ in repeat(None, header.records_count):
        budget.take_record()
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
