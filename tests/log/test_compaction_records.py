"""The cleaner's own look at records, against `read_records` and `build_batch`."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafkalite.errors import CorruptRecordError
from kafkalite.log.compaction_records import (
    ENTRY_BYTES,
    OffsetMap,
    keep_all,
    keep_latest,
    record_bytes,
    write_records,
)
from kafkalite.log.scan import StoredBatch
from kafkalite.protocol.records.batch import HEADER_SIZE, read_header
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.record import NEXT_OFFSET, Header, Record, build_batch, read_records
from kafkalite.types import Offset, TimestampMs

keys = st.none() | st.binary(max_size=40)
times = st.integers(min_value=-1, max_value=2**62)
headers = st.lists(
    st.builds(Header, st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=2
)
records = st.lists(
    st.builds(
        Record,
        key=keys,
        value=st.none() | st.binary(max_size=200),
        headers=headers.map(tuple),
        timestamp=times.map(TimestampMs),
        offset=st.just(NEXT_OFFSET),
    ),
    min_size=1,
    max_size=8,
)


def stored(data: bytes | bytearray) -> StoredBatch:
    return StoredBatch(0, read_header(data), data, 0)


@given(records=records, codec=st.sampled_from(Compression), kept=st.sets(st.integers(0, 7)))
def test_records_written_anew_are_as_built_anew(
    records: list[Record], codec: Compression, kept: set[int]
) -> None:
    batch = stored(build_batch(records, base_offset=Offset(100), compression=codec))
    data = record_bytes(batch)
    spans = keep_all(data, len(records)).spans
    left = [
        record for at, record in enumerate(read_records(*batch[2:], batch.header)) if at in kept
    ]
    chosen = [span for at, span in enumerate(spans) if at in kept]
    if not chosen:
        return
    for horizon in (None, TimestampMs(77)):
        written = write_records(
            data, chosen, batch.header.base_timestamp, append_time=None, new_base=horizon
        )
        built = build_batch(left, base_offset=Offset(100), delete_horizon_ms=horizon)
        assert written.data == built[HEADER_SIZE:]
        header = read_header(built)
        assert written.base_timestamp == header.base_timestamp
        assert written.max_timestamp == header.max_timestamp


@given(batches=st.lists(records, max_size=5), capacity=st.integers(1, 6))
def test_the_map_has_the_last_offset_of_each_key(
    batches: list[list[Record]], capacity: int
) -> None:
    offsets = OffsetMap(capacity)
    expected: dict[bytes, int] = {}
    base, is_full = 0, False
    for each in batches:
        data = record_bytes(stored(build_batch(each, base_offset=Offset(base))))
        for at, record in enumerate(each):
            if record.key is not None and base + at >= 2 and not is_full:
                is_full = len(expected) >= capacity
                if not is_full:
                    expected[bytes(record.key)] = base + at
        assert offsets.put_keys(data, len(each), Offset(base), Offset(2)) is not is_full
        base += len(each)
        if is_full:
            break
    assert len(offsets) == len(expected)
    assert {key: offsets.get(key) for key in expected} == expected
    assert offsets.get(b"a key that nobody has put here") == -1
    assert offsets.latest_offset == max(expected.values(), default=-1)


@given(st.binary(max_size=60), st.integers(0, 5))
@example(b"\x80" * 20, 1)
@example(b"\x02\x00", 1)
def test_bytes_that_are_no_records_are_refused_as_such(data: bytes, count: int) -> None:
    try:
        keep_all(data, count)
    except CorruptRecordError:
        return
    assert count > 0 or not data


@pytest.mark.parametrize("cut", range(1, 30))
def test_records_that_end_early_are_refused(cut: int) -> None:
    batch = stored(build_batch([Record(b"key", b"value"), Record(b"k", None)]))
    data = record_bytes(batch)
    if cut < len(data):
        with pytest.raises(CorruptRecordError):
            keep_all(data[:-cut], 2)


def test_what_the_map_does_not_reach_stays() -> None:
    data = record_bytes(stored(build_batch([Record(b"a", b"1"), Record(None, b"2")] * 2)))
    offsets = OffsetMap(10)
    offsets.put_keys(data, 4, Offset(0), Offset(0))
    assert offsets.latest_offset == 2
    kept = keep_latest(data, 4, Offset(0), offsets, keeps_tombstones=True)
    assert (len(kept.spans), kept.keyless) == (2, 1)


def test_keys_are_told_apart_whatever_their_length() -> None:
    offsets = OffsetMap(100)
    keys = [b"x" * length for length in range(40)]
    batch = build_batch([Record(key, b"") for key in keys])
    offsets.put_keys(record_bytes(stored(batch)), len(keys), Offset(0), Offset(0))
    assert [offsets.get(key) for key in keys] == list(range(40))


def test_a_map_takes_no_more_memory_than_it_says() -> None:
    count = 20_000
    offsets = OffsetMap.within(count * ENTRY_BYTES, 1.0)
    assert offsets.capacity == count
    records = [Record(b"%015d" % number, b"") for number in range(count + 1)]
    data = record_bytes(stored(build_batch(records)))
    tracemalloc.start()
    try:
        assert not offsets.put_keys(data, count + 1, Offset(1 << 40), Offset(0))
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(offsets) == count
    assert used <= count * ENTRY_BYTES


def test_compressed_records_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkalite.log.compaction_records.BATCH_LIMIT_BYTES", 1000)
    batch = build_batch([Record(b"k", b"v" * 2000)], compression=Compression.ZSTD)
    with pytest.raises(CorruptRecordError, match="more than 1000 bytes"):
        record_bytes(stored(batch))
