"""Records as a stream: what is asked for is there, what is held is little, what ends is told."""

from __future__ import annotations

import pytest

from kafkalite.errors import CorruptRecordError
from kafkalite.protocol.records.compression import (
    Compression,
    DecompressedTooLargeError,
    compress,
)
from kafkalite.protocol.records.stream import HEAD_BYTES, ReadBudget, RecordStream

DATA = bytes(range(256)) * 4_000
"""A megabyte, which comes in several pieces."""
NO_LIMIT = 1 << 40


def stream(codec: Compression, data: bytes = DATA, limit_bytes: int = NO_LIMIT) -> RecordStream:
    budget = ReadBudget(limit_bytes, 0)
    return RecordStream(codec, memoryview(compress(codec, data)), budget)


@pytest.mark.parametrize("codec", list(Compression))
def test_heads_and_skips_follow_one_another(codec: Compression) -> None:
    read = stream(codec)
    at = 0
    for step in (0, 1, 20, 40_000, 300_000, 5, 600_000):
        read.skip(step)
        at += step
        assert read.head() == DATA[at : at + HEAD_BYTES]
    read.skip(len(DATA) - at - 3)
    assert read.head() == DATA[-3:]
    assert read.rest() == 3
    assert (read.rest(), bytes(read.head())) == (0, b"")


@pytest.mark.parametrize("codec", list(Compression))
def test_what_is_to_be_held_is_in_one(codec: Compression) -> None:
    read = stream(codec)
    read.skip(100)
    read.fill(700_000)
    assert read.window[read.at : read.at + 700_000] == DATA[100:700_100]
    read.fill(10)
    assert read.window[read.at : read.at + 10] == DATA[100:110]
    read.fill(len(DATA))
    assert read.window[read.at :] == DATA[100:], "as far as there is something"


@pytest.mark.parametrize("codec", list(Compression))
def test_the_end_cannot_be_passed(codec: Compression) -> None:
    read = stream(codec, b"abc")
    read.skip(3)
    with pytest.raises(CorruptRecordError, match="ends within a record"):
        read.skip(1)


def test_a_budget_is_spent_by_all_who_read_with_it() -> None:
    budget = ReadBudget(len(DATA) + 10, 2)
    data = memoryview(compress(Compression.GZIP, DATA))
    assert RecordStream(Compression.GZIP, data, budget).rest() == len(DATA)
    assert budget.bytes_left == 10
    with pytest.raises(DecompressedTooLargeError):
        RecordStream(Compression.GZIP, data, budget).skip(11)
    budget.take_record()
    budget.take_record()
    with pytest.raises(CorruptRecordError, match="more records than"):
        budget.take_record()


def test_what_is_not_compressed_costs_no_bytes() -> None:
    budget = ReadBudget(0, 0)
    assert RecordStream(Compression.NONE, memoryview(DATA), budget).rest() == len(DATA)
    assert budget.bytes_left == 0
