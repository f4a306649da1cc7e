"""Segments that are too old go, whole, oldest first, and no more than is due."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log import opening
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.files_os import OsFiles
from kafkalite.log.log_cuts import delete_records
from kafkalite.log.os_file import OsSlice
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.retention import Deletion, delete_old_segments
from kafkalite.log.segment_indexes import SegmentIndexes
from kafkalite.log.time_index import TimeIndex
from kafkalite.types import Offset, TimestampMs
from tests.log.log_fixtures import (
    FOLDER,
    NOW,
    TOPIC_ID,
    append,
    batch,
    idempotent,
    open_log,
    read,
    stored,
)

SIZE = len(batch())
HOUR = 3_600_000
TWO_A_SEGMENT = TopicConfig(segment_bytes=2 * SIZE, retention_ms=-1, segment_ms=10**12)


def log_of(
    count: int,
    files: MemoryFiles | None = None,
    *,
    retention_bytes: int = -1,
    retention_ms: int = -1,
) -> PartitionLog:
    """One record a batch, an hour between two, two a segment; the last is from `NOW`."""
    config = TWO_A_SEGMENT._replace(retention_bytes=retention_bytes, retention_ms=retention_ms)
    log = open_log(files, config)
    for index in range(count):
        append(log, batch(NOW - (count - 1 - index) * HOUR))
    return log


def retain(
    log: PartitionLog, now: int = NOW, *, high_watermark: int | None = None
) -> list[Deletion]:
    end = log.end_offset if high_watermark is None else high_watermark
    return delete_old_segments(log, high_watermark=Offset(end), now=TimestampMs(now))


def early() -> TimeIndex:
    """That the first segment is from long ago."""
    index = TimeIndex()
    index.append(TimestampMs(NOW - 100 * HOUR), 1)
    return index


def bases(log: PartitionLog) -> list[int]:
    return [segment.base_offset for segment in log.segments]


@pytest.mark.parametrize(
    ("limit", "kept"),
    [
        (6 * SIZE, [0, 2, 4]),
        (4 * SIZE + 1, [0, 2, 4]),
        (4 * SIZE, [2, 4]),
        (2 * SIZE + 1, [2, 4]),
        (2 * SIZE, [4]),
        (1, [4]),
        (0, [6]),
        (-1, [0, 2, 4]),
    ],
)
def test_a_log_that_is_too_large_loses_what_still_leaves_it_large_enough(
    limit: int, kept: list[int]
) -> None:
    log = log_of(6, retention_bytes=limit)
    retain(log)
    assert bases(log) == kept
    assert (log.log_start_offset, log.end_offset) == (kept[0], 6)


@pytest.mark.parametrize(
    ("limit", "kept"),
    [(4 * HOUR, [0, 2, 4]), (4 * HOUR - 1, [2, 4]), (2 * HOUR - 1, [4]), (0, [4]), (-1, [0, 2, 4])],
)
def test_a_segment_is_as_old_as_its_latest_record(limit: int, kept: list[int]) -> None:
    log = log_of(6, retention_ms=limit)
    retain(log)
    assert bases(log) == kept


def test_an_active_segment_that_is_due_is_rolled_and_goes() -> None:
    files = MemoryFiles()
    log = log_of(5, files, retention_ms=HOUR)
    retain(log, NOW + HOUR + 1)
    assert (bases(log), log.log_start_offset, log.end_offset, log.size_bytes) == ([5], 5, 5, 0)
    assert append(log, batch()).base_offset == 5
    assert retain(log, NOW + HOUR) == []


def test_an_empty_log_stays_as_it_is() -> None:
    files = MemoryFiles()
    log = log_of(0, files, retention_ms=0, retention_bytes=0)
    assert retain(log, NOW + HOUR) == []
    assert files.list("") == []


def test_a_record_of_the_future_keeps_its_segment_and_those_behind() -> None:
    log = open_log(config=TWO_A_SEGMENT._replace(retention_ms=HOUR))
    append(log, batch(NOW + HOUR // 2))
    for _ in range(3):
        append(log, batch(NOW - 9 * HOUR))
    retain(log)
    assert bases(log) == [0, 2]


def test_without_timestamps_a_segment_ages_from_when_it_was_made() -> None:
    log = open_log(config=TWO_A_SEGMENT._replace(retention_ms=HOUR))
    for _ in range(3):
        append(log, batch(-1))
    retain(log, NOW + HOUR)
    assert bases(log) == [0, 2]
    retain(log, NOW + HOUR + 1)
    assert bases(log) == [3]


@pytest.mark.parametrize(
    ("high_watermark", "kept"), [(0, [0, 2, 4]), (1, [0, 2, 4]), (2, [2, 4]), (5, [4]), (6, [6])]
)
def test_nothing_goes_that_is_not_committed(high_watermark: int, kept: list[int]) -> None:
    for size_limit, age_limit in ((0, -1), (-1, 0)):
        log = log_of(6, retention_bytes=size_limit, retention_ms=age_limit)
        retain(log, NOW + 1, high_watermark=high_watermark)
        assert bases(log) == kept


@pytest.mark.parametrize(
    ("policy", "kept"),
    [(("delete",), [6]), (("compact", "delete"), [6]), (("compact",), [2, 4]), ((), [2, 4])],
)
def test_without_the_policy_delete_only_what_is_below_the_start_goes(
    policy: tuple[str, ...], kept: list[int]
) -> None:
    log = log_of(6, retention_ms=0, retention_bytes=0)
    log.configure(log.config._replace(cleanup_policy=policy))
    delete_records(log, Offset(3))
    retain(log, NOW + 1)
    assert bases(log) == kept


def test_a_change_of_the_setting_acts_at_the_next_look() -> None:
    log = log_of(6)
    assert retain(log, NOW + 90 * 24 * HOUR) == []
    log.configure(log.config._replace(retention_ms=2 * HOUR - 1))
    retain(log)
    assert bases(log) == [4]


def test_files_are_renamed_first_and_removed_later() -> None:
    files = MemoryFiles()
    log = log_of(6, files, retention_bytes=2 * SIZE)
    (deletion,) = retain(log)
    assert (deletion.base_offsets, "size" in deletion.reason) == ((0, 2), True)
    gone = [f"{base:020d}.{kind}" for base in (0, 2) for kind in ("index", "log", "timeindex")]
    gone.append(f"{2:020d}.snapshot")
    kept = [name for name in files.list(FOLDER) if not name.endswith(".deleted")]
    assert kept == [
        f"{4:020d}.log",
        f"{4:020d}.snapshot",
        "leader-epoch-checkpoint",
        "partition.metadata",
    ]
    assert sorted(set(files.list(FOLDER)) - set(kept)) == sorted(f"{n}.deleted" for n in gone)
    files.remove(f"{FOLDER}/{0:020d}.log.deleted")  # Somebody else was first.
    deletion.retired.remove()
    assert files.list(FOLDER) == kept


def test_what_a_stop_left_is_removed_when_the_log_is_opened() -> None:
    files = MemoryFiles()
    log = log_of(6, files, retention_bytes=2 * SIZE)
    retain(log)
    log.close()
    again = open_log(files, TWO_A_SEGMENT)
    assert not [name for name in files.list(FOLDER) if name.endswith(".deleted")]
    assert (again.log_start_offset, again.end_offset) == (4, 6)


def test_readers_go_on_with_what_they_have_got() -> None:
    log = log_of(4, retention_bytes=0)
    whole = stored(log)
    found = log.read(Offset(0), max_bytes=1 << 20, max_offset=Offset(4), first_batch_whole=True)
    (deletion,) = retain(log)
    deletion.retired.remove()
    assert isinstance(found.part, memoryview)
    assert bytes(found.part) == whole[: 2 * SIZE]
    found.part.release()
    with pytest.raises(KafkaError) as refused:
        read(log, 3)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_epochs_and_producers_go_on_where_their_segments_are_gone() -> None:
    log = open_log(config=TWO_A_SEGMENT._replace(retention_bytes=0))
    for sequence in range(4):
        append(log, idempotent(sequence))
    retain(log)
    assert [start.start_offset for start in log.epochs.starts] == [4]
    assert append(log, idempotent(3)).is_duplicate
    assert append(log, idempotent(4)).base_offset == 4


def test_a_disk_that_refuses_keeps_the_segment(monkeypatch: pytest.MonkeyPatch) -> None:
    files = MemoryFiles()
    log = log_of(6, files, retention_bytes=2 * SIZE)
    rename = files.rename

    def refuse(source: str, target: str, *, sync: bool = True) -> None:
        if source.endswith(f"{2:020d}.log"):
            raise OSError(28, "No space left on device")
        rename(source, target, sync=sync)

    with monkeypatch.context() as patch:
        patch.setattr(files, "rename", refuse)
        (deletion,) = retain(log)
        assert deletion.base_offsets == (0,)
        with pytest.raises(OSError, match="No space"):
            retain(log)
    assert bases(log) == [2, 4]
    assert log.log_start_offset == 4
    delete_records(log, Offset(5))
    retain(log)
    assert bases(log) == [4]


def test_a_slice_of_a_real_file_outlives_it(tmp_path: Path) -> None:
    files = OsFiles(str(tmp_path))
    config = TWO_A_SEGMENT._replace(retention_bytes=0)
    log = opening.open_log(files, FOLDER, config=config, topic_id=TOPIC_ID, now=NOW, clean=True)
    for _ in range(4):
        append(log, batch())
    whole = stored(log)
    found = log.read(Offset(0), max_bytes=1 << 20, max_offset=Offset(4), first_batch_whole=True)
    (deletion,) = retain(log)
    assert isinstance(found.part, OsSlice)
    assert found.part.read(0, 2 * SIZE) == whole[: 2 * SIZE]
    deletion.retired.remove()
    assert sorted(name for name in files.list(FOLDER) if name.endswith(".log")) == [f"{4:020d}.log"]
    assert found.part.read(0, 2 * SIZE) == whole[: 2 * SIZE]
    found.part.release()
    log.release_files()


def test_an_index_of_transactions_goes_along() -> None:
    files = MemoryFiles()
    log = log_of(4, files, retention_bytes=0)
    files.replace(f"{FOLDER}/{0:020d}.txnindex", b"")
    (deletion,) = retain(log)
    assert f"{FOLDER}/{0:020d}.txnindex.deleted" in deletion.retired.paths


class TestReopened:
    """The indexes of old segments are not in memory then."""

    def opened(self, files: MemoryFiles, *, retention_ms: int) -> PartitionLog:
        log = log_of(6, files)
        log.close()
        return open_log(files, TWO_A_SEGMENT._replace(retention_ms=retention_ms))

    @pytest.mark.parametrize(("limit", "kept"), [(4 * HOUR, [0, 2, 4]), (4 * HOUR - 1, [2, 4])])
    def test_segments_are_as_old_as_before(self, limit: int, kept: list[int]) -> None:
        log = self.opened(MemoryFiles(), retention_ms=limit)
        retain(log)
        assert bases(log) == kept

    def test_no_more_is_read_than_it_takes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        log = self.opened(MemoryFiles(), retention_ms=4 * HOUR)
        monkeypatch.delattr(SegmentIndexes, "load")
        retain(log)
        assert bases(log) == [0, 2, 4]

    @pytest.mark.parametrize(
        "damage", [b"", b"short", bytes(12), bytes(24), TimeIndex.to_bytes(early())]
    )
    def test_a_time_index_that_is_wrong_has_nothing_deleted(self, damage: bytes) -> None:
        files = MemoryFiles()
        log = self.opened(files, retention_ms=4 * HOUR)
        files.replace(f"{FOLDER}/{0:020d}.timeindex", damage)
        retain(log)
        assert bases(log) == [0, 2, 4]

    def test_one_that_is_gone_is_made_again(self) -> None:
        files = MemoryFiles()
        log = self.opened(files, retention_ms=4 * HOUR - 1)
        files.remove(f"{FOLDER}/{0:020d}.timeindex")
        retain(log)
        assert bases(log) == [2, 4]
