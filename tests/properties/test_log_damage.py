"""Whatever file of a log's folder is damaged and how, opening repairs it into a log that works.

After an unclean stop: everything is checked then. Records that are read are whole and are Kafka's.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.partition_log import PartitionLog
from kafkalite.protocol.records.batch import crc_is_valid, iter_headers
from kafkalite.types import Offset, TimestampMs
from tests.log.golden_folders import ROOT, golden_bytes, memory_copy, open_golden
from tests.log.log_fixtures import append, batch, taken

NAMES = ("idempotent-0", "segments-0", "transactions-0", "compacted-0", "codec-zstd-0")
FILES = [
    (name, path.name)
    for name in NAMES
    for path in sorted((ROOT / name).iterdir())
    if path.name != "partition.metadata"
]


def damage(files: MemoryFiles, path: str, kind: int, where: int, byte: int) -> None:
    file = files.open(path)
    size = file.size
    match kind:
        case 0 if size:
            file.write_at(where % size, bytes([byte]))
        case 1:
            file.truncate(where % (size + 1))
        case 2:
            file.append(bytes([byte]) * (where % 100))
        case _:
            files.remove(path)


def stored_batches(name: str) -> set[bytes]:
    found = set()
    for path in (ROOT / name).glob("*.log"):
        data = golden_bytes(name, path.name)
        for position, header in iter_headers(data):
            found.add(data[position + 16 : position + header.size_bytes])
    return found


def read_all(log: PartitionLog, known: set[bytes]) -> None:
    offset = log.log_start_offset
    while offset < log.end_offset:
        data = taken(
            log.read(offset, max_bytes=1 << 20, max_offset=log.end_offset, first_batch_whole=True)
        )
        if not data:
            return
        for position, header in iter_headers(data):
            assert crc_is_valid(data, position, header)
            assert data[position + 16 : position + header.size_bytes] in known
            assert header.last_offset >= offset
            offset = header.next_offset


@settings(max_examples=300, deadline=None)
@given(
    which=st.sampled_from(FILES),
    kind=st.integers(min_value=0, max_value=3),
    where=st.integers(min_value=0, max_value=1 << 16),
    byte=st.integers(min_value=0, max_value=255),
)
def test_damage_is_repaired(which: tuple[str, str], kind: int, where: int, byte: int) -> None:
    name, file = which
    files = memory_copy(name)
    damage(files, f"{name}/{file}", kind, where, byte)
    log = open_golden(name, clean=False, files=files)
    known = stored_batches(name)
    read_all(log, known)
    log.offset_for_timestamp(TimestampMs(1_700_000_030_000))
    log.offset_of_max_timestamp()
    end = log.end_offset
    appended = append(log, batch())
    assert appended.base_offset == end
    log.close()
    again = open_golden(name, clean=True, files=files)
    assert again.end_offset == Offset(end + 1)
    assert again.cuts == ()
