"""A log that forgets its oldest records: what is read, what is on the disk, what comes back."""

from __future__ import annotations

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.errors import ErrorCode, InvariantError, KafkaError
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.log_cuts import delete_records
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.retention import delete_old_segments
from kafkalite.types import LeaderEpoch, Offset
from tests.log.log_fixtures import (
    EPOCH,
    FOLDER,
    NOW,
    append,
    batch,
    headers,
    idempotent,
    open_log,
    read,
    stored,
)

SIZE = len(batch())
TWO_A_SEGMENT = TopicConfig(segment_bytes=2 * SIZE)


def log_of(count: int, files: MemoryFiles | None = None) -> PartitionLog:
    """One record a batch, two a segment."""
    log = open_log(files, TWO_A_SEGMENT)
    for _ in range(count):
        append(log, batch())
    return log


def delete(log: PartitionLog, offset: int) -> None:
    """Delete, and let retention look."""
    delete_records(log, Offset(offset))
    delete_old_segments(log, high_watermark=log.end_offset, now=NOW)


def base_offsets(log: PartitionLog) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def names(files: MemoryFiles, suffix: str) -> list[int]:
    return [int(name.removesuffix(suffix)) for name in files.list(FOLDER) if name.endswith(suffix)]


def test_what_is_below_cannot_be_read_any_more() -> None:
    log = log_of(6)
    delete_records(log, Offset(3))
    assert log.log_start_offset == 3
    with pytest.raises(KafkaError) as refused:
        read(log, 2)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert headers(read(log, 3))[0].base_offset == 3
    assert log.end_offset == 6


def test_a_batch_in_which_the_log_begins_is_read_whole() -> None:
    log = open_log()
    append(log, batch(1, 2, 3))
    delete_records(log, Offset(1))
    assert headers(read(log, 1))[0].base_offset == 0


@pytest.mark.parametrize(
    ("offset", "kept"),
    [(1, [0, 2, 4]), (2, [2, 4]), (3, [2, 4]), (4, [4]), (5, [4]), (6, [4])],
)
def test_whole_segments_go_but_never_the_last(offset: int, kept: list[int]) -> None:
    files = MemoryFiles()
    log = log_of(6, files)
    delete(log, offset)
    assert base_offsets(log) == kept
    assert log.first_segment_offset == kept[0]
    assert names(files, ".log") == kept
    for suffix in (".index", ".timeindex"):
        assert names(files, suffix) == kept[:-1]  # The active segment's are in memory.
    assert log.size_bytes == 2 * SIZE * len(kept)


def test_the_start_never_falls() -> None:
    log = log_of(6)
    delete_records(log, Offset(5))
    delete_records(log, Offset(2))
    assert log.log_start_offset == 5


def test_beyond_the_end_is_no_place_to_begin() -> None:
    log = log_of(2)
    with pytest.raises(InvariantError):
        delete_records(log, Offset(3))
    assert log.log_start_offset == 0


def test_appends_go_on_where_all_was_deleted() -> None:
    log = log_of(4)
    delete(log, 4)
    assert read(log, 4) == b""
    assert append(log, batch()).base_offset == 4
    assert headers(read(log, 4))[0].base_offset == 4


def test_epochs_below_are_forgotten() -> None:
    log = log_of(4)
    delete_records(log, Offset(3))
    assert log.epochs.starts[0].start_offset == 3


def test_snapshots_of_segments_that_are_gone_go_too() -> None:
    files = MemoryFiles()
    log = log_of(6, files)
    assert names(files, ".snapshot") == [2, 4]
    delete(log, 4)
    assert names(files, ".snapshot") == [4]


def test_the_newest_snapshot_stays() -> None:
    files = MemoryFiles()
    log = log_of(5, files)
    delete(log, 5)
    assert names(files, ".snapshot") == [4]


def test_producers_keep_what_is_known_of_them() -> None:
    log = open_log(config=TWO_A_SEGMENT)
    for sequence in range(4):
        append(log, idempotent(sequence))
    delete(log, 4)
    assert append(log, idempotent(3)).is_duplicate
    assert append(log, idempotent(4)).base_offset == 4


def test_a_slice_on_lease_outlives_its_segment() -> None:
    log = log_of(4)
    whole = stored(log)
    found = log.read(Offset(0), max_bytes=1 << 20, max_offset=Offset(4), first_batch_whole=True)
    delete(log, 4)
    assert isinstance(found.part, memoryview)
    assert bytes(found.part) == whole[: 2 * SIZE]
    found.part.release()


@pytest.mark.parametrize("clean", [True, False])
def test_a_log_begins_where_the_checkpoint_says(clean: bool) -> None:
    files = MemoryFiles()
    log = log_of(6, files)
    delete(log, 3)
    log.close()
    log.sync()
    again = open_log(files, TWO_A_SEGMENT, clean=clean, log_start_offset=3)
    assert (again.log_start_offset, again.end_offset) == (3, 6)
    assert base_offsets(again) == [2, 4]


def test_without_the_checkpoint_it_begins_with_its_first_segment() -> None:
    files = MemoryFiles()
    log = log_of(6, files)
    delete(log, 3)
    again = open_log(files, TWO_A_SEGMENT, clean=False)
    assert (again.log_start_offset, again.end_offset) == (2, 6)


def test_times_are_looked_up_among_what_is_left() -> None:
    log = open_log()
    for timestamp in (NOW, NOW + 1, NOW + 2):
        append(log, batch(timestamp))
    delete_records(log, Offset(2))
    found = log.offset_for_timestamp(NOW)
    assert found is not None
    assert found.offset == 2


def test_the_same_again_drops_what_was_rolled_meanwhile() -> None:
    log = log_of(2)
    delete(log, 2)
    assert base_offsets(log) == [0]
    append(log, batch())
    assert base_offsets(log) == [0, 2]
    delete(log, 2)
    assert base_offsets(log) == [2]


def test_epochs_that_a_crash_has_left_begin_with_the_log() -> None:
    """The checkpoint of log starts may be on the disk, and not the epochs as of then."""
    files = MemoryFiles()
    log = open_log(files)
    for epoch in (EPOCH, EPOCH, EPOCH + 1, EPOCH + 1, EPOCH + 2):
        append(log, batch(), epoch=LeaderEpoch(epoch))
    log.close()
    assert log.epochs.starts == ((EPOCH, 0), (EPOCH + 1, 2), (EPOCH + 2, 4))
    again = open_log(files, log_start_offset=3)
    assert again.epochs.starts == ((EPOCH + 1, 3), (EPOCH + 2, 4))
    assert again.epochs.end_of(EPOCH, again.end_offset) == (EPOCH, 3)
