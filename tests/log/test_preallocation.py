"""`preallocate`: the file of a new segment has its full size from its first record to its last."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.log import opening
from kafkalite.log.files import read_part
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.files_os import OsFiles
from kafkalite.log.log_cuts import truncate_to
from kafkalite.log.partition_log import PartitionLog
from kafkalite.types import LeaderEpoch, Offset
from tests.log.log_fixtures import EPOCH, FOLDER, NOW, TOPIC_ID, append, batch, stored
from tests.log.log_fixtures import open_log as open_in_memory

FULL = 2_000
CONFIG = TopicConfig(segment_bytes=FULL, index_interval_bytes=200, preallocate=True)
ONE = len(batch())


@pytest.fixture(params=[None, 0], ids=["", "few descriptors"])
def files(tmp_path: Path, request: pytest.FixtureRequest) -> OsFiles:
    return OsFiles(str(tmp_path), limit=request.param)


def open_log(files: OsFiles, config: TopicConfig = CONFIG, *, clean: bool = True) -> PartitionLog:
    return opening.open_log(files, FOLDER, config=config, topic_id=TOPIC_ID, now=NOW, clean=clean)


def sizes(folder: Path) -> dict[str, int]:
    return {
        path.name.lstrip("0") or path.name: path.stat().st_size
        for path in sorted((folder / FOLDER).glob("*.log"))
    }


def all_offsets(log: PartitionLog) -> list[int]:
    found = []
    offset = log.log_start_offset
    while offset < log.end_offset:
        got = log.read(offset, max_bytes=ONE, max_offset=log.end_offset, first_batch_whole=True)
        assert got.part is not None
        base = int.from_bytes(read_part(got.part)[:8], "big")
        found.append(base)
        offset = Offset(base + 1)
    return found


def fill(log: PartitionLog, count: int) -> None:
    for _ in range(count):
        append(log, batch())


def test_a_new_segment_has_its_full_size_and_is_cut_to_what_it_holds_when_it_rolls(
    files: OsFiles, tmp_path: Path
) -> None:
    log = open_log(files)
    fill(log, 3)
    assert sizes(tmp_path) == {".log": FULL}
    assert log.size_bytes == 3 * ONE
    assert all_offsets(log) == [0, 1, 2]
    log.roll(NOW)
    fill(log, 1)
    assert sizes(tmp_path) == {".log": 3 * ONE, "3.log": FULL}
    assert all_offsets(log) == [0, 1, 2, 3]
    log.sync()
    log.close()
    assert sizes(tmp_path) == {".log": 3 * ONE, "3.log": ONE}


@pytest.mark.parametrize("how", ["rolls", "stops", "is let go, and rolls"])
def test_that_it_is_cut_is_synced_too(files: OsFiles, how: str) -> None:
    """Or a loss of power leaves zeros behind its records, and below the recovery point nobody looks
    for them: whoever reads there gets them."""
    log = open_log(files, CONFIG._replace(index_interval_bytes=1))
    fill(log, 3)
    active = log.segments[0]
    active.held.let_go()
    log.sync()
    assert active.files.is_synced
    if "let go" in how:
        log.release_files()
    if how == "stops":
        log.close()
    else:
        log.roll(NOW)
    assert log.segments[0].name in log.folder.unsynced(log.recovery_point).files
    log.sync()
    assert log.folder.unsynced(log.recovery_point).files == ()
    log.close()
    assert log.segments[0].name not in log.folder.unsynced(log.recovery_point).files, "only once"


def test_without_it_the_file_grows(files: OsFiles, tmp_path: Path) -> None:
    log = open_log(files, CONFIG._replace(preallocate=False))
    fill(log, 1)
    assert sizes(tmp_path) == {".log": ONE}
    log.configure(CONFIG)
    fill(log, 1)
    assert sizes(tmp_path) == {".log": 2 * ONE}, "it is not new any more"


def test_one_that_was_there_grows(files: OsFiles, tmp_path: Path) -> None:
    """As in Kafka: only what is made is made so."""
    log = open_log(files)
    fill(log, 1)
    log.close()
    log = open_log(files)
    fill(log, 1)
    assert sizes(tmp_path) == {".log": 2 * ONE}
    assert all_offsets(log) == [0, 1]


def test_what_a_kill_leaves_behind_the_records_is_cut(files: OsFiles, tmp_path: Path) -> None:
    fill(open_log(files), 3)
    log = open_log(files, clean=False)
    assert sizes(tmp_path) == {".log": 3 * ONE}
    assert [(cut.position, cut.size_bytes, cut.reason) for cut in log.cuts] == [
        (
            3 * ONE,
            FULL - 3 * ONE,
            "its file was made at its full size, and nothing was written there",
        )
    ]
    fill(log, 1)
    assert all_offsets(log) == [0, 1, 2, 3]


def test_a_truncation_ends_it(files: OsFiles, tmp_path: Path) -> None:
    log = open_log(files)
    fill(log, 3)
    truncate_to(log, Offset(1))
    assert sizes(tmp_path) == {".log": ONE}
    fill(log, 1)
    log.sync()
    assert all_offsets(log) == [0, 1]


def test_an_append_that_fails_leaves_it_as_it_was(
    files: OsFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = open_log(files)
    fill(log, 1)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half_a_write)
        with pytest.raises(OSError, match="No space"):
            append(log, batch())
    assert sizes(tmp_path) == {".log": FULL}
    assert not any((tmp_path / FOLDER / f"{0:020d}.log").read_bytes()[ONE:])
    fill(log, 1)
    log.sync()
    assert all_offsets(log) == [0, 1]


def half_a_write(fd: int, data: memoryview) -> int:
    """As of a disk that is full then."""
    if len(data) < ONE:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return os.pwrite(fd, data[: ONE // 2], os.lseek(fd, 0, os.SEEK_CUR))


def test_a_disk_that_has_no_room_for_it_refuses_the_record(
    files: OsFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = open_log(files)
    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", no_room)
        with pytest.raises(OSError, match="too large"):
            append(log, batch())
    assert log.end_offset == 0
    fill(log, 1)
    with monkeypatch.context() as patch:
        log.configure(CONFIG._replace(segment_bytes=FULL + 1))
        patch.setattr(os, "ftruncate", no_room_for_more)
        with pytest.raises(OSError, match="too large"):
            log.roll(NOW)
    fill(log, 1)
    assert sizes(tmp_path) == {".log": 2 * ONE, "1.log": 0}
    assert all_offsets(log) == [0, 1]
    log.roll(NOW)
    fill(log, 1)
    assert all_offsets(log) == [0, 1, 2]


def no_room(fd: int, size: int) -> None:
    raise OSError(errno.EFBIG, "File too large")


def no_room_for_more(fd: int, size: int) -> None:
    if size > FULL:
        raise OSError(errno.EFBIG, "File too large")
    os.truncate(fd, size)


def test_a_disk_that_does_not_let_it_be_cut_is_cut_by_the_next_start(
    files: OsFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = open_log(files)
    fill(log, 2)
    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", no_room)
        log.release_files()
        log.release_files()
    assert sizes(tmp_path) == {".log": FULL}
    log = open_log(files, clean=True)
    assert sizes(tmp_path) == {".log": 2 * ONE}
    assert len(log.cuts) == 1
    assert all_offsets(log) == [0, 1]


def test_memory_has_nothing_to_reserve() -> None:
    files = MemoryFiles()
    log = open_in_memory(files, CONFIG)
    append(log, batch())
    assert files.size(log.segments[0].name) == ONE
    log.sync()
    log.roll(NOW)
    append(log, batch(), epoch=LeaderEpoch(EPOCH + 1))
    assert len(stored(log)) == 2 * ONE
