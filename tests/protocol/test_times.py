"""Times of records, read without the records."""

from __future__ import annotations

import pytest

from kafkalite.errors import CorruptRecordError
from kafkalite.protocol.records.batch import HEADER_SIZE, read_header
from kafkalite.protocol.records.compression import Compression, DecompressedTooLargeError
from kafkalite.protocol.records.record import Header, Record, build_batch, read_records
from kafkalite.protocol.records.times import LOOKUP_BYTES, LookupBudget, RecordTime, read_times
from kafkalite.types import Offset, TimestampMs

CODECS = list(Compression)
RECORDS = [
    Record(None, None, timestamp=TimestampMs(5)),
    Record(b"key", b"v" * 100, (Header("h", b"x"),), TimestampMs(10**12)),
    Record(b"k", bytes(range(256)) * 4_000, timestamp=TimestampMs(3)),
    Record(None, b"", timestamp=TimestampMs(0), offset=Offset(2_000_000)),
    Record(None, bytes(600_000), timestamp=TimestampMs(7), offset=Offset(2_000_001)),
]


def times(batch: bytes | bytearray, budget: LookupBudget | None = None) -> list[RecordTime]:
    return list(read_times(batch, 0, read_header(batch), budget or LookupBudget()))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("append_time", [None, TimestampMs(99)])
def test_the_same_as_the_records_say(codec: Compression, append_time: TimestampMs | None) -> None:
    batch = build_batch(RECORDS, base_offset=Offset(7), compression=codec, append_time=append_time)
    expected = [
        RecordTime(record.timestamp, record.offset)
        for record in read_records(batch, 0, read_header(batch))
    ]
    assert times(batch) == expected
    assert list(read_times(b"before" + batch, 6, read_header(batch), LookupBudget())) == expected


def test_sums_are_those_of_64_bits() -> None:
    shifted = build_batch([Record(None, None, timestamp=TimestampMs(t)) for t in (0, 1)])
    header = read_header(shifted)._replace(
        base_timestamp=TimestampMs(2**63 - 1), base_offset=Offset(2**63 - 1)
    )
    assert [tuple(found) for found in read_times(shifted, 0, header, LookupBudget())] == [
        (record.timestamp, record.offset) for record in read_records(shifted, 0, header)
    ]


def test_a_batch_of_no_records() -> None:
    assert times(build_batch([])) == []


@pytest.mark.parametrize("codec", CODECS[1:])
def test_only_what_is_read_is_decompressed(codec: Compression) -> None:
    small = Record(None, b"v", timestamp=TimestampMs(5))
    batch = build_batch([small, Record(None, bytes(LOOKUP_BYTES))], compression=codec)
    budget = LookupBudget()
    found = read_times(batch, 0, read_header(batch), budget)
    assert next(found) == RecordTime(TimestampMs(5), Offset(0))
    assert next(found).offset == 1
    # lz4 gives several blocks at a time.
    assert budget.bytes_left >= LOOKUP_BYTES - (8 << 20)
    with pytest.raises(DecompressedTooLargeError, match=f"more than {LOOKUP_BYTES} bytes"):
        next(found)


@pytest.mark.parametrize("codec", CODECS[1:])
def test_all_batches_of_a_lookup_share_its_budget(codec: Compression) -> None:
    batch = build_batch([Record(None, bytes(100_000))], compression=codec)
    budget = LookupBudget(250_000)
    assert len(times(batch, budget)) == len(times(batch, budget)) == 1
    with pytest.raises(DecompressedTooLargeError):
        times(batch, budget)


def test_so_many_records_and_no_more() -> None:
    batch = build_batch([Record(None, None)] * 10)
    budget = LookupBudget(limit_records=15)
    assert len(times(batch, budget)) == 10
    with pytest.raises(CorruptRecordError, match="more records than"):
        times(batch, budget)


@pytest.mark.parametrize("codec", CODECS)
def test_what_makes_no_sense_is_corrupt(codec: Compression) -> None:
    batch = build_batch([Record(None, b"abc")], compression=codec)
    header = read_header(batch)
    with pytest.raises(CorruptRecordError):
        list(read_times(batch, 0, header._replace(records_count=2), LookupBudget()))
    with pytest.raises(CorruptRecordError):
        list(read_times(batch, 0, header._replace(batch_length=51), LookupBudget()))


@pytest.mark.parametrize("body", [b"\xff" * 40, b"\x7f" + bytes(20), b"\x02" + bytes(20), b"\x08"])
def test_lengths_that_cannot_be(body: bytes) -> None:
    batch = build_batch([Record(None, b"abc")])[:HEADER_SIZE] + body
    header = read_header(build_batch([Record(None, b"abc")]))
    header = header._replace(batch_length=HEADER_SIZE - 12 + len(body))
    with pytest.raises(CorruptRecordError):
        list(read_times(batch, 0, header, LookupBudget()))
