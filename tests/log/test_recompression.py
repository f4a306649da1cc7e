"""`compression.type` of a topic: what becomes of batches in other codecs, as of the real broker's.

What is expected here (codecs, attributes, timestamps, offsets, refusals) is what Kafka 4.4.0 stored
and answered when it was sent the same batches.
"""

from __future__ import annotations

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.record_checks import InvalidRecordsError
from kafkalite.log.validation import AppendOrigin
from kafkalite.protocol.records.batch import (
    HEADER_SIZE,
    BatchHeader,
    TimestampType,
    crc_is_valid,
    read_header,
    write_header,
)
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.record import Header, Record, build_batch, read_records
from kafkalite.types import Offset, ProducerEpoch, ProducerId, TimestampMs
from tests.log.golden_folders import memory_copy, open_golden
from tests.log.log_fixtures import EPOCH, NOW, append, open_log, stored

TYPES = {"uncompressed": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
every_type = pytest.mark.parametrize("wanted", TYPES)
every_codec = pytest.mark.parametrize("codec", Compression)
LATER = TimestampMs(NOW + 1900)


def batch_of(*times: int, codec: Compression = Compression.NONE, key: bytes = b"key") -> bytearray:
    return build_batch(
        [
            Record(key, b"value" * 20, (Header("h", b"x"),), TimestampMs(NOW + time))
            for time in times
        ],
        compression=codec,
    )


def with_gap(codec: Compression) -> bytearray:
    """Offsets 0 and 2 in a batch of two records."""
    record = Record(b"k", b"v", (), NOW)
    data = build_batch([record, record._replace(offset=Offset(2))], compression=codec)
    write_header(data, read_header(data)._replace(last_offset_delta=1))
    return data


def log_of(wanted: str, **settings: object) -> PartitionLog:
    return open_log(config=TopicConfig(compression_type=wanted)._replace(**settings))  # type: ignore[arg-type]  # Fields of it.


def last_batch(log: PartitionLog) -> tuple[BatchHeader, list[Record]]:
    data = stored(log)
    assert crc_is_valid(data, 0, read_header(data))
    header = read_header(data)
    assert header.size_bytes == len(data)
    return header, list(read_records(data, 0, header))


def refusal(log: PartitionLog, data: bytearray) -> KafkaError:
    with pytest.raises(KafkaError) as caught:
        append(log, data)
    assert (log.end_offset, stored(log)) == (0, b"")
    return caught.value


@every_type
@every_codec
def test_a_batch_is_stored_in_the_codec_of_its_topic(wanted: str, codec: Compression) -> None:
    log = log_of(wanted)
    appended = append(log, batch_of(0, 5, -3, codec=codec))
    header, records = last_batch(log)
    assert (header.attributes, header.base_timestamp, header.max_timestamp) == (
        TYPES[wanted],
        NOW,
        NOW + 5,
    )
    assert (header.last_offset_delta, header.records_count) == (2, 3)
    assert (header.partition_leader_epoch, appended.size_bytes) == (EPOCH, header.size_bytes)
    assert [record.offset for record in records] == [0, 1, 2]
    assert [record.timestamp - NOW for record in records] == [0, 5, -3]
    assert [(r.key, bytes(r.value or b""), r.headers) for r in records] == [
        (b"key", b"value" * 20, (Header("h", b"x"),))
    ] * 3


@every_type
@every_codec
def test_the_time_of_the_append_goes_with_it(wanted: str, codec: Compression) -> None:
    log = log_of(wanted, message_timestamp_type=TimestampType.LOG_APPEND_TIME)
    appended = append(log, batch_of(-100_000_000, 5, codec=codec), now=LATER)
    header, records = last_batch(log)
    assert (header.attributes, header.max_timestamp) == (TYPES[wanted] | 8, LATER)
    assert header.base_timestamp == NOW - 100_000_000, "of the first record, as the producer has it"
    assert [record.timestamp for record in records] == [LATER, LATER]
    assert appended.append_time == LATER


@pytest.mark.parametrize("wanted", ["gzip", "uncompressed"])
def test_what_has_the_codec_stays_as_it_is(wanted: str) -> None:
    codec = Compression(TYPES[wanted])
    data = build_batch([Record(b"k", b"v" * 999, (), NOW)], compression=codec, level=1)
    log = log_of(wanted, compression_gzip_level=9)
    append(log, data)
    assert stored(log)[HEADER_SIZE:] == bytes(data)[HEADER_SIZE:]


@pytest.mark.parametrize(
    ("wanted", "levels"), [("gzip", (1, 9)), ("lz4", (9, 12)), ("zstd", (1, 19))]
)
def test_the_level_is_the_topics(wanted: str, levels: tuple[int, int]) -> None:
    """Of lz4 Kafka's 9 is the fast compressor, and its default."""
    text = b" ".join(b"%x" % (number**5 // 7) for number in range(4000))
    sizes = []
    for level in levels:
        log = log_of(wanted, **{f"compression_{wanted}_level": level})
        append(log, build_batch([Record(b"k", text, (), NOW)]))
        sizes.append(log.size_bytes)
    assert sizes[1] < sizes[0] < len(text)


def test_a_producer_and_its_transaction_keep_their_place() -> None:
    log = log_of("zstd")
    data = build_batch(
        [Record(b"k", b"v", (), NOW)] * 2,
        producer_id=ProducerId(7001),
        producer_epoch=ProducerEpoch(3),
        base_sequence=0,
        is_transactional=True,
    )
    again = bytearray(data)
    append(log, data)
    header, _ = last_batch(log)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7001, 3, 0)
    assert header.attributes == 4 | 0x10
    duplicate = append(log, again)
    assert (duplicate.is_duplicate, duplicate.base_offset, duplicate.size_bytes) == (True, 0, 0)


@pytest.mark.parametrize(
    ("codec", "wanted", "offsets"),
    [
        (Compression.NONE, "gzip", [0, 1]),
        (Compression.LZ4, "gzip", [0, 1]),
        (Compression.LZ4, "uncompressed", [0, 1]),
        (Compression.NONE, "uncompressed", [0, 2]),
    ],
)
def test_offsets_follow_on_each_other_in_a_new_batch(
    codec: Compression, wanted: str, offsets: list[int]
) -> None:
    log = log_of(wanted)
    append(log, with_gap(codec))
    assert [record.offset for record in last_batch(log)[1]] == offsets


@pytest.mark.parametrize("ago", [1000, 0])
def test_a_clients_append_time_becomes_the_records_time(ago: int) -> None:
    """Where the topic keeps the times of its producers."""
    records = [Record(b"k", b"v", (), TimestampMs(NOW + time)) for time in (0, 5)]
    log = log_of("gzip")
    append(log, build_batch(records, append_time=TimestampMs(NOW - ago)))
    header, found = last_batch(log)
    assert (header.attributes, header.base_timestamp, header.max_timestamp) == (
        1,
        NOW - ago,
        NOW - ago,
    )
    assert [record.timestamp - NOW for record in found] == [-ago, -ago]


def test_other_attributes_and_a_wrong_max_timestamp_do_not_come_along() -> None:
    data = batch_of(0, 5)
    write_header(
        data,
        read_header(data)._replace(attributes=0x100, max_timestamp=TimestampMs(NOW - 77_777)),
    )
    log = log_of("lz4")
    append(log, data)
    header, _ = last_batch(log)
    assert (header.attributes, header.max_timestamp) == (3, NOW + 5)


def test_attributes_that_mean_nothing_go_where_the_broker_sets_the_time() -> None:
    """And stay where nothing is changed."""
    data = batch_of(0)
    write_header(data, read_header(data)._replace(attributes=0x100))
    kept, timed = (
        log_of("uncompressed", message_timestamp_type=kind)
        for kind in (TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME)
    )
    append(kept, bytearray(data))
    append(timed, bytearray(data))
    assert [last_batch(log)[0].attributes for log in (kept, timed)] == [0x100, 8]


def test_the_largest_size_holds_before_and_after() -> None:
    small = TopicConfig(max_message_bytes=400)
    log = open_log(config=small._replace(compression_type="gzip"))
    assert refusal(log, batch_of(0, 0, 0)).code is ErrorCode.MESSAGE_TOO_LARGE
    append(log, batch_of(0, 0, 0, codec=Compression.LZ4))
    log = open_log(config=small._replace(compression_type="uncompressed"))
    compressed = batch_of(0, 0, 0, codec=Compression.GZIP)
    assert len(compressed) < 400
    assert refusal(log, compressed).code is ErrorCode.MESSAGE_TOO_LARGE


def test_its_records_are_checked() -> None:
    future = batch_of(-1, 100_000_000)
    late = refusal(log_of("gzip"), future)
    assert isinstance(late, InvalidRecordsError)
    assert late.code is ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in late.record_errors] == [1]
    append(log_of("uncompressed", message_timestamp_after_max_ms=2**62), bytearray(future))
    broken = batch_of(0, 5)
    broken[HEADER_SIZE] = 0x7F
    write_header(broken, read_header(broken))
    assert refusal(log_of("gzip"), broken).code is ErrorCode.INVALID_RECORD
    no_gzip = batch_of(0, 5)
    write_header(no_gzip, read_header(no_gzip)._replace(attributes=1))
    assert refusal(log_of("lz4"), no_gzip).code is ErrorCode.UNKNOWN_SERVER_ERROR
    cut = batch_of(0)
    cut[-1] ^= 1
    assert refusal(log_of("lz4"), cut).code is ErrorCode.CORRUPT_MESSAGE
    two = batch_of(0) + batch_of(0)
    assert refusal(log_of("lz4"), two).code is ErrorCode.INVALID_RECORD
    assert refusal(log_of("lz4"), bytearray(30)).code is ErrorCode.CORRUPT_MESSAGE


def test_a_key_is_wanted_where_the_topic_is_compacted() -> None:
    log = log_of("gzip", cleanup_policy=("compact",))
    refused = refusal(log, build_batch([Record(None, b"v", (), NOW)]))
    assert refused.code is ErrorCode.INVALID_RECORD


def test_what_the_broker_appends_itself_stays_as_it_is() -> None:
    log = log_of("gzip")
    data = batch_of(0)
    append_as_leader(
        log, memoryview(data), leader_epoch=EPOCH, now=NOW, origin=AppendOrigin.COORDINATOR
    )
    assert last_batch(log)[0].attributes == 0


def test_the_batches_of_a_folder_that_kafka_recompressed_come_out_the_same() -> None:
    """`broker-gzip-0`: sent uncompressed, and stored so by Kafka (its own deflate aside)."""
    theirs = open_golden("broker-gzip-0", clean=True, files=memory_copy("broker-gzip-0"))
    data = stored(theirs)
    position = 0
    while position < len(data):
        header = read_header(data, position)
        records = list(read_records(data, position, header))
        log = open_log(config=TopicConfig(compression_type="gzip"), now=records[-1].timestamp)
        plain = build_batch(
            [record._replace(offset=Offset(-1)) for record in records],
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
        )
        append(log, plain, now=records[-1].timestamp, epoch=header.partition_leader_epoch)
        ours, again = last_batch(log)
        assert [(r.key, bytes(r.value or b""), r.timestamp) for r in again] == [
            (r.key, bytes(r.value or b""), r.timestamp) for r in records
        ]
        assert ours._replace(batch_length=0, crc=0) == header._replace(
            base_offset=Offset(0), batch_length=0, crc=0
        )
        position += header.size_bytes
    assert position
