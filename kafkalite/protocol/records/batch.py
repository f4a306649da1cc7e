"""The header of a record batch of magic 2, seen and stamped in place.

The broker appends and serves batches without decoding their records; all that it needs stands in
the first 61 bytes (KIP-98; Kafka's `DefaultRecordBatch`), big-endian:

    bytes   type    field
    0-7     int64   base offset
    8-11    int32   batch length: bytes after this field, so the whole batch is 12 more
    12-15   int32   partition leader epoch
    16      int8    magic: 2
    17-20   uint32  CRC-32C of everything from the attributes to the end
    21-22   int16   attributes: bits 0-2 codec, 3 timestamp type, 4 transactional, 5 control,
                    6 base timestamp is the delete horizon
    23-26   int32   last offset delta
    27-34   int64   base timestamp
    35-42   int64   max timestamp
    43-50   int64   producer id
    51-52   int16   producer epoch
    53-56   int32   base sequence
    57-60   int32   records count

The leader stamps base offset and leader epoch, which the CRC does not cover. Nothing here copies a
batch; records inside one are `record.py`'s business.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from kafkalite.errors import CorruptRecordError
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.crc import load_crc32c
from kafkalite.types import LeaderEpoch, Offset, ProducerEpoch, ProducerId, TimestampMs

Buffer = bytes | bytearray | memoryview
WritableBuffer = bytearray | memoryview

MAGIC = 2
HEADER_SIZE = 61
LOG_OVERHEAD = 12
"""Bytes of base offset and batch length, which the batch length does not count."""
CRC_START = 21
"""What the CRC covers begins here, and ends with the batch."""
MAGIC_POSITION = 16
"""The same in all three record formats; a batch of fewer than 17 bytes shows no magic."""
NO_SEQUENCE = -1
MAX_SEQUENCE = 2**31 - 1

TIMESTAMP_TYPE_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
DELETE_HORIZON_BIT = 0x40
ASSIGNED_BITS = 0x7F
"""Codec, timestamp type, and the others above: what of the attributes means anything."""
COMPRESSION_BITS = 0x07

_HEADER = Struct(">qiibIhiqqqhii")
_unpack_header = _HEADER.unpack_from
_LEAST_LENGTH = HEADER_SIZE - LOG_OVERHEAD
_LENGTH = Struct(">i")
_BASE_OFFSET = Struct(">q")
_LEADER_EPOCH = Struct(">i")
_CRC = Struct(">I")
_ATTRIBUTES = Struct(">h")
_MAX_TIMESTAMP = Struct(">q")

ATTRIBUTES_LOW_BYTE = 22
"""All bits of the attributes that mean anything stand in it."""

_LENGTH_POSITION = 8
_LEADER_EPOCH_POSITION = 12
_CRC_POSITION = 17
_ATTRIBUTES_POSITION = 21
_MAX_TIMESTAMP_POSITION = 35

_COMPRESSIONS = tuple(Compression)


class TimestampType(IntEnum):
    """Whose clock gave a record its timestamp; bit 3 of the attributes."""

    CREATE_TIME = 0
    """The producer's."""
    LOG_APPEND_TIME = 1
    """The broker's: every record has the batch's max timestamp."""


class BatchHeader(NamedTuple):
    """The fixed part of one batch, as read: the numbers may be anything the sender wrote."""

    base_offset: Offset
    batch_length: int
    partition_leader_epoch: LeaderEpoch
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: TimestampMs
    max_timestamp: TimestampMs
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    base_sequence: int
    records_count: int

    @property
    def last_offset(self) -> Offset:
        """Inclusive. After compaction it may name a record that is gone."""
        return Offset(self.base_offset + self.last_offset_delta)

    @property
    def next_offset(self) -> Offset:
        """The base offset of the batch after this one."""
        return Offset(self.base_offset + self.last_offset_delta + 1)

    @property
    def size_bytes(self) -> int:
        """The whole batch, this header included."""
        return LOG_OVERHEAD + self.batch_length

    @property
    def compression(self) -> Compression:
        """`CorruptRecordError` for the numbers 5 to 7, which name no codec."""
        codec = self.attributes & COMPRESSION_BITS
        if codec >= len(_COMPRESSIONS):
            raise CorruptRecordError(f"unknown compression codec {codec}")
        return _COMPRESSIONS[codec]

    @property
    def timestamp_type(self) -> TimestampType:
        """Whose clock the timestamps come from."""
        if self.attributes & TIMESTAMP_TYPE_BIT:
            return TimestampType.LOG_APPEND_TIME
        return TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        """Whether its records wait for an end-transaction marker."""
        return self.attributes & TRANSACTIONAL_BIT != 0

    @property
    def is_control(self) -> bool:
        """Whether it holds control records (`control.py`), which consumers do not show."""
        return self.attributes & CONTROL_BIT != 0

    @property
    def has_delete_horizon(self) -> bool:
        """Whether the cleaner has put a delete horizon into the base timestamp (KIP-534)."""
        return self.attributes & DELETE_HORIZON_BIT != 0

    @property
    def delete_horizon_ms(self) -> TimestampMs | None:
        """When compaction may drop the batch's tombstones; None: the cleaner has not been there."""
        return self.base_timestamp if self.has_delete_horizon else None

    @property
    def last_sequence(self) -> int:
        """The last record's sequence, inclusive; -1 without a producer id. 2^31 - 1 wraps to 0."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & MAX_SEQUENCE


_new_header = tuple.__new__
"""What `BatchHeader._make` does, without counting the fields: half of its time, for each batch."""


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header at `position`. Looks at 61 bytes only: the buffer may end before the batch does.

    `CorruptRecordError` when fewer bytes are left, when the magic is not 2, or when the batch
    length cannot hold a header.
    """
    if position < 0 or len(buffer) - position < HEADER_SIZE:
        raise CorruptRecordError(f"{len(buffer) - position} bytes are no batch header")
    header = _new_header(BatchHeader, _unpack_header(buffer, position))
    if header.magic != MAGIC:
        raise CorruptRecordError(f"Invalid magic found in record: {header.magic}")
    if header.batch_length < _LEAST_LENGTH:
        raise CorruptRecordError(f"batch length {header.batch_length} is too small for a header")
    return header


def iter_headers(buffer: Buffer) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of each whole batch, one after the other.

    An incomplete batch at the end is left out, as Kafka does: fetch answers are cut at a size, and
    a log file may end in a torn write. Whoever minds compares where the last batch ended with the
    buffer's length. `CorruptRecordError` as from `read_header` for a batch whose bytes are there.
    """
    position = 0
    end = len(buffer)
    while end - position >= LOG_OVERHEAD:
        (length,) = _LENGTH.unpack_from(buffer, position + _LENGTH_POSITION)
        if length > end - position - LOG_OVERHEAD:
            return
        header = read_header(buffer, position)
        yield position, header
        position += LOG_OVERHEAD + header.batch_length


def compute_crc(buffer: Buffer, position: int, size_bytes: int) -> int:
    """CRC-32C of the batch of `size_bytes` (whole) at `position`, without a copy."""
    view = memoryview(buffer)[position + CRC_START : position + size_bytes]
    return load_crc32c()(view)


def crc_is_valid(buffer: Buffer, position: int, header: BatchHeader) -> bool:
    """Whether the batch at `position` has the CRC that its header claims; False if not whole."""
    end = position + LOG_OVERHEAD + header.batch_length
    if end > len(buffer):
        return False
    view = buffer if isinstance(buffer, memoryview) else memoryview(buffer)
    return load_crc32c()(view[position + CRC_START : end]) == header.crc


def write_header(buffer: WritableBuffer, header: BatchHeader, position: int = 0) -> None:
    """Write the 61 bytes of `header`, but with the CRC of the (whole) batch at `position`."""
    _HEADER.pack_into(buffer, position, *header)
    crc = compute_crc(buffer, position, header.size_bytes)
    _CRC.pack_into(buffer, position + _CRC_POSITION, crc)


def stamp(
    buffer: WritableBuffer, position: int, *, base_offset: int, leader_epoch: LeaderEpoch
) -> None:
    """Write base offset and leader epoch into the batch at `position`; its CRC stays right."""
    _BASE_OFFSET.pack_into(buffer, position, base_offset)
    _LEADER_EPOCH.pack_into(buffer, position + _LEADER_EPOCH_POSITION, leader_epoch)


def stamp_append_time(buffer: WritableBuffer, position: int, now: TimestampMs) -> None:
    """Give all records of the (whole, checked) batch the time `now`: `LogAppendTime`.

    Sets timestamp type, max timestamp and a new CRC, and clears attributes that are not assigned.
    The records keep their deltas, which readers of such a batch ignore.
    """
    (attributes,) = _ATTRIBUTES.unpack_from(buffer, position + _ATTRIBUTES_POSITION)
    stamped = attributes & ASSIGNED_BITS | TIMESTAMP_TYPE_BIT
    _ATTRIBUTES.pack_into(buffer, position + _ATTRIBUTES_POSITION, stamped)
    stamp_max_timestamp(buffer, position, now)


def stamp_create_time(buffer: WritableBuffer, position: int, max_timestamp: TimestampMs) -> None:
    """The inverse, for a (whole, checked) batch whose records' own times count: the latest is
    given. Sets timestamp type, max timestamp and a new CRC."""
    (attributes,) = _ATTRIBUTES.unpack_from(buffer, position + _ATTRIBUTES_POSITION)
    _ATTRIBUTES.pack_into(buffer, position + _ATTRIBUTES_POSITION, attributes & ~TIMESTAMP_TYPE_BIT)
    stamp_max_timestamp(buffer, position, max_timestamp)


def stamp_max_timestamp(buffer: WritableBuffer, position: int, max_timestamp: TimestampMs) -> None:
    """Write the max timestamp, and the CRC anew, into the (whole, checked) batch at `position`."""
    _MAX_TIMESTAMP.pack_into(buffer, position + _MAX_TIMESTAMP_POSITION, max_timestamp)
    (length,) = _LENGTH.unpack_from(buffer, position + _LENGTH_POSITION)
    _CRC.pack_into(
        buffer, position + _CRC_POSITION, compute_crc(buffer, position, LOG_OVERHEAD + length)
    )
