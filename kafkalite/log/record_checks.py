"""What the records of a batch must satisfy, which is seen only when they are decoded.

Source: Kafka's `LogValidator.validateRecord` and `validateTimestamp`; which refusals carry a
message is as in `tests/data/errors.json`.

Kafka differs: it bounds a compressed record (`max.decompressed.message.bytes`), and a batch of them
not at all. Here a batch whose records are checked may hold 256 MiB and 1,048,576 of them, so that
one of a megabyte cannot stall the broker: INVALID_RECORD for more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError, ErrorCode, KafkaError
from kafkalite.protocol.records.batch import TIMESTAMP_TYPE_BIT, BatchHeader, TimestampType
from kafkalite.protocol.records.compression import DecompressionError
from kafkalite.protocol.records.stream import ReadBudget
from kafkalite.types import NO_TIMESTAMP, TimestampMs

if TYPE_CHECKING:
    from kafkalite.protocol.records.outlines import RecordOutline

_ERRORS_SHOWN = 3
BATCH_BYTES = 1 << 28
"""Of what a batch holds when its records are checked: some tenths of a second's worth. What clients
send is bounded before it is compressed, by about the topic's `max.message.bytes`."""
BATCH_RECORDS = 1 << 20


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


class CheckedRecords(NamedTuple):
    """What is to be known of the records of a batch that are in order."""

    first_timestamp: TimestampMs
    latest_timestamp: TimestampMs
    is_consecutive: bool
    """Whether each offset is one above the offset before it."""


class _Refused:
    """Records that are refused, as they are found."""

    __slots__ = ("errors", "have_bad_times")

    def __init__(self) -> None:
        self.errors: list[RecordError] = []
        self.have_bad_times = False

    def add(self, index: int, message: str, *, is_bad_time: bool = True) -> None:
        self.errors.append(RecordError(index, message))
        self.have_bad_times |= is_bad_time

    def tell(self) -> None:
        """`InvalidRecordsError`, if there are any."""
        if self.have_bad_times:
            raise invalid_timestamp(tuple(self.errors))
        if not self.errors:
            return
        shown = ", ".join(map(str, self.errors[:_ERRORS_SHOWN]))
        raise InvalidRecordsError(
            ErrorCode.INVALID_RECORD,
            f"One or more records have been rejected due to {len(self.errors)} record errors in "
            f"total, and only showing the first three errors at most: [{shown}]",
            tuple(self.errors),
        )


def check_records(
    records: memoryview,
    position: int,
    header: BatchHeader,
    *,
    partition: str,
    config: TopicConfig,
    now: TimestampMs,
) -> CheckedRecords:
    """Decode and check every record of the batch at `position`; `KafkaError` refuses all."""
    from kafkalite.protocol.records.outlines import read_outlines  # Most brokers never do.

    stamps_append_time = config.message_timestamp_type is TimestampType.LOG_APPEND_TIME
    has_append_time = stamps_append_time and header.attributes & TIMESTAMP_TYPE_BIT
    wants_keys = config.is_compacted and not header.is_control
    earliest = now - config.message_timestamp_before_max_ms
    last = now + config.message_timestamp_after_max_ms
    first = latest = NO_TIMESTAMP
    is_consecutive = True
    refused = _Refused()
    budget = ReadBudget(max(BATCH_BYTES, config.max_message_bytes), BATCH_RECORDS)
    outlines = read_outlines(
        records,
        position,
        header,
        budget,
        max_record_bytes=config.max_decompressed_message_bytes,
    )
    try:
        for index, record in enumerate(outlines):
            timestamp = record.timestamp
            if wants_keys and record.key_size is None:
                text = "Compacted topic cannot accept message without key in topic partition"
                refused.add(index, f"{text} {partition}", is_bad_time=False)
            elif has_append_time:
                refused.add(index, _wrong_timestamp_type(record, header))
            elif not (
                stamps_append_time or timestamp == NO_TIMESTAMP or earliest <= timestamp <= last
            ):
                refused.add(
                    index,
                    f"Timestamp {timestamp} of message with offset {record.offset} is out of "
                    f"range. The timestamp should be within [{earliest}, {last}]",
                )
            if not index:
                first = timestamp
            if timestamp > latest:
                latest = timestamp
            is_consecutive &= record.offset == header.base_offset + index
    except DecompressionError as error:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR) from error
    except CorruptRecordError as error:
        raise KafkaError(ErrorCode.INVALID_RECORD) from error
    refused.tell()
    return CheckedRecords(first, latest, is_consecutive)


def invalid_timestamp(errors: tuple[RecordError, ...]) -> InvalidRecordsError:
    """The refusal of a batch for its times."""
    return InvalidRecordsError(
        ErrorCode.INVALID_TIMESTAMP,
        "One or more records have been rejected due to invalid timestamp",
        errors,
    )


def _wrong_timestamp_type(record: RecordOutline, header: BatchHeader) -> str:
    """In the words of Kafka, which prints the record as one of its classes."""
    if header.compression:
        kind, none = "PartialDefaultRecord", -1
    else:
        kind, none = "DefaultRecord", 0
    key = none if record.key_size is None else record.key_size
    value = none if record.value_size is None else record.value_size
    return (
        f"Invalid timestamp type in message {kind}(offset={record.offset}, "
        f"timestamp={header.max_timestamp}, key={key} bytes, value={value} bytes). "
        "Producer should not set timestamp type to LogAppendTime."
    )
