"""An index that is damaged after a clean stop costs no record and tells no wrong one: its entries
are held against the log where they are used, and made again when they lie."""

from __future__ import annotations

from struct import pack

import pytest

from kafkalite.log.files import read_part
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.verification import Verification
from kafkalite.protocol.records.batch import crc_is_valid, read_header, stamp_max_timestamp
from kafkalite.types import Offset, TimestampMs
from tests.log.golden_folders import golden_bytes, memory_copy, open_golden

NAME = "segments-0"
STEM = "00000000000000000370"
FIRST, END = 370, 490
FIRST_MS = 1_700_000_000_000
"""Offset n has this and n seconds."""


def damaged(suffix: str, at: int, data: bytes) -> MemoryFiles:
    """The golden folder with some bytes of an index replaced."""
    files = memory_copy(NAME)
    content = bytearray(golden_bytes(NAME, STEM + suffix))
    assert at + len(data) <= len(content)
    content[at : at + len(data)] = data
    files.replace(f"{NAME}/{STEM}{suffix}", bytes(content))
    return files


def check_reads(log: PartitionLog) -> None:
    for offset in range(FIRST, END):
        found = log.read(
            Offset(offset), max_bytes=1, max_offset=log.end_offset, first_batch_whole=True
        )
        assert found.part is not None
        data = read_part(found.part)
        header = read_header(data)
        assert header.base_offset <= offset <= header.last_offset
        assert crc_is_valid(data, 0, header)


def check_times(log: PartitionLog) -> None:
    for offset in range(FIRST, END):
        found = log.offset_for_timestamp(TimestampMs(FIRST_MS + offset * 1_000))
        assert found is not None
        assert found.offset == offset


@pytest.mark.parametrize("position", [6_311, 5_071, 6_306])
def test_a_wrong_position(position: int, caplog: pytest.LogCaptureFixture) -> None:
    """Amid its batch, amid another, and a byte too early."""
    files = damaged(".index", 4 * 8 + 4, pack(">i", position))
    log = open_golden(NAME, clean=True, files=files)
    check_reads(log)
    check_times(log)
    (told,) = caplog.messages
    assert f"the indexes of {NAME}/{STEM}.log are wrong, and are made again" in told
    log.close()
    assert list(Verification(files).partition(NAME)) == []


def test_a_wrong_offset() -> None:
    log = open_golden(NAME, clean=True, files=damaged(".index", 4 * 8, pack(">i", 58)))
    check_reads(log)


@pytest.mark.parametrize("shift", [1, 5_000, -5_000])
def test_a_wrong_timestamp(shift: int) -> None:
    entry = FIRST_MS + 429_000
    assert pack(">q", entry) == golden_bytes(NAME, f"{STEM}.timeindex")[4 * 12 : 4 * 12 + 8]
    files = damaged(".timeindex", 4 * 12, pack(">q", entry + shift))
    log = open_golden(NAME, clean=True, files=files)
    check_times(log)
    log.close()
    assert list(Verification(files).partition(NAME)) == []


def test_a_timestamp_that_has_changed_in_the_log() -> None:
    """In a batch that the time index is past already; its CRC is wrong, which a clean start does
    not look at."""
    name = "codec-zstd-0"
    files = memory_copy(name)
    path = f"{name}/{0:020d}.log"
    file = files.open(path)
    stamp_max_timestamp(changed := bytearray(file.read(0, file.size)), 0, TimestampMs(1 << 50))
    files.replace(path, bytes(changed))
    log = open_golden(name, clean=True, files=files)
    log.close()
    log = open_golden(name, clean=True, files=files)
    found = log.offset_for_timestamp(TimestampMs(1 << 49))
    assert found is None or found.offset <= 19
