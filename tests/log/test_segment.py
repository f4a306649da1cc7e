"""What a segment remembers of its begin: leftovers, deleted records, and its age."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError
from kafkalite.log import opening
from kafkalite.log.files_memory import MemoryFile, MemoryFiles
from kafkalite.log.files_os import OsFiles
from kafkalite.log.log_cuts import delete_records, truncate_to
from kafkalite.log.segment import Segment
from kafkalite.types import NO_TIMESTAMP, Offset, TimestampMs
from tests.log.log_fixtures import FOLDER, NOW, TOPIC_ID, append, batch, open_log

PIECE_BYTES = 4096
"""Read at a time by a lookup."""


def test_a_new_segment_is_empty_whatever_a_roll_that_failed_has_left() -> None:
    files = MemoryFiles()
    files.make_folder("t-0")
    files.replace("t-0/00000000000000000005.log", b"left")
    segment = Segment.create(files, "t-0", Offset(5), TopicConfig(), NOW)
    assert (segment.size, segment.file.size) == (0, 0)


@pytest.mark.parametrize("clean", [True, False])
def test_a_file_longer_than_any_segment_is_refused(tmp_path: Path, clean: bool) -> None:
    """As by Kafka; its zeros take no room on the disk."""
    files = OsFiles(str(tmp_path))
    files.make_folder(FOLDER)
    files.open(f"{FOLDER}/{0:020d}.log").append(batch())
    os.truncate(tmp_path / FOLDER / f"{0:020d}.log", 2**31)
    with pytest.raises(CorruptRecordError, match="2147483648 bytes: too many"):
        opening.open_log(
            files, FOLDER, config=TopicConfig(), topic_id=TOPIC_ID, now=NOW, clean=clean
        )


def test_a_deleted_record_is_not_found_by_its_time() -> None:
    log = open_log()
    append(log, batch(10, 20, 30))
    append(log, batch(40))
    delete_records(log, Offset(1))
    found = log.offset_for_timestamp(TimestampMs(5))
    assert found is not None
    assert (found.timestamp, found.offset) == (20, 1)
    delete_records(log, Offset(3))
    found = log.offset_for_timestamp(TimestampMs(5))
    assert found is not None
    assert (found.timestamp, found.offset) == (40, 3)


def test_a_segment_that_was_cut_to_nothing_is_as_old_as_the_cut() -> None:
    """Without timestamps its age is all there is to say when to roll."""
    log = open_log(config=TopicConfig(segment_ms=1_000))
    append(log, batch(NO_TIMESTAMP))
    cut_at = TimestampMs(NOW + 5_000)
    truncate_to(log, Offset(0), cut_at)
    for now in (cut_at + 500, cut_at + 1_000):
        append(log, batch(NO_TIMESTAMP), now=TimestampMs(now))
    assert len(log.segments) == 1
    append(log, batch(NO_TIMESTAMP), now=TimestampMs(cut_at + 1_001))
    assert len(log.segments) == 2


@pytest.mark.parametrize("interval_bytes", [0, 100, 1_000])
@pytest.mark.parametrize("index_bytes", [60, 400])
@pytest.mark.parametrize("segment_bytes", [3_000, 1 << 20])
def test_it_rolls_before_a_batch_that_its_files_have_no_room_for(
    interval_bytes: int, index_bytes: int, segment_bytes: int
) -> None:
    """However it knows: here each batch asks the indexes themselves."""
    config = TopicConfig(
        index_interval_bytes=interval_bytes,
        segment_index_bytes=index_bytes,
        segment_bytes=segment_bytes,
    )
    log = open_log(config=config)
    for turn in range(120):
        segment, data = log.segments[-1], batch(turn, value=bytes(turn * 379 % 1_000))
        indexes = segment.indexes
        has_room = (
            segment.size + len(data) <= segment_bytes
            and indexes.offsets.size_bytes + 8 <= index_bytes
            and indexes.times.size_bytes + 2 * 12 <= index_bytes
        )
        append(log, data)
        assert (log.segments[-1] is segment) == has_room, turn
    assert len(log.segments) > 1


@pytest.mark.parametrize("is_closed", [False, True], ids=["active", "opened again"])
@pytest.mark.parametrize(
    ("interval_bytes", "value_bytes", "start"),
    [(4096, 100, 0), (4096, 10_000, 10_000_000_000), (65536, 3_000, 0)],
)
def test_a_lookup_reads_no_more_than_an_index_interval_and_a_batch(
    interval_bytes: int,
    value_bytes: int,
    start: int,
    is_closed: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However large the segment is, and its offsets are. In whole pieces: what the last one has
    too much costs nothing more."""
    files = MemoryFiles()
    log = open_log(files, TopicConfig(index_interval_bytes=interval_bytes), log_start_offset=start)
    data = batch(value=bytes(value_bytes))
    most = interval_bytes + len(data)
    while log.size_bytes < 20 * most:
        append(log, data.copy())
    if is_closed:
        log.close()
        log = open_log(files)
    (segment,) = log.segments
    assert segment.indexes.offsets.last_offset > 0
    read: list[tuple[int, int]] = []
    plain = MemoryFile.read

    def noted(file: MemoryFile, position: int, size: int) -> bytes:
        found = plain(file, position, size)
        read.append((position, len(found)))
        return found

    monkeypatch.setattr(MemoryFile, "read", noted)
    total = 0
    for offset in range(start, log.end_offset):
        read.clear()
        found = segment.find(offset)
        assert found is not None
        assert found.base_offset == offset
        assert all(found.position - most <= position <= found.position for position, _ in read)
        assert sum(size for _, size in read) <= most + PIECE_BYTES
        total += len(read)
    assert total > 0
