"""Records without their keys, values and headers: what a broker has to know of them to take them.

Bytes that make no sense are refused as `read_records` refuses them, but a record is not held whole
if it is large: a batch of any size costs as much memory as a piece of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import NamedTuple

from kafkalite.errors import CorruptRecordError
from kafkalite.protocol.records.batch import HEADER_SIZE, BatchHeader, TimestampType
from kafkalite.protocol.records.compression import Buffer, Compression, DecompressedTooLargeError
from kafkalite.protocol.records.record import wrap_long
from kafkalite.protocol.records.stream import HEAD_BYTES, ReadBudget, RecordStream
from kafkalite.protocol.records.varints import VARINT_BYTES, VARLONG_BYTES, read_varint
from kafkalite.types import Offset, TimestampMs

_HELD_BYTES = 1 << 20
"""A larger record is read field by field, which takes longer for each."""
_NO_LIMIT = 2**31 - 1
_MIN_LONG, _MAX_LONG = -(2**63), 2**63 - 1


class RecordOutline(NamedTuple):
    """Of one record."""

    timestamp: TimestampMs
    offset: Offset
    key_size: int | None
    """None without a key; so for the value."""
    value_size: int | None


def read_outlines(
    buffer: Buffer,
    position: int,
    header: BatchHeader,
    budget: ReadBudget,
    *,
    max_record_bytes: int,
) -> Iterator[RecordOutline]:
    """Of each record of the batch whose header stands at `position`.

    `CorruptRecordError`, which may come after some, as of `read_records`, and when the budget is
    spent; `DecompressedTooLargeError`, which is one, for a compressed record of more than
    `max_record_bytes`. The CRC is not looked at.
    """
    if len(buffer) - position < header.size_bytes:
        raise CorruptRecordError("the batch is not whole")
    if header.records_count < 0:
        raise CorruptRecordError(f"a batch of {header.records_count} records")
    if header.records_count == 0:
        return
    payload = memoryview(buffer)[position + HEADER_SIZE : position + header.size_bytes]
    stream = RecordStream(header.compression, payload, budget)
    is_compressed = header.compression is not Compression.NONE
    append_time = (
        header.max_timestamp if header.timestamp_type is TimestampType.LOG_APPEND_TIME else None
    )
    base_timestamp, base_offset = header.base_timestamp, header.base_offset
    for _ in repeat(None, header.records_count):
        budget.take_record()
        try:
            raw = _next(stream, max_record_bytes if is_compressed else _NO_LIMIT)
        except IndexError as error:
            raise CorruptRecordError("the batch ends within a record") from error
        timestamp, offset, key_size, value_size = raw
        timestamp = timestamp + base_timestamp if append_time is None else append_time
        offset += base_offset
        if not (_MIN_LONG <= timestamp <= _MAX_LONG and _MIN_LONG <= offset <= _MAX_LONG):
            timestamp, offset = wrap_long(timestamp), wrap_long(offset)
        yield RecordOutline(TimestampMs(timestamp), Offset(offset), key_size, value_size)
    left = stream.rest()
    if left:
        raise CorruptRecordError(f"{left} bytes are left after the last record")


_Raw = tuple[int, int, int | None, int | None]
"""As an outline, with times and offsets from the batch's."""


def _next(stream: RecordStream, max_record_bytes: int) -> _Raw:
    if len(stream.window) - stream.at < HEAD_BYTES:
        stream.fill(HEAD_BYTES)
    length, at = read_varint(stream.window, stream.at)
    if length < 0:
        raise CorruptRecordError(f"a record of {length} bytes")
    if length > max_record_bytes:
        raise DecompressedTooLargeError(max_record_bytes)
    if length > _HELD_BYTES:
        stream.at = at
        return _LargeRecord(stream, length).outline()
    if len(stream.window) - at < length:
        size = at - stream.at
        stream.fill(size + length)
        at = stream.at + size
        if len(stream.window) - at < length:
            raise CorruptRecordError("the batch ends within a record")
    stream.at = at + length
    return _outline(stream.window, at, at + length)


def _outline(data: memoryview, at: int, end: int) -> _Raw:
    """Of the record whose attributes stand at `at`."""
    timestamp, at = read_varint(data, at + 1, VARLONG_BYTES)
    offset, at = read_varint(data, at)
    key_size, at = _sized(data, at, end)
    value_size, at = _sized(data, at, end)
    if at < end and not data[at]:
        at += 1
    else:
        at = _skip_headers(data, at, end)
    if at != end:
        raise CorruptRecordError(f"{end - at} bytes of a record are left after its fields")
    return timestamp, offset, key_size, value_size


def _skip_headers(data: memoryview, at: int, end: int) -> int:
    count, at = read_varint(data, at)
    _check_header_count(count, end - at)
    for _ in repeat(None, count):
        size, at = _sized(data, at, end)
        if size is None:
            raise CorruptRecordError("a record header without a key")
        _, at = _sized(data, at, end)
    return at


def _sized(data: memoryview, at: int, end: int) -> tuple[int | None, int]:
    """A length and so many bytes: how many, None for a negative length; and where they end."""
    size, at = read_varint(data, at)
    if size < 0:
        return None, at
    if size > end - at:
        raise CorruptRecordError(f"a field of {size} bytes where {end - at} are left")
    return size, at + size


def _check_header_count(count: int, left: int) -> None:
    if not 0 <= count <= left:
        raise CorruptRecordError(f"{count} record headers in {left} bytes")


class _LargeRecord:
    """A record that is read as it comes. `IndexError` where its batch ends within a number."""

    __slots__ = ("_left", "_stream")

    def __init__(self, stream: RecordStream, length: int) -> None:
        """The stream stands at its attributes."""
        self._stream = stream
        self._left = length

    def outline(self) -> _Raw:
        """As `_outline`."""
        self._skip(1)
        timestamp = self._number(VARLONG_BYTES)
        offset = self._number()
        key_size = self._sized()
        value_size = self._sized()
        count = self._number()
        _check_header_count(count, self._left)
        for _ in repeat(None, count):
            if self._sized() is None:
                raise CorruptRecordError("a record header without a key")
            self._sized()
        if self._left:
            raise CorruptRecordError(f"{self._left} bytes of a record are left after its fields")
        return timestamp, offset, key_size, value_size

    def _number(self, max_bytes: int = VARINT_BYTES) -> int:
        value, size = read_varint(self._stream.head(), 0, max_bytes)
        self._skip(size)
        return value

    def _sized(self) -> int | None:
        size = self._number()
        if size < 0:
            return None
        self._skip(size)
        return size

    def _skip(self, size: int) -> None:
        if size > self._left:
            raise CorruptRecordError(f"a field of {size} bytes where {self._left} are left")
        self._left -= size
        self._stream.skip(size)
