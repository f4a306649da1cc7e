"""What a batch must satisfy before it is appended, told by its header; and, if wanted, its records.

`header` validation looks at the 61 bytes that lead each batch: framing, CRC, size, offsets, counts,
times. `full` validation, and any compacted topic (whose records need keys), decodes the records as
well and makes the checks that Kafka makes. Source: Kafka's `ProduceRequest.validateRecords`,
`UnifiedLog.analyzeAndValidateRecords` and `LogValidator`; which refusals carry a message is as in
`tests/data/errors.json`.

Kafka differs: it decodes the records of every batch. `kafkalite.record.validation=header` does not,
which is most of the cost of an append: a batch is taken whose bytes do not decompress, whose
records make no sense, or of whose times one between the first and the latest is out of bounds.
`full` checks as Kafka does.

Kafka differs: it bounds a compressed record (`max.decompressed.message.bytes`), and a batch of them
not at all. Here a batch whose records are checked may hold 256 MiB and 1,048,576 of them, so that
one of a megabyte cannot stall the broker: INVALID_RECORD for more.
"""

from __future__ import annotations

from enum import Enum, auto
from struct import Struct
from typing import TYPE_CHECKING, Literal, NamedTuple

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError, ErrorCode, KafkaError
from kafkalite.protocol.records.batch import (
    CONTROL_BIT,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    TIMESTAMP_TYPE_BIT,
    BatchHeader,
    TimestampType,
    crc_is_valid,
    read_header,
    stamp_append_time,
    stamp_create_time,
    stamp_max_timestamp,
)
from kafkalite.protocol.records.compression import Compression, DecompressionError
from kafkalite.protocol.records.stream import ReadBudget
from kafkalite.types import NO_PRODUCER_ID, NO_TIMESTAMP, TimestampMs

if TYPE_CHECKING:
    from kafkalite.protocol.records.outlines import RecordOutline

RecordValidation = Literal["header", "full"]

_LENGTH = Struct(">i")
_MINIMUM_LENGTH = 14
"""Of a batch length in any record format: Kafka's `LegacyRecord.RECORD_OVERHEAD_V0`."""
_MINIMUM_SIZE = MAGIC_POSITION + 1
_COMPRESSION_BITS = 0x07
_LAST_CODEC = int(max(Compression))
_ERRORS_SHOWN = 3
BATCH_BYTES = 1 << 28
"""Of what a batch holds when its records are checked: some tenths of a second's worth. What clients
send is bounded before it is compressed, by about the topic's `max.message.bytes`."""
BATCH_RECORDS = 1 << 20


class AppendOrigin(Enum):
    """Who appends. Clients are trusted least."""

    CLIENT = auto()
    """A Produce request: exactly one batch, no control records, sequences checked."""
    COORDINATOR = auto()
    """The broker itself, for internal topics and end-transaction markers."""
    RAFT_LEADER = auto()
    """The controller, for the metadata log: batches may carry their own offsets."""


_CLIENT = AppendOrigin.CLIENT
"""Looked up for each batch: a global costs a third of a member."""


class RecordError(NamedTuple):
    """One record that is refused, by its place in the batch."""

    batch_index: int
    message: str

    def __str__(self) -> str:
        return f"RecordError(batchIndex={self.batch_index}, message='{self.message}')"


class InvalidRecordsError(KafkaError):
    """A batch refused because of some of its records; Produce v8 and later list them."""

    def __init__(
        self, code: ErrorCode, message: str, record_errors: tuple[RecordError, ...]
    ) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors


class UnfitBatchesError(KafkaError):
    """Not one batch of this format: told before any log is asked, so nothing of a log is told."""


class BatchValidator:
    """The rules of one topic; made anew when its settings change."""

    __slots__ = (
        "_after_max_ms",
        "_before_max_ms",
        "_compacted",
        "_compression_type",
        "_decodes",
        "_max_message_bytes",
        "_max_record_bytes",
        "_partition",
        "stamps_append_time",
    )

    def __init__(
        self, partition: str, config: TopicConfig, record_validation: RecordValidation
    ) -> None:
        self._partition = partition
        self._max_message_bytes = config.max_message_bytes
        self._max_record_bytes = config.max_decompressed_message_bytes
        self._before_max_ms = config.message_timestamp_before_max_ms
        self._after_max_ms = config.message_timestamp_after_max_ms
        self._compacted = config.is_compacted
        self._compression_type = config.compression_type
        self._decodes = record_validation == "full" or self._compacted
        self.stamps_append_time = config.message_timestamp_type is TimestampType.LOG_APPEND_TIME

    def check(
        self, records: memoryview, now: TimestampMs, origin: AppendOrigin
    ) -> list[BatchHeader]:
        """The headers of all batches in `records`, which is nothing but batches.

        `KafkaError` refuses all. Timestamps may be stamped in place; offsets and epochs are not.
        """
        is_client = origin is _CLIENT
        try:
            header = read_header(records)
        except CorruptRecordError:
            headers = _split(records, is_client=is_client)
        else:
            if header.batch_length + LOG_OVERHEAD == len(records):
                return [self._check_batch(records, 0, header, now, is_client=is_client)]
            headers = _split(records, is_client=is_client)
        position = 0
        for index, header in enumerate(headers):
            headers[index] = self._check_batch(records, position, header, now, is_client=is_client)
            position += header.batch_length + LOG_OVERHEAD
        return headers

    def _check_batch(
        self,
        records: memoryview,
        position: int,
        header: BatchHeader,
        now: TimestampMs,
        *,
        is_client: bool,
    ) -> BatchHeader:
        """Check one batch; its header as it stands there when timestamps are stamped."""
        if is_client and header.base_offset != 0:
            raise KafkaError(ErrorCode.INVALID_RECORD)
        if header.batch_length + LOG_OVERHEAD > self._max_message_bytes:
            raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE)
        if not crc_is_valid(records, position, header):
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE)
        count, attributes = header.records_count, header.attributes
        if count <= 0 or header.last_offset_delta != count - 1:
            raise KafkaError(ErrorCode.INVALID_RECORD)
        if attributes & _COMPRESSION_BITS > _LAST_CODEC:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        if not is_client:
            return header
        if attributes & CONTROL_BIT or (
            header.producer_id != NO_PRODUCER_ID and header.base_sequence < 0
        ):
            raise KafkaError(ErrorCode.INVALID_RECORD)
        return self._check_times(records, position, header, now)

    def _check_times(
        self, records: memoryview, position: int, header: BatchHeader, now: TimestampMs
    ) -> BatchHeader:
        """Check and stamp timestamps; the header as it stands in the batch afterwards."""
        latest = header.max_timestamp
        if self._decodes:
            latest = self._check_records(records, position, header, now)
        if self.stamps_append_time:
            if header.attributes & TIMESTAMP_TYPE_BIT:
                raise _invalid_timestamp(())
            stamp_append_time(records, position, now)
            return header._replace(
                attributes=header.attributes | TIMESTAMP_TYPE_BIT, max_timestamp=now
            )
        if not self._decodes:
            self._check_range(header, now)
        if header.attributes & TIMESTAMP_TYPE_BIT:
            # The topic keeps the producers' times, so that is what the batch has from now on.
            stamp_create_time(records, position, latest)
            return header._replace(
                attributes=header.attributes & ~TIMESTAMP_TYPE_BIT, max_timestamp=latest
            )
        if latest != header.max_timestamp:
            stamp_max_timestamp(records, position, latest)
            return header._replace(max_timestamp=latest)
        return header

    def _check_range(self, header: BatchHeader, now: TimestampMs) -> None:
        """The earliest time is taken to be the first: the header tells no other."""
        if header.max_timestamp - now > self._after_max_ms or (
            now - header.base_timestamp > self._before_max_ms
            and header.base_timestamp != NO_TIMESTAMP
        ):
            raise _invalid_timestamp(())

    def _check_records(
        self, records: memoryview, position: int, header: BatchHeader, now: TimestampMs
    ) -> TimestampMs:
        """Decode and check every record; the latest of their timestamps."""
        from kafkalite.protocol.records.outlines import read_outlines  # Most brokers never do.

        latest = NO_TIMESTAMP
        errors: list[RecordError] = []
        bad_times = False
        has_append_time = self.stamps_append_time and header.attributes & TIMESTAMP_TYPE_BIT
        is_consecutive = True
        try:
            for index, record in enumerate(
                read_outlines(
                    records,
                    position,
                    header,
                    ReadBudget(max(BATCH_BYTES, self._max_message_bytes), BATCH_RECORDS),
                    max_record_bytes=self._max_record_bytes,
                )
            ):
                if self._compacted and record.key_size is None and not header.is_control:
                    text = "Compacted topic cannot accept message without key in topic partition"
                    errors.append(RecordError(index, f"{text} {self._partition}"))
                elif has_append_time:
                    bad_times = True
                    errors.append(_wrong_timestamp_type(index, record, header))
                elif not self.stamps_append_time and self._is_out_of_range(record.timestamp, now):
                    bad_times = True
                    errors.append(
                        RecordError(
                            index,
                            f"Timestamp {record.timestamp} of message with offset {record.offset} "
                            "is out of range. The timestamp should be within "
                            f"[{now - self._before_max_ms}, {now + self._after_max_ms}]",
                        )
                    )
                latest = max(latest, record.timestamp)
                is_consecutive &= record.offset == header.base_offset + index
        except DecompressionError as error:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR) from error
        except CorruptRecordError as error:
            raise KafkaError(ErrorCode.INVALID_RECORD) from error
        if bad_times:
            raise _invalid_timestamp(tuple(errors))
        if errors:
            shown = ", ".join(map(str, errors[:_ERRORS_SHOWN]))
            raise InvalidRecordsError(
                ErrorCode.INVALID_RECORD,
                f"One or more records have been rejected due to {len(errors)} record errors in "
                f"total, and only showing the first three errors at most: [{shown}]",
                tuple(errors),
            )
        if not is_consecutive and header.compression and self._keeps(header.compression):
            # Kafka takes such offsets of records that are not compressed, or that it compresses
            # anew itself; here its code fails.
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        return latest

    def _keeps(self, compression: Compression) -> bool:
        """Whether the topic stores what is compressed so as it came."""
        return self._compression_type in ("producer", compression.name.lower())

    def _is_out_of_range(self, timestamp: TimestampMs, now: TimestampMs) -> bool:
        return timestamp != NO_TIMESTAMP and (
            timestamp - now > self._after_max_ms or now - timestamp > self._before_max_ms
        )


def _invalid_timestamp(errors: tuple[RecordError, ...]) -> InvalidRecordsError:
    return InvalidRecordsError(
        ErrorCode.INVALID_TIMESTAMP,
        "One or more records have been rejected due to invalid timestamp",
        errors,
    )


def _wrong_timestamp_type(index: int, record: RecordOutline, header: BatchHeader) -> RecordError:
    """In the words of Kafka, which prints the record as one of its classes."""
    if header.compression:
        kind, none = "PartialDefaultRecord", -1
    else:
        kind, none = "DefaultRecord", 0
    key = none if record.key_size is None else record.key_size
    value = none if record.value_size is None else record.value_size
    return RecordError(
        index,
        f"Invalid timestamp type in message {kind}(offset={record.offset}, "
        f"timestamp={header.max_timestamp}, key={key} bytes, value={value} bytes). "
        "Producer should not set timestamp type to LogAppendTime.",
    )


def _split(records: memoryview, *, is_client: bool) -> list[BatchHeader]:
    """The headers of all batches: the slow path, which finds Kafka's error for bad framing."""
    headers: list[BatchHeader] = []
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
            raise UnfitBatchesError(ErrorCode.INVALID_RECORD)
        try:
            headers.append(read_header(records, position))
        except CorruptRecordError as error:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE) from error
        position += LOG_OVERHEAD + length
    if not headers or (is_client and len(headers) > 1):
        raise UnfitBatchesError(ErrorCode.INVALID_RECORD)
    if position != len(records):
        # Kafka differs: it drops a torn batch behind a whole one, and takes the whole one. No
        # client has a reason to send that, so here all is refused: no record is lost unsaid.
        raise UnfitBatchesError(ErrorCode.INVALID_RECORD)
    return headers
