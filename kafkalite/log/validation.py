"""What a batch must satisfy before it is appended, told by its header; and, if wanted, its records.

`header` validation looks at the 61 bytes that lead each batch: framing, CRC, size, offsets, counts,
times. `full` validation, any compacted topic (whose records need keys), and what is to be
recompressed, decodes the records as well and makes the checks that Kafka makes: record_checks.py.
Source: Kafka's `ProduceRequest.validateRecords`, `UnifiedLog.analyzeAndValidateRecords` and
`LogValidator`; which refusals carry a message is as in `tests/data/errors.json`.

Kafka differs: it decodes the records of every batch. `kafkalite.record.validation=header` does not,
which is most of the cost of an append: a batch is taken whose bytes do not decompress, whose
records make no sense, or of whose times one between the first and the latest is out of bounds.
`full` checks as Kafka does.
"""

from __future__ import annotations

from enum import Enum, auto
from struct import Struct
from typing import TYPE_CHECKING, Literal, NamedTuple, NoReturn

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError, ErrorCode, KafkaError
from kafkalite.log.record_checks import CheckedRecords, check_records, invalid_timestamp
from kafkalite.protocol.records.batch import (
    ASSIGNED_BITS,
    ATTRIBUTES_LOW_BYTE,
    COMPRESSION_BITS,
    CONTROL_BIT,
    CRC_START,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    TIMESTAMP_TYPE_BIT,
    BatchHeader,
    TimestampType,
    read_header,
    stamp_append_time,
    stamp_create_time,
    stamp_max_timestamp,
)
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.crc import load_crc32c
from kafkalite.types import NO_PRODUCER_ID, NO_TIMESTAMP, TimestampMs

if TYPE_CHECKING:
    from kafkalite.log.recompression import Target

RecordValidation = Literal["header", "full"]

_LENGTH = Struct(">i")
_MINIMUM_LENGTH = 14
"""Of a batch length in any record format: Kafka's `LegacyRecord.RECORD_OVERHEAD_V0`."""
_MINIMUM_SIZE = MAGIC_POSITION + 1
_LAST_CODEC = int(max(Compression))


class AppendOrigin(Enum):
    """Who appends. Clients are trusted least."""

    CLIENT = auto()
    """A Produce request: no control records, sequences checked."""
    COORDINATOR = auto()
    """The broker itself, for internal topics and end-transaction markers."""
    RAFT_LEADER = auto()
    """The controller, for the metadata log: the batch may carry its own offsets, and be larger than
    a segment, since it is a commit."""


_CLIENT = AppendOrigin.CLIENT
"""Looked up for each batch: a global costs a third of a member."""


class FitRecords(NamedTuple):
    """A batch that may be appended."""

    records: memoryview
    header: BatchHeader


class UnfitBatchesError(KafkaError):
    """Not one batch of this format: told before any log is asked, so nothing of a log is told."""


class BatchValidator:
    """The rules of one topic; made anew when its settings change."""

    __slots__ = (
        "_after_max_ms",
        "_before_max_ms",
        "_config",
        "_decodes",
        "_max_message_bytes",
        "_partition",
        "stamps_append_time",
        "target",
    )

    def __init__(
        self, partition: str, config: TopicConfig, record_validation: RecordValidation
    ) -> None:
        self._partition = partition
        self._config = config
        self._max_message_bytes = config.max_message_bytes
        self._before_max_ms = config.message_timestamp_before_max_ms
        self._after_max_ms = config.message_timestamp_after_max_ms
        self._decodes = record_validation == "full" or config.is_compacted
        self.stamps_append_time = config.message_timestamp_type is TimestampType.LOG_APPEND_TIME
        self.target = _target_of(config)
        """What clients' batches are recompressed with: then `recompress` is to be asked. None:
        nothing, and `check` is."""

    def check(self, records: memoryview, now: TimestampMs, origin: AppendOrigin) -> BatchHeader:
        """The header of the batch that `records` is, as it stands there afterwards.

        `KafkaError` refuses it. Timestamps may be stamped in place; offset and epoch are not.
        """
        header = self._read_header(records, is_client=origin is _CLIENT)
        if origin is not _CLIENT:
            return header
        if self._decodes or self.stamps_append_time:
            return self._stamp_times(records, header, now)
        # The earliest time is taken to be the first: the header tells no other.
        if header.max_timestamp - now > self._after_max_ms or (
            now - header.base_timestamp > self._before_max_ms
            and header.base_timestamp != NO_TIMESTAMP
        ):
            raise invalid_timestamp(())
        if header.attributes & TIMESTAMP_TYPE_BIT:
            return self._stamp_times(records, header, now)
        return header

    def recompress(self, records: memoryview, now: TimestampMs, origin: AppendOrigin) -> FitRecords:
        """As `check`, where there is a `target`: other bytes if it is not of that codec. Touches
        nothing but `records`, so that a worker may do it."""
        if origin is not _CLIENT or not self.has_other_codec(records):
            return FitRecords(records, self.check(records, now, origin))
        batch = self._recompressed(records, now, now if self.stamps_append_time else None)
        return FitRecords(memoryview(batch), read_header(batch))

    def has_other_codec(self, records: memoryview) -> bool:
        """Whether a client's batch is in another codec than the topic wants."""
        return (
            self.target is not None
            and len(records) >= HEADER_SIZE
            and records[ATTRIBUTES_LOW_BYTE] & COMPRESSION_BITS != self.target.codec
        )

    def recompress_early(self, records: memoryview, now: TimestampMs) -> bytearray | None:
        """What `recompress` has no work with any more, of a batch that `has_other_codec`: as if the
        client had sent it in the right one. None when it is refused: `recompress` tells why. Safe
        in a worker."""
        try:
            return self._recompressed(records, now, None)
        except KafkaError:
            return None

    def _recompressed(
        self, records: memoryview, now: TimestampMs, append_time: TimestampMs | None
    ) -> bytearray:
        from kafkalite.log.recompression import recompress  # Few topics want it.

        target = self.target
        assert target is not None
        header = self._read_header(records, is_client=True)
        return recompress(
            records,
            header,
            self._check_records(records, header, now),
            target,
            append_time=append_time,
            max_bytes=self._max_message_bytes,
        )

    def _read_header(self, records: memoryview, *, is_client: bool) -> BatchHeader:
        """That of the batch, of which all but the times is checked."""
        try:
            header = read_header(records)
        except CorruptRecordError:
            _refuse_framing(records)
        size = header.batch_length + LOG_OVERHEAD
        if size != len(records):
            _refuse_framing(records)
        if is_client and header.base_offset != 0:
            raise KafkaError(ErrorCode.INVALID_RECORD)
        if size > self._max_message_bytes:
            raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE)
        if load_crc32c()(records[CRC_START:]) != header.crc:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE)
        count, attributes = header.records_count, header.attributes
        if count <= 0 or header.last_offset_delta != count - 1:
            raise KafkaError(ErrorCode.INVALID_RECORD)
        if attributes & COMPRESSION_BITS > _LAST_CODEC:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        if is_client and (
            attributes & CONTROL_BIT
            or (header.producer_id > NO_PRODUCER_ID and header.base_sequence < 0)
        ):
            raise KafkaError(ErrorCode.INVALID_RECORD)
        return header

    def _stamp_times(
        self, records: memoryview, header: BatchHeader, now: TimestampMs
    ) -> BatchHeader:
        """Look at the records, if that is wanted, and stamp; the header as it stands afterwards."""
        latest = header.max_timestamp
        if self._decodes:
            latest = self._check_records(records, header, now).latest_timestamp
        if self.stamps_append_time:
            if header.attributes & TIMESTAMP_TYPE_BIT:
                raise invalid_timestamp(())
            stamp_append_time(records, 0, now)
            return header._replace(
                attributes=header.attributes & ASSIGNED_BITS | TIMESTAMP_TYPE_BIT,
                max_timestamp=now,
            )
        if header.attributes & TIMESTAMP_TYPE_BIT:
            # The topic keeps the producers' times, so that is what the batch has from now on.
            stamp_create_time(records, 0, latest)
            return header._replace(
                attributes=header.attributes & ~TIMESTAMP_TYPE_BIT, max_timestamp=latest
            )
        if latest != header.max_timestamp:
            stamp_max_timestamp(records, 0, latest)
            return header._replace(max_timestamp=latest)
        return header

    def _check_records(
        self, records: memoryview, header: BatchHeader, now: TimestampMs
    ) -> CheckedRecords:
        checked = check_records(
            records, 0, header, partition=self._partition, config=self._config, now=now
        )
        codec = header.compression
        if (
            not checked.is_consecutive
            and codec
            and (self.target is None or self.target.codec is codec)
        ):
            # Kafka takes such offsets of records that are not compressed, or that it compresses
            # anew itself; here its code fails.
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        return checked


def _target_of(config: TopicConfig) -> Target | None:
    if config.compression_type == "producer":
        return None
    from kafkalite.log.recompression import target_of  # Few topics want it.

    return target_of(config)


def _refuse_framing(records: memoryview) -> NoReturn:
    """Raise Kafka's error for what is not just one batch."""
    position = 0
    while len(records) - position >= LOG_OVERHEAD:
        (length,) = _LENGTH.unpack_from(records, position + 8)
        if length < _MINIMUM_LENGTH:
            raise KafkaError(
                ErrorCode.CORRUPT_MESSAGE,
                f"Record size {length} is less than the minimum record overhead "
                f"({_MINIMUM_LENGTH})",
            )
        if len(records) - position < _MINIMUM_SIZE:
            break
        magic = records[position + MAGIC_POSITION]
        if magic > MAGIC:
            signed = magic - 256 if magic > 127 else magic
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"Invalid magic found in record: {signed}")
        if len(records) - position < LOG_OVERHEAD + length:
            break
        if magic < MAGIC:
            break
        try:
            read_header(records, position)
        except CorruptRecordError as error:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE) from error
        position += LOG_OVERHEAD + length
    # Kafka differs: it drops a torn batch behind a whole one, and takes the whole one. No client
    # has a reason to send that, so here all is refused: no record is lost unsaid.
    raise UnfitBatchesError(ErrorCode.INVALID_RECORD)
