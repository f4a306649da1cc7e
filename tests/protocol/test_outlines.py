"""Outlines of records: what the records themselves say, and refused where they are."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.errors import CorruptRecordError
from kafkalite.protocol.records import outlines
from kafkalite.protocol.records.batch import HEADER_SIZE, LOG_OVERHEAD, read_header
from kafkalite.protocol.records.compression import (
    Compression,
    DecompressedTooLargeError,
    DecompressionError,
)
from kafkalite.protocol.records.outlines import RecordOutline, read_outlines
from kafkalite.protocol.records.record import Header, Record, build_batch, read_records
from kafkalite.protocol.records.stream import ReadBudget
from kafkalite.types import Offset, TimestampMs

CODECS = list(Compression)
MIB = 1 << 20
NO_LIMIT = 2**31 - 1
RECORDS = [
    Record(None, None, timestamp=TimestampMs(5)),
    Record(b"key", b"v" * 100, (Header("h", b"x"), Header("i", None)), TimestampMs(10**12)),
    Record(b"k", bytes(range(256)) * 5_000, (Header("h" * 300, b""),), TimestampMs(3)),
    Record(bytes(2 * MIB), b"", timestamp=TimestampMs(0), offset=Offset(2_000_000)),
    Record(None, bytes(600_000), timestamp=TimestampMs(7), offset=Offset(2_000_001)),
    Record(b"k", None, timestamp=TimestampMs(-(2**62)), offset=Offset(2_000_002)),
]


def read(
    batch: bytes | bytearray, budget: ReadBudget | None = None, *, max_record_bytes: int = NO_LIMIT
) -> list[RecordOutline]:
    budget = budget or ReadBudget(NO_LIMIT, NO_LIMIT)
    header = read_header(batch)
    return list(read_outlines(batch, 0, header, budget, max_record_bytes=max_record_bytes))


def of(batch: bytes | bytearray) -> list[RecordOutline]:
    """By way of the records."""
    return [
        RecordOutline(
            record.timestamp,
            record.offset,
            None if record.key is None else len(record.key),
            None if record.value is None else len(record.value),
        )
        for record in read_records(batch, 0, read_header(batch))
    ]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("append_time", [None, TimestampMs(99)])
def test_the_same_as_the_records_say(codec: Compression, append_time: TimestampMs | None) -> None:
    batch = build_batch(RECORDS, base_offset=Offset(7), compression=codec, append_time=append_time)
    assert read(batch) == of(batch)
    assert read(build_batch([], compression=codec)) == []


def test_sums_are_those_of_64_bits() -> None:
    batch = build_batch([Record(None, None, timestamp=TimestampMs(t)) for t in (0, 1)])
    header = read_header(batch)._replace(
        base_timestamp=TimestampMs(2**63 - 1), base_offset=Offset(2**63 - 1)
    )
    budget = ReadBudget(NO_LIMIT, NO_LIMIT)
    found = read_outlines(batch, 0, header, budget, max_record_bytes=NO_LIMIT)
    assert [(each.timestamp, each.offset) for each in found] == [
        (record.timestamp, record.offset) for record in read_records(batch, 0, header)
    ]


def same_refusal(batch: bytes | bytearray) -> bool:
    """Whether both ways refuse it; they must agree."""
    try:
        records = of(batch)
    except CorruptRecordError:
        with pytest.raises(CorruptRecordError):
            read(batch)
        return True
    assert read(batch) == records
    return False


@pytest.mark.parametrize("held_bytes", [0, MIB])
@given(at=st.integers(0, 200), byte=st.integers(0, 255), length=st.integers(0, 4))
def test_what_makes_no_sense_is_refused_as_the_records_are(
    held_bytes: int, at: int, byte: int, length: int
) -> None:
    """Read in one, and field by field."""
    batch = build_batch(
        [
            Record(b"k", b"value", (Header("h", b"x"), Header("i", None)), TimestampMs(70)),
            Record(None, bytes(70), (), TimestampMs(5)),
            Record(b"k" * 70, None, (Header("h" * 70, b""),), TimestampMs(10**9)),
        ]
    )
    at = HEADER_SIZE + at % (len(batch) - HEADER_SIZE)
    batch[at : at + length] = bytes((byte,))
    batch[8:12] = (len(batch) - LOG_OVERHEAD).to_bytes(4, "big")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outlines, "_HELD_BYTES", held_bytes)
        same_refusal(batch)


@pytest.mark.parametrize("held_bytes", [0, MIB])
@pytest.mark.parametrize("count", [-1, 1, 3])
def test_another_count_than_the_batch_has(
    held_bytes: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outlines, "_HELD_BYTES", held_bytes)
    batch = build_batch([Record(b"k", b"v"), Record(b"k", b"v")])
    batch[57:61] = count.to_bytes(4, "big", signed=True)
    assert same_refusal(batch)


def test_a_batch_that_is_not_whole() -> None:
    batch = build_batch([Record(b"k", b"v")])
    header = read_header(batch)
    with pytest.raises(CorruptRecordError, match="not whole"):
        list(
            read_outlines(
                batch[:-1], 0, header, ReadBudget(NO_LIMIT, NO_LIMIT), max_record_bytes=NO_LIMIT
            )
        )


@pytest.mark.parametrize("codec", CODECS[1:])
def test_bytes_that_are_no_stream_of_their_codec(codec: Compression) -> None:
    batch = build_batch([Record(b"k", b"v" * 100)])
    batch[22] |= codec
    with pytest.raises(DecompressionError):
        read(batch)
    cut = build_batch([Record(b"k", bytes(range(256)) * 100)], compression=codec)[:-9]
    cut[8:12] = (len(cut) - LOG_OVERHEAD).to_bytes(4, "big")
    with pytest.raises(CorruptRecordError):
        read(cut)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("value_size", [1_000, 3 * MIB])
def test_a_record_has_a_size_if_it_is_compressed(codec: Compression, value_size: int) -> None:
    batch = build_batch([Record(b"k", b"v"), Record(b"k", bytes(value_size))], compression=codec)
    data = build_batch([Record(b"k", bytes(value_size), offset=Offset(1))])
    size = len(data) - HEADER_SIZE - (2 if value_size == 1_000 else 4)
    assert len(read(batch, max_record_bytes=size)) == 2
    if codec is Compression.NONE:
        assert len(read(batch, max_record_bytes=size - 1)) == 2
    else:
        with pytest.raises(DecompressedTooLargeError):
            read(batch, max_record_bytes=size - 1)


def test_the_budget_bounds_bytes_and_records() -> None:
    batch = build_batch([Record(b"k", bytes(1000))] * 1000, compression=Compression.ZSTD)
    assert len(read(batch, ReadBudget(1_100_000, 1000))) == 1000
    with pytest.raises(CorruptRecordError, match="more records than"):
        read(batch, ReadBudget(1_100_000, 999))
    with pytest.raises(DecompressedTooLargeError):
        read(batch, ReadBudget(900_000, 1000))


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.LZ4, Compression.ZSTD])
@pytest.mark.parametrize("count", [1, 64])
def test_a_batch_of_any_size_takes_little_memory(codec: Compression, count: int) -> None:
    """Snappy's own blocks are small, or a batch is one of them."""
    batch = build_batch([Record(b"k", bytes(64 * MIB // count))] * count, compression=codec)
    tracemalloc.start()
    try:
        assert len(read(batch)) == count
        assert tracemalloc.get_traced_memory()[1] < 16 * MIB
    finally:
        tracemalloc.stop()
