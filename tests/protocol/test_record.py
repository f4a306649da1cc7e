from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AioBuilder
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

from kafkalite.errors import CorruptRecordError
from kafkalite.protocol.records.batch import (
    HEADER_SIZE,
    BatchHeader,
    Buffer,
    TimestampType,
    crc_is_valid,
    iter_headers,
    read_header,
)
from kafkalite.protocol.records.compression import (
    Compression,
    DecompressedTooLargeError,
    DecompressionError,
)
from kafkalite.protocol.records.record import Header, Record, build_batch, read_records
from kafkalite.types import LeaderEpoch, Offset, ProducerEpoch, ProducerId, TimestampMs

LOG_DIRS = Path(__file__).parent.parent / "data" / "log-dirs"
FOLDERS = sorted(path.name for path in LOG_DIRS.iterdir() if path.is_dir())
DUMPED_RECORD = re.compile(
    r"\| offset: (\d+) (CreateTime|LogAppendTime): (-?\d+) keySize: (-?\d+) valueSize: (-?\d+) "
    r"sequence: (-?\d+) headerKeys: \[(.*?)\](?: key: (\S+))?(?: payload: (.*))?"
)
WHOLE = (Header("h", b"1"), Header("", None), Header("ü", b""))


def at(timestamp: int, offset: int = -1) -> Record:
    return Record(b"k", b"v", timestamp=TimestampMs(timestamp), offset=Offset(offset))


def records_of(batch: Buffer) -> list[Record]:
    return list(read_records(batch, 0, read_header(batch)))


def with_payload(payload: bytes, count: int, **fields: int) -> tuple[bytes, BatchHeader]:
    """A batch of hand-made record bytes."""
    header = read_header(build_batch([]))
    header = header._replace(batch_length=49 + len(payload), records_count=count)
    header = header._replace(**fields)  # type: ignore[arg-type]  # ints for NewTypes.
    return bytes(HEADER_SIZE) + payload, header


def read_payload(payload: bytes, count: int = 1, **fields: int) -> list[Record]:
    batch, header = with_payload(payload, count, **fields)
    return list(read_records(batch, 0, header))


def text(value: Buffer | None) -> str | None:
    return None if value is None else bytes(value).decode()


def dumped(folder: str) -> Iterator[tuple[str, re.Match[str]]]:
    """File name and record line of kafka-dump-log's text."""
    name = ""
    for line in (LOG_DIRS / f"{folder}.txt").read_text().splitlines():
        if line.startswith("Dumping "):
            name = line.removeprefix("Dumping ").split("/")[-1]
        elif match := DUMPED_RECORD.match(line):
            yield name, match


@pytest.mark.parametrize("folder", FOLDERS)
def test_reads_every_record_as_kafkas_own_tool_does(folder: str) -> None:
    expected = [
        (name, *match.groups()[:7])
        for name, match in dumped(folder)
        if name.endswith((".log", ".checkpoint"))
    ]
    found = []
    for log in sorted((LOG_DIRS / folder).iterdir()):
        if log.suffix not in {".log", ".checkpoint"}:
            continue
        data = log.read_bytes()
        for position, header in iter_headers(data):
            for record in read_records(data, position, header):
                sequence = header.base_sequence + record.offset - header.base_offset
                found.append(
                    (
                        log.name,
                        str(record.offset),
                        "CreateTime"
                        if header.timestamp_type is TimestampType.CREATE_TIME
                        else "LogAppendTime",
                        str(record.timestamp),
                        str(-1 if record.key is None else len(record.key)),
                        str(-1 if record.value is None else len(record.value)),
                        str(-1 if header.base_sequence < 0 else sequence),
                        ",".join(key for key, _ in record.headers),
                    )
                )
    dumped_files = {name for name, *_ in expected}
    assert [line for line in found if line[0] in dumped_files] == expected
    assert {line[0] for line in found} - dumped_files <= {
        path.name for path in (LOG_DIRS / folder).glob("*.checkpoint")
    }


@pytest.mark.parametrize(
    "folder", ["plain-0", "codec-gzip-0", "codec-snappy-0", "codec-lz4-0", "codec-zstd-0"]
)
def test_reads_keys_and_values_as_kafkas_own_tool_does(folder: str) -> None:
    data = (LOG_DIRS / folder / "00000000000000000000.log").read_bytes()
    found = [
        (text(record.key), text(record.value))
        for position, header in iter_headers(data)
        for record in read_records(data, position, header)
    ]
    assert found == [(match[8], match[9]) for _, match in dumped(folder)]


@pytest.mark.parametrize("folder", [name for name in FOLDERS if not name.startswith("append")])
def test_builds_the_same_bytes_that_kafka_stored(folder: str) -> None:
    """Compressed bytes differ from library to library, and are left out but for lz4."""
    for log in sorted((LOG_DIRS / folder).glob("*.log")):
        data = log.read_bytes()
        for position, header in iter_headers(data):
            batch = build_batch(
                read_records(data, position, header),
                base_offset=header.base_offset,
                leader_epoch=header.partition_leader_epoch,
                compression=header.compression,
                producer_id=header.producer_id,
                producer_epoch=header.producer_epoch,
                base_sequence=header.base_sequence,
                is_transactional=header.is_transactional,
                is_control=header.is_control,
                delete_horizon_ms=header.delete_horizon_ms,
                last_offset=header.last_offset,
                max_timestamp=header.max_timestamp,
            )
            if header.compression in {Compression.NONE, Compression.LZ4}:
                assert batch == data[position : position + header.size_bytes]
            else:
                built = read_header(batch)
                assert built._replace(batch_length=0, crc=0) == header._replace(
                    batch_length=0, crc=0
                )
                assert records_of(batch) == list(read_records(data, position, header))


@pytest.mark.parametrize("compression", Compression)
def test_comes_back_whole(compression: Compression) -> None:
    records = [
        Record(None, None, (), TimestampMs(1000), Offset(5)),
        Record(b"", b"", WHOLE, TimestampMs(-1), Offset(6)),
        Record(b"key", b"v" * 1000, (Header("n", None),) * 200, TimestampMs(2**40), Offset(9)),
        Record(b"k" * 200, None, (), TimestampMs(999), Offset(300)),
    ]
    batch = build_batch(records, base_offset=Offset(5), compression=compression)
    header = read_header(batch)
    assert records_of(batch) == records
    assert crc_is_valid(batch, 0, header)
    assert header.compression is compression
    assert (header.base_offset, header.last_offset, header.records_count) == (5, 300, 4)
    assert (header.base_timestamp, header.max_timestamp) == (1000, 2**40)


def test_values_are_views_and_keys_are_bytes() -> None:
    batch = build_batch([Record(bytearray(b"k"), memoryview(b"v"), (Header("h", b"x"),))])
    (record,) = records_of(batch)
    assert isinstance(record.key, bytes)
    assert isinstance(record.value, memoryview)
    assert isinstance(record.headers[0].value, bytes)
    batch[record_end := len(batch) - 6] ^= 1  # The value's one byte, before the header's five.
    assert bytes(record.value) == batch[record_end : record_end + 1]


def test_offsets_left_open_follow_one_another() -> None:
    batch = build_batch([at(1), at(1, 7), at(1)], base_offset=Offset(4))
    assert [record.offset for record in records_of(batch)] == [4, 7, 8]


@pytest.mark.parametrize("offsets", [(3,), (4, 4), (5, 4), (4, 4 + 2**31)])
def test_offsets_that_a_batch_cannot_hold_are_refused(offsets: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=f"offset {offsets[-1]} cannot follow"):
        build_batch([at(1, offset) for offset in offsets], base_offset=Offset(4))


def test_header_options_reach_the_header() -> None:
    batch = build_batch(
        [at(5)],
        leader_epoch=LeaderEpoch(3),
        producer_id=ProducerId(2**40),
        producer_epoch=ProducerEpoch(7),
        base_sequence=11,
        is_transactional=True,
        is_control=True,
        delete_horizon_ms=TimestampMs(99),
        last_offset=Offset(20),
        max_timestamp=TimestampMs(50),
    )
    header = read_header(batch)
    assert header.partition_leader_epoch == 3
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (2**40, 7, 11)
    assert header.is_transactional
    assert header.is_control
    assert header.delete_horizon_ms == 99
    assert (header.last_offset, header.max_timestamp) == (20, 50)
    assert [record.timestamp for record in records_of(batch)] == [5]


def test_append_time_stands_for_every_record() -> None:
    batch = build_batch([at(5), at(6)], append_time=TimestampMs(1234))
    header = read_header(batch)
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert (header.base_timestamp, header.max_timestamp) == (5, 1234)
    assert [record.timestamp for record in records_of(batch)] == [1234, 1234]


@pytest.mark.parametrize("compression", Compression)
def test_empty_batch_keeps_what_compaction_must_keep(compression: Compression) -> None:
    batch = build_batch(
        [],
        base_offset=Offset(10),
        compression=compression,
        last_offset=Offset(14),
        producer_id=ProducerId(1),
        max_timestamp=TimestampMs(7),
    )
    header = read_header(batch)
    assert len(batch) == header.size_bytes == HEADER_SIZE
    assert (header.base_offset, header.last_offset, header.records_count) == (10, 14, 0)
    assert (header.base_timestamp, header.max_timestamp) == (7, 7)
    assert crc_is_valid(batch, 0, header)
    assert records_of(batch) == []


def test_empty_batch_without_options() -> None:
    header = read_header(build_batch([], base_offset=Offset(3)))
    assert (header.last_offset, header.base_timestamp, header.max_timestamp) == (3, -1, -1)


def test_batch_of_none_is_read_as_such_whatever_follows() -> None:
    assert read_payload(b"garbage", count=0, attributes=Compression.GZIP) == []


def test_timestamps_wrap_as_javas_do() -> None:
    low, high = -(2**63), 2**63 - 1
    records = [at(high), at(low), at(0)]
    batch = build_batch(records)
    assert [record.timestamp for record in records_of(batch)] == [high, low, 0]


def test_header_key_that_is_no_utf8_comes_through() -> None:
    record = bytes([0, 0, 0, 1, 1, 2, 4]) + b"\xff\xfe" + b"\x01"
    (read,) = read_payload(bytes([len(record) * 2]) + record)
    assert read.headers == (Header("\udcff\udcfe", None),)
    assert build_batch([read])[HEADER_SIZE:] == bytes([len(record) * 2]) + record


def test_negative_lengths_other_than_minus_one_are_null_as_in_java() -> None:
    (record,) = read_payload(bytes([12, 0, 0, 0, 3, 5, 0]))
    assert (record.key, record.value) == (None, None)


GOOD = bytes([16, 0, 0, 0, 2]) + b"k" + bytes([2]) + b"v" + b"\x00"


def test_the_good_record_is_good() -> None:
    assert read_payload(GOOD) == [Record(b"k", b"v", (), TimestampMs(-1), Offset(0))]


@pytest.mark.parametrize(
    ("payload", "count", "why"),
    [
        (b"", 1, "ends within a record"),
        (GOOD, 2, "ends within a record"),
        (GOOD, -1, "a batch of -1 records"),
        (GOOD + b"\x00", 1, "1 bytes are left"),
        (GOOD[:-1], 1, "a record of 8 bytes where 7 are left"),
        (b"\x01" + GOOD[1:], 1, "a record of -1 bytes"),
        (b"\x12" + GOOD[1:] + b"\x00", 1, "a record of 9 bytes whose fields take 8"),
        (b"\x0e" + GOOD[1:], 1, "a record of 7 bytes whose fields take 8"),
        (bytes([12, 0, 0, 0, 20]) + b"abcd", 1, "a field of 10 bytes where 2 are left"),
        (b"\x80" * 5 + b"\x01", 1, "a varint of more than 5 bytes"),
        (bytes([24, 0]) + b"\x80" * 10 + b"\x00", 1, "a varint of more than 10 bytes"),
        (b"\x80\x80", 1, "ends within a record"),
        (bytes([12, 0, 0, 0, 1, 1, 1]), 1, "-1 record headers"),
        (bytes([12, 0, 0, 0, 1, 1, 8]), 1, "4 record headers in 0 bytes"),
        (bytes([16, 0, 0, 0, 1, 1, 2, 1, 1]), 1, "a record header without a key"),
        (bytes([16, 0, 0, 0, 1, 1, 2, 4, 1]), 1, "a field of 2 bytes where 1 are left"),
    ],
)
def test_records_at_odds_with_their_bytes_are_refused(payload: bytes, count: int, why: str) -> None:
    with pytest.raises(CorruptRecordError, match=why):
        read_payload(payload, count)


def test_bits_past_the_thirty_second_are_dropped_as_in_java() -> None:
    body = b"\x00\x00" + b"\xf0\xff\xff\xff\x7f" + bytes([1, 1, 0])
    (record,) = read_payload(bytes([len(body) * 2]) + body)
    assert record.offset == 2**31 - 8


def test_batch_that_is_not_whole_is_refused() -> None:
    batch = build_batch([at(1)])
    with pytest.raises(CorruptRecordError, match="not whole"):
        list(read_records(batch[:-1], 0, read_header(batch)))


@pytest.mark.parametrize("compression", [codec for codec in Compression if codec])
def test_records_that_claim_to_be_compressed_are_refused(compression: Compression) -> None:
    with pytest.raises(DecompressionError):
        read_payload(GOOD * 5, 5, attributes=compression)


def test_unassigned_codec_is_refused() -> None:
    with pytest.raises(CorruptRecordError, match="codec 5"):
        read_payload(GOOD, attributes=5)


@pytest.mark.parametrize("compression", [codec for codec in Compression if codec])
def test_limit_bounds_what_is_decompressed(compression: Compression) -> None:
    batch = build_batch([Record(None, b"x" * 1000)], compression=compression)
    with pytest.raises(DecompressedTooLargeError):
        list(read_records(batch, 0, read_header(batch), 1000))


# Any: neither client types its builder, and both take the same calls.
@pytest.mark.parametrize("builder", [KafkaPythonBuilder, AioBuilder])
@pytest.mark.parametrize("compression", Compression)
@pytest.mark.parametrize("transactional", [False, True])
def test_clients_build_the_same_batch(
    builder: type, compression: Compression, transactional: bool
) -> None:
    records = [
        Record(None, b"one", (), TimestampMs(1_700_000_000_000)),
        Record(b"k", None, (Header("h", b"1"), Header("n", None)), TimestampMs(1_699_999_999_000)),
        Record(b"k" * 300, b"v" * 70_000, (), TimestampMs(1_700_000_001_000)),
    ]
    theirs = builder(
        magic=2,
        compression_type=int(compression),
        is_transactional=transactional,
        producer_id=4,
        producer_epoch=1,
        base_sequence=6,
        batch_size=1 << 20,
    )
    for offset, record in enumerate(records):
        headers = [(key, value) for key, value in record.headers]
        theirs.append(offset, record.timestamp, record.key, record.value, headers)
    built = bytes(theirs.build())
    ours = build_batch(
        records,
        leader_epoch=read_header(built).partition_leader_epoch,
        compression=compression,
        producer_id=ProducerId(4),
        producer_epoch=ProducerEpoch(1),
        base_sequence=6,
        is_transactional=transactional,
    )
    assert records_of(built) == records_of(ours)
    if compression is Compression.NONE:
        assert built == ours
    assert without_sizes(built) == without_sizes(ours)


def without_sizes(batch: Buffer) -> BatchHeader:
    return read_header(batch)._replace(batch_length=0, crc=0)


def test_a_long_batch_in_one_struct_of_the_wire() -> None:
    """Layout by hand, so that reader and builder are not wrong together."""
    batch = build_batch([Record(b"K", b"VAL", (Header("H", b"x"),), TimestampMs(10))])
    body = b"\x00\x00\x00\x02K\x06VAL\x02\x02H\x02x"
    assert batch[HEADER_SIZE:] == bytes([len(body) * 2]) + body
    assert struct.unpack_from(">qi", batch) == (0, len(batch) - 12)
