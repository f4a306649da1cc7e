from __future__ import annotations

import pytest

from kafkalite.errors import CorruptRecordError
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.metadata.changes import Change, UnknownChange, encode_change
from kafkalite.protocol.records.batch import iter_headers, read_header
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.stores import checkpoint as checkpoint_module
from kafkalite.stores.checkpoint import (
    FORMATTED,
    changes_in,
    checkpoint,
    checkpoint_batches,
    checkpoint_name,
    newest_checkpoint,
    read_checkpoint,
    voter_records,
)
from kafkalite.types import BrokerId, LeaderEpoch, TimestampMs
from tests.metadata.sample_changes import topic, uuid

NOW = TimestampMs(1_700_000_000_000)
VOTERS = voter_records(BrokerId(1), uuid(1), NOW)


def in_file(content: bytes) -> MemoryFiles:
    files = MemoryFiles()
    files.replace("file", content)
    return files


def test_changes_come_back() -> None:
    changes: list[Change] = [topic("a", 1), topic("b", 2)]
    files = in_file(checkpoint(VOTERS, changes, NOW))
    assert list(read_checkpoint(files, "file")) == changes


def test_many_changes_stand_in_several_batches_whose_offsets_go_on() -> None:
    changes: list[Change] = [topic(f"t{n}", n) for n in range(250)]
    content = b"".join(checkpoint_batches(VOTERS, changes, NOW, leader_epoch=LeaderEpoch(7)))
    headers = [header for _, header in iter_headers(content)]
    assert [header.records_count for header in headers] == [3, 100, 100, 50, 1]
    assert [h.next_offset for h in headers[:-1]] == [h.base_offset for h in headers[1:]]
    assert {header.partition_leader_epoch for header in headers} == {7}
    assert [header.is_control for header in headers] == [True, False, False, False, True]
    assert len(list(read_checkpoint(in_file(content), "file"))) == 250


def test_a_missing_file_has_no_changes() -> None:
    assert list(read_checkpoint(MemoryFiles(), "file")) == []


def test_a_damaged_file_is_refused() -> None:
    content = bytearray(checkpoint(VOTERS, [topic("a", 1)], NOW))
    content[-90] ^= 1
    with pytest.raises(CorruptRecordError):
        list(read_checkpoint(in_file(bytes(content)), "file"))


def test_the_newest_snapshot_is_the_one_with_the_highest_offset() -> None:
    files = MemoryFiles()
    files.make_folder("f")
    files.replace(f"f/{FORMATTED}", b"")
    files.replace("f/quorum-state", b"")
    files.replace("f/00000000000000000009-0000000001.checkpoint.part", b"")
    assert newest_checkpoint(files, "f") is None
    for end_offset, epoch in ((5, 9), (100, 2), (20, 3)):
        files.replace(f"f/{checkpoint_name(end_offset, epoch)}", b"")
    newest = newest_checkpoint(files, "f")
    assert newest is not None
    assert (newest.end_offset, newest.epoch) == (100, 2)
    assert newest.name == "00000000000000000100-0000000002.checkpoint"


def test_a_compressed_batch_may_hold_so_much(monkeypatch: pytest.MonkeyPatch) -> None:
    change = encode_change(UnknownChange(99, bytes((1, 99, 0)) + bytes(100_000)))
    batch = memoryview(build_batch([Record(None, change)], compression=Compression.ZSTD))
    assert len(list(changes_in(batch, 0, read_header(batch)))) == 1
    monkeypatch.setattr(checkpoint_module, "_BATCH_BYTES", 50_000)
    with pytest.raises(CorruptRecordError, match="more than 50000 bytes"):
        list(changes_in(batch, 0, read_header(batch)))
