"""Batches read back where pieces, files or lengths end in an odd place."""

from __future__ import annotations

import pytest

from kafkalite.errors import CorruptRecordError
from kafkalite.log.files import File
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.scan import find_batch, scan_batches
from kafkalite.protocol.records.batch import HEADER_SIZE
from tests.log.log_fixtures import batch

PIECE_BYTES = 1 << 20
"""Read at a time."""


def file_of(*parts: bytes | bytearray) -> File:
    file = MemoryFiles().open("a.log")
    file.append(b"".join(parts))
    return file


def batch_of_size(size: int) -> bytearray:
    data = batch(value=bytes(size))
    data = batch(value=bytes(2 * size - len(data)))
    assert len(data) == size
    return data


@pytest.mark.parametrize("missing", [12, HEADER_SIZE - 1, HEADER_SIZE, 70])
def test_a_piece_may_end_anywhere_in_a_batch(missing: int) -> None:
    first, second = batch_of_size(PIECE_BYTES - missing), batch()
    assert len(second) <= 70
    file = file_of(first, second)
    found = [(each.position, each.header.size_bytes) for each in scan_batches(file, 0, file.size)]
    assert found == [(0, len(first)), (len(first), len(second))]


def test_a_file_that_is_shorter_than_told() -> None:
    data = batch()
    file = file_of(data[:-1])
    with pytest.raises(CorruptRecordError, match="ends within a batch"):
        list(scan_batches(file, 0, len(data)))


@pytest.mark.parametrize("length", [0, -12])
def test_a_lookup_does_not_pass_by_what_is_no_batch(length: int) -> None:
    data = batch()
    file = file_of(data, bytes(8) + length.to_bytes(4, "big", signed=True) + bytes(200))
    with pytest.raises(CorruptRecordError, match=f"a batch length of {length} at {len(data)}"):
        find_batch(file, 0, file.size, 5)


def test_a_lookup_does_not_find_a_batch_that_is_cut_off() -> None:
    data = batch()
    file = file_of(data, data[:-1])
    assert find_batch(file, 0, file.size, 0) is not None
    with pytest.raises(CorruptRecordError, match=f"the batch at {len(data)} is cut off"):
        find_batch(file, len(data), file.size, 0)
