"""Records as a cleaner sees them: where each begins and ends, its key, and whether it has a value.

A cleaner looks at every record of a log, so nothing is made of one here but its key, and those
that stay are copied as they stand. The layout is that of `protocol/records/record.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from itertools import repeat
from typing import NamedTuple

from kafkalite.errors import CorruptRecordError
from kafkalite.log.scan import StoredBatch
from kafkalite.protocol.records.batch import HEADER_SIZE
from kafkalite.protocol.records.compression import decompress
from kafkalite.protocol.records.record import wrap_long
from kafkalite.protocol.records.varints import VARLONG_BYTES, encode_varint, read_varint
from kafkalite.types import NO_TIMESTAMP, Offset, TimestampMs

BATCH_LIMIT_BYTES = 256 << 20
"""What one batch may decompress to."""
ENTRY_BYTES = 208
"""What a key costs `OffsetMap` at most: 56 for up to 16 bytes as an object, 32 for its offset, and
the dict's share while it is a sixth full, as it may be after it has grown."""
_DIGEST_BYTES = 16

_Raw = tuple[int, int, int, int, bytes | None, bool]
"""Start, end, position of its timestamp, offset from the batch's, key, whether it has a value."""


def record_bytes(batch: StoredBatch) -> bytes:
    """The records of a whole batch, decompressed: `DecompressedTooLargeError` above
    `BATCH_LIMIT_BYTES`."""
    header = batch.header
    payload = memoryview(batch.buffer)[batch.at + HEADER_SIZE : batch.at + header.size_bytes]
    return bytes(decompress(header.compression, payload, BATCH_LIMIT_BYTES))


def _raw_records(data: bytes, count: int) -> Iterator[_Raw]:
    """Varints of one byte are read in place: most are, and a call costs more than they do."""
    at, size = 0, len(data)
    try:
        for _ in repeat(None, count):
            start = at
            byte = data[at]
            if byte < 0x80:
                length, at = (byte >> 1) ^ -(byte & 1), at + 1
            else:
                length, at = read_varint(data, at)
            end = at + length
            if length < 0 or end > size:
                raise CorruptRecordError(f"a record of {length} bytes where {size - at} are left")
            at += 1
            timestamp_at = at
            while data[at] > 0x7F:
                at += 1
            byte = data[at + 1]
            if byte < 0x80:
                offset, at = (byte >> 1) ^ -(byte & 1), at + 2
            else:
                offset, at = read_varint(data, at + 1)
            byte = data[at]
            if byte < 0x80:
                length, at = (byte >> 1) ^ -(byte & 1), at + 1
            else:
                length, at = read_varint(data, at)
            if length < 0:
                key = None
            else:
                key = data[at : at + length]
                at += length
            if at >= end:
                raise CorruptRecordError("a record that ends within its key")
            # The sign of a varint is its lowest bit, and only a length below 0 means no value.
            yield start, end, timestamp_at, offset, key, not data[at] & 1
            at = end
    except IndexError as error:
        raise CorruptRecordError("the batch ends within a record") from error
    if at != size:
        raise CorruptRecordError(f"{size - at} bytes are left after the last record")


class OffsetMap:
    """The last offset of each key, up to `latest_offset`; of long keys a digest stands for them.

    Kafka differs: its map (`SkimpyOffsetMap`) takes 24 bytes a key, this one up to 208. So the
    memory of `log.cleaner.dedupe.buffer.size` holds fewer keys, and a log that has more of them is
    cleaned in more rounds.
    """

    __slots__ = ("_offsets", "capacity", "latest_offset")

    def __init__(self, capacity: int) -> None:
        """`capacity`: of keys."""
        self.capacity = capacity
        self._offsets: dict[bytes, int] = {}
        self.latest_offset = -1
        """Up to here (inclusive) the map knows every key."""

    @classmethod
    def within(cls, memory_bytes: int, load_factor: float) -> OffsetMap:
        """As many keys as `memory_bytes` hold, filled to `load_factor`; one at least."""
        return cls(max(int(memory_bytes // ENTRY_BYTES * load_factor), 1))

    def __len__(self) -> int:
        return len(self._offsets)

    def get(self, key: bytes) -> int:
        """The last offset of `key`; -1 when it has none."""
        return self._offsets.get(key if len(key) < _DIGEST_BYTES else _digest(key), -1)

    def put_keys(self, data: bytes, count: int, base_offset: Offset, start: Offset) -> bool:
        """Take in the keys at or above the offset `start` of `count` records; False when the map is
        full, with `latest_offset` before the first that did not fit."""
        offsets, capacity, latest = self._offsets, self.capacity, self.latest_offset
        for _, _, _, delta, key, _ in _raw_records(data, count):
            offset = base_offset + delta
            if key is None or offset < start:
                continue
            if len(offsets) >= capacity:
                self.latest_offset = latest
                return False
            offsets[key if len(key) < _DIGEST_BYTES else _digest(key)] = latest = offset
        self.latest_offset = latest
        return True


def _digest(key: bytes) -> bytes:
    """Longer than every key that stands for itself, so that no key can pass for another's."""
    return blake2b(key, digest_size=_DIGEST_BYTES).digest()


class Kept(NamedTuple):
    """What is left of a batch's records."""

    spans: list[tuple[int, int, int]]
    """Of each: start, end, position of its timestamp."""
    has_tombstones: bool
    keyless: int = 0
    """How many went because they have no key."""


def keep_latest(
    data: bytes, count: int, base_offset: Offset, offsets: OffsetMap, *, keeps_tombstones: bool
) -> Kept:
    """The records that are the last of their keys, and those that the map does not reach; with
    neither those without a key, nor, but for `keeps_tombstones`, those without a value."""
    spans: list[tuple[int, int, int]] = []
    latest, find, has_tombstones, keyless = offsets.latest_offset, offsets.get, False, 0
    for start, end, timestamp_at, delta, key, has_value in _raw_records(data, count):
        offset = base_offset + delta
        if offset <= latest:
            if key is None:
                keyless += 1
                continue
            if offset < find(key) or not (has_value or keeps_tombstones):
                continue
        spans.append((start, end, timestamp_at))
        if not has_value:
            has_tombstones = True
    return Kept(spans, has_tombstones, keyless)


def keep_all(data: bytes, count: int) -> Kept:
    """All records."""
    spans, has_tombstones = [], False
    for start, end, timestamp_at, _, _, has_value in _raw_records(data, count):
        spans.append((start, end, timestamp_at))
        has_tombstones = has_tombstones or not has_value
    return Kept(spans, has_tombstones)


class Written(NamedTuple):
    """Records for a batch of their own."""

    data: bytes
    base_timestamp: TimestampMs
    max_timestamp: TimestampMs


def write_records(
    data: bytes,
    spans: list[tuple[int, int, int]],
    base_timestamp: TimestampMs,
    *,
    append_time: TimestampMs | None,
    new_base: TimestampMs | None,
) -> Written:
    """The records of `data` that `spans` name, with timestamps relative to `new_base`; None: to the
    first one's. `append_time`: theirs, whatever they say, in a batch of `LogAppendTime`."""
    times = [
        base_timestamp + read_varint(data, at, VARLONG_BYTES)[0]
        if append_time is None
        else append_time
        for _, _, at in spans
    ]
    base = times[0] if new_base is None else new_base
    latest = TimestampMs(wrap_long(max(*times, NO_TIMESTAMP)))
    if append_time is None and base == base_timestamp:
        pieces = [data[start:end] for start, end, _ in spans]
    else:
        pieces = [
            _with_time(data, at, end, wrap_long(time - base))
            for (_, end, at), time in zip(spans, times, strict=True)
        ]
    return Written(b"".join(pieces), TimestampMs(wrap_long(base)), latest)


def _with_time(data: bytes, timestamp_at: int, end: int, delta: int) -> bytes:
    """The record with another timestamp. Its attributes, before it, are none."""
    at = timestamp_at
    while data[at] > 0x7F:
        at += 1
    body = b"\x00" + encode_varint(delta) + data[at + 1 : end]
    return encode_varint(len(body)) + body
