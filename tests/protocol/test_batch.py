from __future__ import annotations

import struct
from pathlib import Path

import pytest

from kafkalite.errors import CorruptRecordError
from kafkalite.protocol.records.batch import (
    HEADER_SIZE,
    MAX_SEQUENCE,
    BatchHeader,
    TimestampType,
    crc_is_valid,
    iter_headers,
    read_header,
    stamp,
    stamp_append_time,
    stamp_create_time,
    stamp_max_timestamp,
    write_header,
)
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.record import Record, build_batch, read_records
from kafkalite.types import LeaderEpoch, Offset, ProducerEpoch, ProducerId, TimestampMs

LOG_DIRS = Path(__file__).parent.parent / "data" / "log-dirs"
LOGS = sorted(LOG_DIRS.glob("*/*.log")) + sorted(LOG_DIRS.glob("*/*.checkpoint"))


def a_batch(**options: object) -> bytearray:
    # Any of build_batch's options: mypy cannot see through the mapping.
    return build_batch([Record(b"k", b"v" * 20, timestamp=TimestampMs(1000))] * 3, **options)  # type: ignore[arg-type]


def header_with(**fields: int) -> BatchHeader:
    return read_header(a_batch())._replace(**fields)  # type: ignore[arg-type]  # ints for NewTypes.


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log.parent.name}/{log.name}")
def test_walks_every_log_of_the_real_kafka_to_its_end(log: Path) -> None:
    data = log.read_bytes()
    end, next_offset = 0, -1
    for position, header in iter_headers(data):
        assert position == end
        assert header.base_offset >= next_offset
        assert header.magic == 2
        assert crc_is_valid(data, position, header)
        end, next_offset = position + header.size_bytes, header.next_offset
    assert end == len(data)


def test_header_has_the_numbers_of_the_wire() -> None:
    raw = struct.pack(">qiibIhiqqqhii", 7, 49, 3, 2, 9, 0x3C, 4, 50, 60, 70, 8, 90, 5)
    assert len(raw) == HEADER_SIZE
    header = read_header(b"xx" + raw, 2)
    assert header == (7, 49, 3, 2, 9, 0x3C, 4, 50, 60, 70, 8, 90, 5)
    assert header.last_offset == 11
    assert header.next_offset == 12
    assert header.size_bytes == 61
    assert header.last_sequence == 94
    assert header.compression is Compression.ZSTD
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert header.is_transactional
    assert header.is_control
    assert not header.has_delete_horizon
    assert header.delete_horizon_ms is None


def test_plain_header_has_no_flags() -> None:
    header = read_header(a_batch())
    assert header.compression is Compression.NONE
    assert header.timestamp_type is TimestampType.CREATE_TIME
    assert not header.is_transactional
    assert not header.is_control
    assert header.last_sequence == -1


def test_delete_horizon_is_the_base_timestamp() -> None:
    header = read_header(a_batch(delete_horizon_ms=TimestampMs(77)))
    assert header.has_delete_horizon
    assert header.delete_horizon_ms == 77


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_unassigned_codec_is_refused(codec: int) -> None:
    with pytest.raises(CorruptRecordError, match=f"codec {codec}"):
        _ = header_with(attributes=codec).compression


def test_sequences_wrap_to_zero() -> None:
    header = header_with(base_sequence=MAX_SEQUENCE, last_offset_delta=2)
    assert header.last_sequence == 1


@pytest.mark.parametrize("size", [0, 1, HEADER_SIZE - 1])
def test_short_header_is_refused(size: int) -> None:
    with pytest.raises(CorruptRecordError, match=f"{size} bytes"):
        read_header(bytes(a_batch())[:size])


@pytest.mark.parametrize("position", [-1, 1])
def test_position_outside_is_refused(position: int) -> None:
    with pytest.raises(CorruptRecordError):
        read_header(bytes(a_batch())[:HEADER_SIZE], position)


@pytest.mark.parametrize("magic", [-1, 0, 1, 3])
def test_other_magic_is_refused_in_kafkas_words(magic: int) -> None:
    batch = a_batch()
    struct.pack_into(">b", batch, 16, magic)
    with pytest.raises(CorruptRecordError, match=f"Invalid magic found in record: {magic}"):
        read_header(batch)


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 48])
def test_length_without_room_for_a_header_is_refused(length: int) -> None:
    batch = a_batch()
    struct.pack_into(">i", batch, 8, length)
    with pytest.raises(CorruptRecordError, match=f"batch length {length}"):
        read_header(batch)
    with pytest.raises(CorruptRecordError):
        list(iter_headers(batch))


def test_incomplete_batch_at_the_end_is_left_out() -> None:
    whole = a_batch()
    for size in range(len(whole)):
        assert [position for position, _ in iter_headers(whole + whole[:size])] == [0]
    assert [position for position, _ in iter_headers(whole + whole)] == [0, len(whole)]


def test_crc_sees_a_flipped_bit_from_the_attributes_on_and_none_before() -> None:
    batch = a_batch()
    for position in (*range(12), *range(12, 16), 21, 22, 30, 60, len(batch) - 1):
        batch[position] ^= 1
        header = read_header(a_batch())
        assert crc_is_valid(batch, 0, header) == (position < 16)
        batch[position] ^= 1


def test_crc_of_a_batch_that_is_not_whole_is_not_valid() -> None:
    batch = a_batch()
    assert not crc_is_valid(batch[:-1], 0, read_header(batch))


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_crc_takes_any_buffer_and_leaves_it_free(kind: type) -> None:
    batch = kind(bytes(a_batch()))
    assert crc_is_valid(batch, 0, read_header(batch))
    if isinstance(batch, bytearray):
        batch.append(0)  # BufferError if a view were left open.


def test_stamp_changes_offset_and_epoch_and_nothing_else() -> None:
    before = a_batch()
    buffer = bytearray(5) + before + b"rest"
    stamp(memoryview(buffer), 5, base_offset=Offset(2**40), leader_epoch=LeaderEpoch(9))
    header = read_header(buffer, 5)
    assert (header.base_offset, header.partition_leader_epoch) == (2**40, 9)
    assert header[3:] == read_header(before)[3:]
    assert crc_is_valid(buffer, 5, header)
    assert buffer[:5] == bytes(5)
    assert buffer[-4:] == b"rest"


@pytest.mark.parametrize("compression", Compression)
def test_append_time_is_the_time_of_every_record(compression: Compression) -> None:
    buffer = bytearray(3) + a_batch(compression=compression) + b"rest"
    stamp_append_time(buffer, 3, TimestampMs(123456))
    header = read_header(buffer, 3)
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert header.compression is compression
    assert header.max_timestamp == 123456
    assert crc_is_valid(buffer, 3, header)
    assert {record.timestamp for record in read_records(buffer, 3, header)} == {123456}


def test_append_time_gives_what_kafka_wrote() -> None:
    """A batch of the append-time topic, back to create time and stamped again."""
    data = (LOG_DIRS / "append-time-0" / "00000000000000000000.log").read_bytes()
    position, header = next(iter_headers(data))
    original = data[position : position + header.size_bytes]
    batch = bytearray(original)
    create_time = header._replace(attributes=0, max_timestamp=TimestampMs(1))
    write_header(batch, create_time)
    assert batch != original
    stamp_append_time(batch, 0, header.max_timestamp)
    assert batch == original


@pytest.mark.parametrize("compression", Compression)
def test_create_time_brings_the_records_own_times_back(compression: Compression) -> None:
    batch = a_batch(compression=compression)
    before, latest = bytes(batch), read_header(batch).max_timestamp
    stamp_append_time(batch, 0, TimestampMs(123456))
    stamp_create_time(batch, 0, latest)
    assert batch == before
    stamp_create_time(batch, 0, latest)
    assert batch == before


def test_max_timestamp_can_be_set_alone() -> None:
    batch = a_batch()
    stamp_max_timestamp(batch, 0, TimestampMs(5000))
    header = read_header(batch)
    assert header.max_timestamp == 5000
    assert header.timestamp_type is TimestampType.CREATE_TIME
    assert crc_is_valid(batch, 0, header)


def test_write_header_computes_the_crc() -> None:
    batch = a_batch()
    header = read_header(batch)._replace(
        crc=0, producer_id=ProducerId(5), producer_epoch=ProducerEpoch(1), base_sequence=3
    )
    write_header(batch, header)
    written = read_header(batch)
    assert written._replace(crc=0) == header
    assert crc_is_valid(batch, 0, written)
