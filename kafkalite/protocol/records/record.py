"""Records inside a batch: read one after the other, and built into a new batch.

After the batch's header stand its records, compressed as one where the attributes say so:

    varint   length of what follows
    int8     attributes (none are assigned)
    varlong  timestamp, from the batch's base timestamp
    varint   offset, from the batch's base offset
    varint   key length (negative: no key), key
    varint   value length (negative: no value), value
    varint   count of headers; each: varint length, key, varint length (negative: no value), value

Varints are zigzag. Reading takes what Kafka's `DefaultRecord` takes and refuses what it refuses;
bytes that make no sense give `CorruptRecordError` and nothing else. The produce and fetch paths do
not come here: they pass batches on as they are.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from itertools import repeat
from typing import NamedTuple

from kafkalite.errors import CorruptRecordError
from kafkalite.protocol.records.batch import (
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    NO_SEQUENCE,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    BatchHeader,
    TimestampType,
    write_header,
)
from kafkalite.protocol.records.compression import (
    DEFAULT_LIMIT_BYTES,
    Buffer,
    Compression,
    compress,
    decompress,
)
from kafkalite.protocol.records.varints import VARLONG_BYTES, encode_varint, read_varint
from kafkalite.types import (
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    LeaderEpoch,
    Offset,
    ProducerEpoch,
    ProducerId,
    TimestampMs,
)

NEXT_OFFSET = Offset(-1)
"""Of a record to be built: one past the record before it."""

_new = tuple.__new__  # As `batch` has it: for each record, `_make` costs three times that.
_FIRST_OFFSET = Offset(0)
_MAX_INT = 2**31 - 1
_MIN_LONG, _MAX_LONG = -(2**63), 2**63 - 1


class Header(NamedTuple):
    """A record header. A key that is no UTF-8 comes through whole (`surrogateescape`)."""

    key: str
    value: Buffer | None


class Record(NamedTuple):
    """One record. As read: the key is `bytes` (it is looked up and kept), the value a `memoryview`
    into the batch or its decompressed copy (it may be large), header values are `bytes`. A value
    that is kept longer than the batch's buffer is to be copied."""

    key: Buffer | None
    value: Buffer | None
    headers: tuple[Header, ...] = ()
    timestamp: TimestampMs = NO_TIMESTAMP
    offset: Offset = NEXT_OFFSET


def read_records(
    buffer: Buffer, position: int, header: BatchHeader, limit_bytes: int = DEFAULT_LIMIT_BYTES
) -> Iterator[Record]:
    """The records of the batch whose header stands at `position`, decompressed up to `limit_bytes`.

    `CorruptRecordError`, which may come after some records, for a batch that is not whole, records
    that contradict their lengths or count, and what `decompress` refuses. The CRC is not looked at.
    """
    if len(buffer) - position < header.size_bytes:
        raise CorruptRecordError("the batch is not whole")
    if header.records_count < 0:
        raise CorruptRecordError(f"a batch of {header.records_count} records")
    if header.records_count == 0:
        return
    payload = memoryview(buffer)[position + HEADER_SIZE : position + header.size_bytes]
    data = memoryview(decompress(header.compression, payload, limit_bytes))
    try:
        end = yield from _read_all(data, header)
    except IndexError as error:
        raise CorruptRecordError("the batch ends within a record") from error
    if end != len(data):
        raise CorruptRecordError(f"{len(data) - end} bytes are left after the last record")


def _read_all(data: memoryview, header: BatchHeader) -> Generator[Record, None, int]:
    """The records, and then where the last one ends. `IndexError` where the data does.

    Varints of one byte are read in place: most are, and a call costs more than they do.
    """
    stated_time = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    at, size = 0, len(data)
    for _ in repeat(None, header.records_count):
        length, at = read_varint(data, at)
        end = at + length
        if length < 0 or end > size:
            raise CorruptRecordError(f"a record of {length} bytes where {size - at} are left")
        byte = data[at + 1]
        if byte < 0x80:
            timestamp, at = (byte >> 1) ^ -(byte & 1), at + 2
        else:
            timestamp, at = read_varint(data, at + 1, VARLONG_BYTES)
        byte = data[at]
        if byte < 0x80:
            offset, at = (byte >> 1) ^ -(byte & 1), at + 1
        else:
            offset, at = read_varint(data, at)
        key, at = _read_bytes(data, at, end)
        value, at = _read_bytes(data, at, end)
        headers: tuple[Header, ...] = ()
        if data[at]:
            headers, at = _read_headers(data, at, end)
        else:
            at += 1
        if at != end:
            raise CorruptRecordError(
                f"a record of {length} bytes whose fields take {length + at - end}"
            )
        offset += base_offset
        timestamp = header.max_timestamp if stated_time else timestamp + base_timestamp
        if not (_MIN_LONG <= timestamp <= _MAX_LONG and _MIN_LONG <= offset <= _MAX_LONG):
            timestamp, offset = wrap_long(timestamp), wrap_long(offset)
        kept_key = None if key is None else key.tobytes()
        yield _new(Record, (kept_key, value, headers, timestamp, offset))
    return at


def _read_headers(data: memoryview, at: int, end: int) -> tuple[tuple[Header, ...], int]:
    count, at = read_varint(data, at)
    if not 0 <= count <= end - at:
        raise CorruptRecordError(f"{count} record headers in {end - at} bytes")
    headers = []
    for _ in repeat(None, count):
        key, at = _read_bytes(data, at, end)
        if key is None:
            raise CorruptRecordError("a record header without a key")
        value, at = _read_bytes(data, at, end)
        headers.append(
            Header(str(key, "utf-8", "surrogateescape"), None if value is None else bytes(value))
        )
    return tuple(headers), at


def _read_bytes(data: memoryview, at: int, end: int) -> tuple[memoryview | None, int]:
    """A length and so many bytes, which must not pass `end`; None for a negative length."""
    byte = data[at]
    if byte < 0x80:
        length, at = (byte >> 1) ^ -(byte & 1), at + 1
    else:
        length, at = read_varint(data, at)
    if length < 0:
        return None, at
    stop = at + length
    if stop > end:
        raise CorruptRecordError(f"a field of {length} bytes where {end - at} are left")
    return data[at:stop], stop


def wrap_long(value: int) -> int:
    """The sum as Java's 64 bits hold it."""
    return (value - _MIN_LONG) % 2**64 + _MIN_LONG


def build_batch(
    records: Iterable[Record],
    *,
    base_offset: Offset = _FIRST_OFFSET,
    leader_epoch: LeaderEpoch = NO_LEADER_EPOCH,
    compression: Compression = Compression.NONE,
    level: int | None = None,
    append_time: TimestampMs | None = None,
    producer_id: ProducerId = NO_PRODUCER_ID,
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
    is_control: bool = False,
    delete_horizon_ms: TimestampMs | None = None,
    last_offset: Offset | None = None,
    max_timestamp: TimestampMs | None = None,
) -> bytearray:
    """A whole batch with its CRC, and room for nothing else.

    `append_time` makes it one of `LogAppendTime`. `last_offset` (inclusive) and `max_timestamp` are
    for batches whose last records compaction took away, down to none; None: as the records have it,
    or the base offset and -1.
    `ValueError` for offsets that do not ascend from `base_offset` or lie 2^31 apart.
    """
    batch = bytearray(HEADER_SIZE)
    written = _write_records(batch, records, base_offset, delete_horizon_ms)
    if compression is not Compression.NONE and written.records_count:
        with memoryview(batch) as view:
            compressed = compress(compression, view[HEADER_SIZE:], level)
        batch[HEADER_SIZE:] = compressed
    if max_timestamp is None:
        max_timestamp = written.max_timestamp if append_time is None else append_time
    if last_offset is None:
        last_offset = Offset(max(written.last_offset, base_offset))
    attributes = (
        compression
        | (0 if append_time is None else TIMESTAMP_TYPE_BIT)
        | (TRANSACTIONAL_BIT if is_transactional else 0)
        | (CONTROL_BIT if is_control else 0)
        | (0 if delete_horizon_ms is None else DELETE_HORIZON_BIT)
    )
    write_header(
        batch,
        BatchHeader(
            base_offset,
            len(batch) - LOG_OVERHEAD,
            leader_epoch,
            MAGIC,
            0,
            attributes,
            last_offset - base_offset,
            max_timestamp if written.base_timestamp is None else written.base_timestamp,
            max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            written.records_count,
        ),
    )
    return batch


class _Written(NamedTuple):
    """What the header is to say of the records in a batch."""

    records_count: int
    last_offset: int
    """One before the base offset when there are none."""
    base_timestamp: TimestampMs | None
    max_timestamp: TimestampMs


def _write_records(
    batch: bytearray,
    records: Iterable[Record],
    base_offset: Offset,
    base_timestamp: TimestampMs | None,
) -> _Written:
    """Append the records to `batch`; without a base timestamp the first one's is it."""
    latest = NO_TIMESTAMP
    previous, count = base_offset - 1, 0
    for record in records:
        offset = previous + 1 if record.offset == NEXT_OFFSET else record.offset
        if not previous < offset <= base_offset + _MAX_INT:
            raise ValueError(
                f"offset {offset} cannot follow {previous} in a batch of {base_offset}"
            )
        if base_timestamp is None:
            base_timestamp = record.timestamp
        body = _encode_record(record, record.timestamp - base_timestamp, offset - base_offset)
        batch += encode_varint(len(body))
        batch += body
        latest = max(latest, record.timestamp)
        previous, count = offset, count + 1
    return _Written(count, previous, base_timestamp, latest)


def _encode_record(record: Record, timestamp_delta: int, offset_delta: int) -> bytes:
    parts: list[Buffer] = [
        b"\x00",
        encode_varint(wrap_long(timestamp_delta)),
        encode_varint(offset_delta),
    ]
    _append_bytes(parts, record.key)
    _append_bytes(parts, record.value)
    parts.append(encode_varint(len(record.headers)))
    for key, value in record.headers:
        _append_bytes(parts, key.encode("utf-8", "surrogateescape"))
        _append_bytes(parts, value)
    return b"".join(parts)


def _append_bytes(parts: list[Buffer], data: Buffer | None) -> None:
    if data is None:
        parts.append(b"\x01")
    else:
        parts.append(encode_varint(len(data)))
        parts.append(data)
