"""Batches of clients in the codec that their topic wants: `compression.type`, unless `producer`.

What is in that codec already stays as it is, whatever its level. Else the records are checked as
with `kafkalite.record.validation=full`, decompressed, and compressed anew; the broker's work per
batch is then some tens of times that of one that it passes on.

Kafka makes a new batch, and so is the result here: of the attributes only codec, timestamp type and
transaction are kept, offsets follow on each other, the base timestamp is the first record's. The
records' own bytes stay, as long as they say the same there.

Source: Kafka's `LogValidator.validateMessagesAndAssignOffsetsCompressed`; tests hold the results
against batches of the real broker.

Kafka differs: it recompresses what coordinators append to internal topics, too, if these are given
such a codec. Here that stays as it is.
"""

from __future__ import annotations

from typing import NamedTuple

from kafkalite.config.views import TopicConfig
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log.record_checks import BATCH_BYTES, CheckedRecords
from kafkalite.protocol.records.batch import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    BatchHeader,
    write_header,
)
from kafkalite.protocol.records.compression import (
    Buffer,
    Compression,
    DecompressedTooLargeError,
    compress,
    decompress,
)
from kafkalite.protocol.records.record import NEXT_OFFSET, build_batch, read_records
from kafkalite.types import Offset, TimestampMs


class Target(NamedTuple):
    """What a topic wants its batches compressed with."""

    codec: Compression
    level: int | None
    """None: the codec has none."""


def target_of(config: TopicConfig) -> Target | None:
    """None: each batch stays as its producer compressed it."""
    match config.compression_type:
        case "gzip":
            return Target(Compression.GZIP, config.compression_gzip_level)
        case "lz4":
            return Target(Compression.LZ4, config.compression_lz4_level)
        case "zstd":
            return Target(Compression.ZSTD, config.compression_zstd_level)
        case "snappy":
            return Target(Compression.SNAPPY, None)
        case "uncompressed":
            return Target(Compression.NONE, None)
        case _:
            return None


def recompress(
    records: memoryview,
    header: BatchHeader,
    checked: CheckedRecords,
    target: Target,
    *,
    append_time: TimestampMs | None,
    max_bytes: int,
) -> bytearray:
    """The one batch in `records` anew, with base offset 0; `append_time` makes it one of
    `LogAppendTime`. MESSAGE_TOO_LARGE when that takes more than `max_bytes`."""
    try:
        plain = _plain_records(records, header, checked, target, max_bytes)
    except DecompressedTooLargeError:
        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE) from None
    batch = bytearray(HEADER_SIZE)
    batch += compress(target.codec, plain, target.level)
    if len(batch) > max_bytes:
        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE)
    write_header(
        batch,
        header._replace(
            base_offset=Offset(0),
            batch_length=len(batch) - LOG_OVERHEAD,
            attributes=target.codec
            | (0 if append_time is None else TIMESTAMP_TYPE_BIT)
            | (header.attributes & TRANSACTIONAL_BIT),
            base_timestamp=checked.first_timestamp,
            max_timestamp=checked.latest_timestamp if append_time is None else append_time,
        ),
    )
    return batch


def _plain_records(
    records: memoryview,
    header: BatchHeader,
    checked: CheckedRecords,
    target: Target,
    max_bytes: int,
) -> Buffer:
    """The records, decompressed, with offsets from 0 on and times from the first one's on."""
    limit = BATCH_BYTES if target.codec else max_bytes
    has_own_times = not header.attributes & TIMESTAMP_TYPE_BIT
    if (
        has_own_times
        and checked.is_consecutive
        and checked.first_timestamp == header.base_timestamp
    ):
        return decompress(header.compression, records[HEADER_SIZE:], limit)
    renumbered = (
        record._replace(offset=NEXT_OFFSET) for record in read_records(records, 0, header, limit)
    )
    return memoryview(build_batch(renumbered))[HEADER_SIZE:]
