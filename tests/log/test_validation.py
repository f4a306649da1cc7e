"""What is refused, with the codes and messages of the real broker (tests/data/errors.json)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log import record_checks
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.log_cuts import truncate_to
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.record_checks import InvalidRecordsError
from kafkalite.log.validation import AppendOrigin
from kafkalite.protocol.records.batch import (
    TimestampType,
    compute_crc,
    crc_is_valid,
    read_header,
    write_header,
)
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.record import Record, build_batch, read_records
from kafkalite.types import Offset, ProducerId, TimestampMs
from tests.log.log_fixtures import EPOCH, NOW, append, batch, headers, idempotent, open_log, stored

HOUR = 3_600_000


def changed(data: bytearray, **fields: int) -> bytearray:
    """The batch with other header fields, and the CRC that they make."""
    header = read_header(data)._replace(**fields)  # type: ignore[arg-type]  # NewTypes are ints.
    write_header(data, header)
    data[17:21] = compute_crc(data, 0, len(data)).to_bytes(4, "big")
    return data


def with_byte(position: int, value: int) -> bytearray:
    data = batch()
    data[position] = value
    return data


def refusal(log: PartitionLog, data: bytearray, origin: AppendOrigin) -> KafkaError:
    before = (stored(log), log.end_offset)
    with pytest.raises(KafkaError) as caught:
        append_as_leader(log, memoryview(data), leader_epoch=EPOCH, now=NOW, origin=origin)
    assert (stored(log), log.end_offset) == before
    return caught.value


CASES: dict[str, tuple[Callable[[], bytearray], ErrorCode, str]] = {
    "produce-corrupt-crc": (lambda: with_byte(-1 % len(batch()), 9), ErrorCode.CORRUPT_MESSAGE, ""),
    "produce-magic-1": (lambda: with_byte(16, 1), ErrorCode.INVALID_RECORD, ""),
    "produce-magic-0": (lambda: with_byte(16, 0), ErrorCode.INVALID_RECORD, ""),
    "produce-magic-3": (
        lambda: with_byte(16, 3),
        ErrorCode.CORRUPT_MESSAGE,
        "Invalid magic found in record: 3",
    ),
    "produce-unknown-codec-5": (
        lambda: changed(batch(), attributes=5),
        ErrorCode.UNKNOWN_SERVER_ERROR,
        "",
    ),
    "produce-two-batches": (lambda: batch() + batch(), ErrorCode.INVALID_RECORD, ""),
    "produce-no-batch": (bytearray, ErrorCode.INVALID_RECORD, ""),
    "produce-count-mismatch": (
        lambda: changed(batch(NOW, NOW), records_count=1),
        ErrorCode.INVALID_RECORD,
        "",
    ),
    "produce-count-zero": (
        lambda: changed(batch(), records_count=0),
        ErrorCode.INVALID_RECORD,
        "",
    ),
    "produce-last-delta-mismatch": (
        lambda: changed(batch(), last_offset_delta=3),
        ErrorCode.INVALID_RECORD,
        "",
    ),
    "produce-truncated-batch": (lambda: batch()[:-1], ErrorCode.INVALID_RECORD, ""),
    "produce-length-too-small": (
        lambda: with_byte(11, 10),
        ErrorCode.CORRUPT_MESSAGE,
        "Record size 10 is less than the minimum record overhead (14)",
    ),
    "produce-base-offset-not-0": (
        lambda: changed(batch(), base_offset=5),
        ErrorCode.INVALID_RECORD,
        "",
    ),
    "produce-control-batch": (
        lambda: changed(batch(), attributes=0x20),
        ErrorCode.INVALID_RECORD,
        "",
    ),
    "a producer id without a sequence": (
        lambda: changed(batch(), producer_id=5),
        ErrorCode.INVALID_RECORD,
        "",
    ),
    "a length that a header does not fit in": (
        lambda: with_byte(11, 20)[:32],
        ErrorCode.CORRUPT_MESSAGE,
        "",
    ),
    "a tail that is no batch": (lambda: batch() + b"tail", ErrorCode.INVALID_RECORD, ""),
    "a tail without a magic": (lambda: batch() + batch()[:14], ErrorCode.INVALID_RECORD, ""),
}


@pytest.mark.parametrize("case", CASES)
def test_refused_with_kafkas_code_and_message(case: str) -> None:
    make, code, message = CASES[case]
    error = refusal(open_log(), make(), AppendOrigin.CLIENT)
    assert (error.code, error.message) == (code, message)


def test_the_largest_size_is_of_the_whole_batch() -> None:
    data = batch()
    append(open_log(config=TopicConfig(max_message_bytes=len(data))), data)
    log = open_log(config=TopicConfig(max_message_bytes=len(data) - 1))
    assert refusal(log, batch(), AppendOrigin.CLIENT).code is ErrorCode.MESSAGE_TOO_LARGE


def test_a_batch_larger_than_a_segment_is_refused() -> None:
    log = open_log(config=TopicConfig(segment_bytes=len(batch()) - 1))
    assert refusal(log, batch(), AppendOrigin.CLIENT).code is ErrorCode.RECORD_LIST_TOO_LARGE


@pytest.mark.parametrize("validation", ["header", "full"])
@pytest.mark.parametrize(
    ("timestamp", "is_taken"),
    [
        (NOW - HOUR, True),
        (NOW - HOUR - 1, False),
        (NOW + HOUR, True),
        (NOW + HOUR + 1, False),
        (-1, True),
    ],
)
def test_timestamps_have_limits(validation: str, timestamp: int, is_taken: bool) -> None:
    limits = TopicConfig(message_timestamp_before_max_ms=HOUR, message_timestamp_after_max_ms=HOUR)
    log = open_log(config=limits, record_validation="full" if validation == "full" else "header")
    if is_taken:
        append(log, batch(timestamp))
        return
    error = refusal(log, batch(timestamp), AppendOrigin.CLIENT)
    assert error.code is ErrorCode.INVALID_TIMESTAMP
    assert error.message == "One or more records have been rejected due to invalid timestamp"
    assert isinstance(error, InvalidRecordsError)
    told = [
        (
            0,
            f"Timestamp {timestamp} of message with offset 0 is out of range. The timestamp should "
            f"be within [{NOW - HOUR}, {NOW + HOUR}]",
        )
    ]
    assert list(error.record_errors) == (told if validation == "full" else [])


def test_negative_timestamps_are_taken() -> None:
    append(open_log(), batch(-5))


def test_a_compacted_topic_wants_keys() -> None:
    log = open_log(config=TopicConfig(cleanup_policy=("compact",)))
    keyless = build_batch([Record(b"k", b"v"), Record(None, b"v"), Record(None, None)])
    error = refusal(log, keyless, AppendOrigin.CLIENT)
    assert error.code is ErrorCode.INVALID_RECORD
    text = "Compacted topic cannot accept message without key in topic partition orders-3"
    assert error.message == (
        "One or more records have been rejected due to 2 record errors in total, and only showing "
        "the first three errors at most: "
        f"[RecordError(batchIndex=1, message='{text}'), "
        f"RecordError(batchIndex=2, message='{text}')]"
    )
    assert isinstance(error, InvalidRecordsError)
    assert [record.batch_index for record in error.record_errors] == [1, 2]


def test_log_append_time_is_stamped() -> None:
    config = TopicConfig(message_timestamp_type=TimestampType.LOG_APPEND_TIME)
    log = open_log(config=config)
    assert append(log, batch(5, 6)) == (0, 1, NOW, len(batch(5, 6)))
    (header,) = headers(stored(log))
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert header.max_timestamp == NOW
    assert crc_is_valid(stored(log), 0, header)
    assert [record.timestamp for record in read_records(stored(log), 0, header)] == [NOW, NOW]
    assert log.segments[0].max_timestamp == NOW


@pytest.mark.parametrize("validation", ["header", "full"])
def test_a_clients_append_time_flag_is_cleared(validation: str) -> None:
    log = open_log(record_validation="full" if validation == "full" else "header")
    append(log, build_batch([Record(None, b"v")], append_time=TimestampMs(NOW - 5)))
    (header,) = headers(stored(log))
    assert header.timestamp_type is TimestampType.CREATE_TIME
    assert header.max_timestamp == NOW - 5
    assert crc_is_valid(stored(log), 0, header)


@pytest.mark.parametrize("validation", ["header", "full"])
@pytest.mark.parametrize("compression", [Compression.NONE, Compression.ZSTD])
def test_a_clients_append_time_flag_is_refused_where_the_broker_sets_the_time(
    validation: str, compression: Compression
) -> None:
    log = open_log(
        config=TopicConfig(message_timestamp_type=TimestampType.LOG_APPEND_TIME),
        record_validation="full" if validation == "full" else "header",
    )
    records = [Record(None, None), Record(b"k", b"value")]
    data = build_batch(records, append_time=TimestampMs(NOW), compression=compression)
    error = refusal(log, data, AppendOrigin.CLIENT)
    assert isinstance(error, InvalidRecordsError)
    assert error.code is ErrorCode.INVALID_TIMESTAMP
    kind, none = ("DefaultRecord", 0) if not compression else ("PartialDefaultRecord", -1)
    sizes = [(none, none), (1, 5)] if validation == "full" else []
    assert [each.message for each in error.record_errors] == [
        f"Invalid timestamp type in message {kind}(offset={index}, timestamp={NOW}, key={key} "
        f"bytes, value={value} bytes). Producer should not set timestamp type to LogAppendTime."
        for index, (key, value) in enumerate(sizes)
    ]


@pytest.mark.parametrize(
    ("compression", "of_topic", "is_taken"),
    [
        (Compression.NONE, "producer", True),
        (Compression.GZIP, "producer", False),
        (Compression.GZIP, "gzip", False),
        (Compression.GZIP, "lz4", True),
    ],
)
def test_gaps_between_offsets_are_taken_where_kafka_takes_them(
    compression: Compression, of_topic: str, *, is_taken: bool
) -> None:
    log = open_log(config=TopicConfig(compression_type=of_topic), record_validation="full")
    records = [Record(b"k", b"v", offset=Offset(offset)) for offset in (0, 5)]
    data = changed(build_batch(records, compression=compression), last_offset_delta=1)
    if is_taken:
        append(log, data)
    else:
        assert refusal(log, data, AppendOrigin.CLIENT).code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_full_validation_puts_the_max_timestamp_right() -> None:
    log = open_log(record_validation="full")
    append(log, changed(batch(NOW, NOW + 1), max_timestamp=NOW + 77))
    (header,) = headers(stored(log))
    assert header.max_timestamp == NOW + 1
    assert crc_is_valid(stored(log), 0, header)


def test_full_validation_decodes() -> None:
    broken = changed(batch(), attributes=Compression.GZIP)
    append(open_log(), broken[:])
    log = open_log(record_validation="full")
    assert refusal(log, broken, AppendOrigin.CLIENT).code is ErrorCode.UNKNOWN_SERVER_ERROR
    short = batch(NOW, NOW)
    short = changed(short, records_count=3, last_offset_delta=2)
    append(open_log(), short[:])
    assert refusal(log, short, AppendOrigin.CLIENT).code is ErrorCode.INVALID_RECORD


def test_the_broker_itself_may_append_control_records_with_any_offset() -> None:
    log = open_log()
    append(log, batch())
    control = changed(batch(), attributes=0x20, base_offset=7)
    appended = append_as_leader(
        log, memoryview(control), leader_epoch=EPOCH, now=NOW, origin=AppendOrigin.COORDINATOR
    )
    assert (appended.base_offset, appended.last_offset) == (1, 1)
    assert [header.base_offset for header in headers(stored(log))] == [0, 1]
    assert log.end_offset == 2


@pytest.mark.parametrize("origin", list(AppendOrigin))
def test_nobody_may_append_two_batches_at_once(origin: AppendOrigin) -> None:
    assert refusal(open_log(), batch() + batch(), origin).code is ErrorCode.INVALID_RECORD


def test_any_header_byte_is_answered() -> None:
    """Whatever one byte of a header is: the batch is taken or refused with a Kafka error."""
    log = open_log(MemoryFiles())
    good = idempotent(0)
    for position in range(61):
        for value in (0, 1, 0x7F, 0x80, 0xFF):
            data = bytearray(good)
            data[position] = value
            try:
                append(log, data)
            except KafkaError:
                continue
            state = log.producers.get(ProducerId(9))
            assert state is not None
            truncate_to(log, Offset(0), NOW)


# What is compressed.


@pytest.mark.parametrize("codec", list(Compression)[1:])
@pytest.mark.parametrize("cleanup_policy", ["delete", "compact"])
def test_a_compressed_record_has_a_limit_and_a_batch_of_them_not(
    codec: Compression, cleanup_policy: str
) -> None:
    """As asked of the real broker."""
    config = TopicConfig(max_decompressed_message_bytes=1000, cleanup_policy=(cleanup_policy,))

    def of(*value_sizes: int) -> bytearray:
        return build_batch(
            [Record(b"k", bytes(size), timestamp=NOW) for size in value_sizes], compression=codec
        )

    log = open_log(config=config, record_validation="full")
    assert append(log, of(992, 992, 992)).last_offset == 2, "each of 1000 bytes"
    refused = refusal(log, of(992, 993), AppendOrigin.CLIENT)
    assert (refused.code, refused.message) == (ErrorCode.INVALID_RECORD, "")


def test_what_is_not_compressed_has_no_such_limit() -> None:
    config = TopicConfig(max_decompressed_message_bytes=1000)
    assert append(open_log(config=config, record_validation="full"), batch(value=bytes(5000)))


@pytest.mark.parametrize(("limit", "value"), [("BATCH_BYTES", 3000), ("BATCH_RECORDS", 2)])
def test_a_batch_may_not_cost_more_than_so_much(
    limit: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = TopicConfig(max_message_bytes=2000)
    log = open_log(config=config, record_validation="full")
    data = build_batch([Record(b"k", bytes(1100), timestamp=NOW)] * 3, compression=Compression.ZSTD)
    monkeypatch.setattr(record_checks, limit, value)
    assert refusal(log, bytearray(data), AppendOrigin.CLIENT).code is ErrorCode.INVALID_RECORD
    monkeypatch.undo()
    assert append(log, data).last_offset == 2


@pytest.mark.parametrize("codec", list(Compression)[1:])
def test_bytes_that_do_not_decompress_are_the_servers_error(codec: Compression) -> None:
    log = open_log(record_validation="full")
    data = changed(batch(value=bytes(100)), attributes=int(codec))
    assert refusal(log, data, AppendOrigin.CLIENT).code is ErrorCode.UNKNOWN_SERVER_ERROR
