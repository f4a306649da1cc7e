"""Reading batches back from a segment's `.log`, one after the other.

For recovery, for producer states and for lookups by time; a fetch only finds its place with it.
Batches are read whole, in pieces of about a megabyte that hold many.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from kafkalite.errors import CorruptRecordError
from kafkalite.log.files import Buffer, File
from kafkalite.protocol.records.batch import HEADER_SIZE, LOG_OVERHEAD, BatchHeader, read_header

_PIECE_BYTES = 1 << 20
_FIND_BYTES = 4096
"""One `index.interval.bytes`: what a lookup has to scan when batches are small."""
_BOUNDS = Struct(">qi11xi")
"""Base offset, batch length, last offset delta."""
_LEGACY_HEAD = Struct(">8xiIb")
"""Offset, message size, CRC-32 of all that follows it, magic."""
_LEGACY_CRC_START = 16
_LEGACY_LEAST_BYTES = 14


class StoredBatch(NamedTuple):
    """A whole batch, at `at` in `buffer`, as it stands at `position` of the file."""

    position: int
    header: BatchHeader
    buffer: Buffer
    at: int


def scan_batches(file: File, position: int, end: int) -> Iterator[StoredBatch]:
    """Each whole batch from `position` (where one starts) up to `end` (exclusive).

    `CorruptRecordError` where no header of magic 2 can be read or a batch goes on after `end`. CRCs
    are the caller's business.
    """
    while position < end:
        buffer = file.read(position, min(_PIECE_BYTES, end - position))
        at = 0
        while len(buffer) - at >= HEADER_SIZE:
            header = read_header(buffer, at)
            if len(buffer) - at < header.size_bytes:
                break
            yield StoredBatch(position + at, header, buffer, at)
            at += header.size_bytes
        if at:
            position += at
            continue
        header = read_header(buffer)
        if header.size_bytes > end - position:
            raise CorruptRecordError(
                f"a batch of {header.size_bytes} bytes where {end - position} are left"
            )
        buffer = file.read(position, header.size_bytes)
        if len(buffer) < header.size_bytes:
            raise CorruptRecordError("the file ends within a batch")
        yield StoredBatch(position, header, buffer, 0)
        position += header.size_bytes


def is_legacy(file: File, position: int, end: int) -> bool:
    """Whether a whole, sound message of magic 0 or 1 stands at `position`."""
    head = file.read(position, _LEGACY_HEAD.size)
    if len(head) < _LEGACY_HEAD.size:
        return False
    size, crc, magic = _LEGACY_HEAD.unpack(head)
    if magic not in (0, 1) or not _LEGACY_LEAST_BYTES <= size <= end - position - LOG_OVERHEAD:
        return False
    body = file.read(position + _LEGACY_CRC_START, size - _LEGACY_CRC_START + LOG_OVERHEAD)
    return bool(crc32(body) == crc)


class BatchRange(NamedTuple):
    """Where a batch stands in its file."""

    position: int
    size_bytes: int
    base_offset: int


class WrongIndexError(CorruptRecordError):
    """An index names a position where no such batch is."""


def find_batch(
    file: File, position: int, end: int, offset: int, *, first_ends_at: int | None = None
) -> BatchRange | None:
    """The first batch from `position` on whose last offset is at or above `offset`.

    None when there is none before `end`. Looks at a few bytes of each batch, and trusts them:
    they were checked when they were appended or recovered. `first_ends_at`: the last offset of the
    batch at `position`, as an index has it; `WrongIndexError` when that is not so.
    """
    unpack = _BOUNDS.unpack_from
    while position < end:
        buffer = file.read(position, min(_FIND_BYTES, end - position))
        limit = len(buffer) - _BOUNDS.size
        at = 0
        while at <= limit:
            base_offset, length, delta = unpack(buffer, at)
            if first_ends_at is not None:
                if base_offset + delta != first_ends_at:
                    raise WrongIndexError(f"no batch at {position} ends at {first_ends_at}")
                first_ends_at = None
            if length <= 0:
                raise CorruptRecordError(f"a batch length of {length} at {position + at}")
            if base_offset + delta >= offset:
                size = length + LOG_OVERHEAD
                if size > end - position - at:
                    raise CorruptRecordError(f"the batch at {position + at} is cut off")
                return BatchRange(position + at, size, base_offset)
            at += length + LOG_OVERHEAD
        if not at:
            raise CorruptRecordError(f"no batch at {position}")
        position += at
    return None
