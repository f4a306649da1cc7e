"""The sparse indexes: lookups, truncation, and files that cannot be right."""

from __future__ import annotations

import pytest

from kafkalite.errors import CorruptRecordError
from kafkalite.log.index import OffsetIndex
from kafkalite.log.time_index import TimeIndex
from kafkalite.types import TimestampMs


def offsets(*entries: tuple[int, int]) -> OffsetIndex:
    index = OffsetIndex()
    for offset, position in entries:
        index.append(offset, position)
    return index


def times(*entries: tuple[int, int]) -> TimeIndex:
    index = TimeIndex()
    for timestamp, offset in entries:
        index.append(TimestampMs(timestamp), offset)
    return index


def test_an_offset_is_found_at_or_below() -> None:
    index = offsets((5, 100), (9, 200))
    assert [index.lookup(offset) for offset in (0, 4, 5, 8, 9, 99)] == [0, 0, 100, 100, 200, 200]
    assert (index.last_offset, index.last_position, len(index)) == (9, 200, 2)
    empty = offsets()
    assert (empty.lookup(7), empty.last_offset, empty.last_position) == (0, 0, 0)


def test_offsets_must_ascend() -> None:
    with pytest.raises(AssertionError):
        offsets((5, 100), (5, 200))


def test_offsets_are_truncated() -> None:
    index = offsets((5, 100), (9, 200), (12, 300))
    index.truncate(9)
    assert (index.last_offset, len(index)) == (5, 1)


def test_offset_entries_as_bytes() -> None:
    data = bytes.fromhex("0000000500000064 00000009 000000c8")
    assert offsets((5, 100), (9, 200)).to_bytes() == data
    assert OffsetIndex.from_bytes(data).lookup(9) == 200
    preallocated = OffsetIndex.from_bytes(data + bytes(80))
    assert preallocated.to_bytes() == data
    assert len(OffsetIndex.from_bytes(bytes(80))) == 0


@pytest.mark.parametrize(
    "data",
    [b"1234567", b"\xff" * 8, b"\0\0\0\5\0\0\0\0", bytes(16) + b"\0\0\0\1\0\0\0\1", b"\1" * 16],
)
def test_offset_indexes_that_cannot_be_right(data: bytes) -> None:
    with pytest.raises(CorruptRecordError):
        OffsetIndex.from_bytes(data)


def test_a_timestamp_is_found_at_or_below() -> None:
    index = times((10, 3), (20, 7))
    found = [index.lookup(TimestampMs(timestamp)) for timestamp in (9, 10, 19, 20, 99)]
    assert found == [(-1, 0), (10, 3), (10, 3), (20, 7), (20, 7)]


@pytest.mark.parametrize("wrong", [(11, 9), (12, 7)])
def test_times_must_ascend(wrong: tuple[int, int]) -> None:
    index = times((10, 3), (11, 8))
    assert [index[at] for at in range(len(index))] == [(10, 3), (11, 8)]
    assert (index.last, times().last) == ((11, 8), (-1, 0))
    with pytest.raises(AssertionError):
        index.append(TimestampMs(wrong[0]), wrong[1])


def test_times_are_truncated() -> None:
    index = times((10, 3), (20, 7), (30, 9))
    index.truncate(7)
    assert index.last == (10, 3)
    index.truncate(0)
    assert len(index) == 0


def test_time_entries_as_bytes() -> None:
    data = bytes.fromhex("000000000000000a00000003 000000000000001400000007")
    assert times((10, 3), (20, 7)).to_bytes() == data
    assert TimeIndex.from_bytes(data).last == (20, 7)
    assert TimeIndex.from_bytes(data + bytes(24)).to_bytes() == data


@pytest.mark.parametrize("data", [b"1234567", b"\xff" * 12, b"\1" * 24, b"\2" * 12 + b"\1" * 12])
def test_time_indexes_that_cannot_be_right(data: bytes) -> None:
    with pytest.raises(CorruptRecordError):
        TimeIndex.from_bytes(data)
