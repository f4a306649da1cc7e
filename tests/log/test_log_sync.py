"""A sync that takes its time, while the log goes on."""

from __future__ import annotations

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.log_cuts import truncate_to
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.retention import delete_old_segments
from kafkalite.types import LeaderEpoch, Offset
from tests.log.log_fixtures import EPOCH, FOLDER, NOW, append, batch, idempotent, open_log, stored

ONE_A_SEGMENT = TopicConfig(segment_bytes=len(batch()))


def crashed(files: MemoryFiles, recovery_point: int = 0) -> PartitionLog:
    """The log after a loss of power."""
    files.crash()
    files.make_folder("")
    log = open_log(files, clean=False)
    assert log.end_offset >= recovery_point
    return log


@pytest.fixture
def files() -> MemoryFiles:
    return MemoryFiles(models_crashes=True)


def test_what_is_appended_meanwhile_is_for_the_next(files: MemoryFiles) -> None:
    log = open_log(files)
    append(log, batch())
    first = log.begin_sync()
    first.run()
    append(log, batch())
    log.end_sync(first, is_durable=True)
    assert log.recovery_point == 1
    second = log.begin_sync()
    second.run()
    log.end_sync(second, is_durable=True)
    assert log.recovery_point == 2
    assert crashed(files).end_offset == 2


def test_a_roll_and_an_epoch_meanwhile_are_for_the_next(files: MemoryFiles) -> None:
    log = open_log(files, ONE_A_SEGMENT)
    append(log, idempotent(0))
    first = log.begin_sync()
    first.run()
    append(log, idempotent(1), epoch=LeaderEpoch(EPOCH + 1))
    log.end_sync(first, is_durable=True)
    log.sync()
    whole, starts = stored(log), log.epochs.starts
    again = crashed(files, 2)
    assert (stored(again), again.epochs.starts) == (whole, starts)


def test_after_a_refusal_all_of_it_is_synced_again(
    files: MemoryFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = open_log(files, ONE_A_SEGMENT)
    for sequence in range(3):
        append(log, idempotent(sequence))

    def refuse(path: str) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(files, "sync_file", refuse)
        with pytest.raises(OSError, match="Input"):
            log.sync()
    assert log.recovery_point == 0
    log.sync()
    assert log.recovery_point == 3
    assert crashed(files).end_offset == 3


def test_a_cut_meanwhile_leaves_the_recovery_point_down(files: MemoryFiles) -> None:
    log = open_log(files)
    append(log, batch())
    append(log, batch())
    sync = log.begin_sync()
    sync.run()
    truncate_to(log, Offset(1), NOW)
    append(log, batch())
    log.end_sync(sync, is_durable=True)
    assert log.recovery_point == 0
    log.sync()
    assert crashed(files).end_offset == 2


def test_segments_that_go_meanwhile_are_not_waited_for(files: MemoryFiles) -> None:
    log = open_log(files, ONE_A_SEGMENT._replace(retention_bytes=1))
    for _ in range(3):
        append(log, batch())
    sync = log.begin_sync()
    for deletion in delete_old_segments(log, high_watermark=log.end_offset, now=NOW):
        deletion.retired.remove()
    sync.run()
    log.end_sync(sync, is_durable=True)
    assert log.recovery_point == 3
    assert crashed(files).end_offset == 3


def test_a_folder_that_is_gone_needs_no_sync(files: MemoryFiles) -> None:
    log = open_log(files)
    append(log, batch())
    sync = log.begin_sync()
    files.rename(FOLDER, "orders-3.deadbeef-delete", sync=False)
    sync.run()


@pytest.mark.parametrize(
    ("flush_messages", "held"),
    [(1, [True, True, True]), (3, [False, False, True]), (4, [False, False, False])],
)
def test_flush_messages_says_when(flush_messages: int, held: list[bool]) -> None:
    log = open_log(config=TopicConfig(flush_messages=flush_messages))
    seen = []
    for _ in range(3):
        append(log, batch())
        assert log.is_held_back == (log.end_offset >= log.flush_at)
        seen.append(log.is_held_back)
    assert seen == held
    log.sync()
    assert not log.is_held_back
    assert log.flush_at == 3 + flush_messages


@pytest.mark.parametrize("is_syncing", [False, True])
@pytest.mark.parametrize(("flush_messages", "held"), [(1, [True, True]), (2, [False, True])])
def test_after_a_cut_flush_messages_counts_from_there(
    flush_messages: int, held: list[bool], is_syncing: bool
) -> None:
    """Else records that a follower gets in place of others are not synced, and nobody waits."""
    log = open_log(config=TopicConfig(flush_messages=flush_messages))
    for _ in range(5):
        append(log, batch())
    sync = log.begin_sync()
    sync.run()
    if not is_syncing:
        log.end_sync(sync, is_durable=True)
    truncate_to(log, Offset(2))
    if is_syncing:
        log.end_sync(sync, is_durable=True)
        assert log.recovery_point == 0
        assert log.end_offset >= log.flush_at
        log.sync()
    seen = []
    for _ in range(2):
        append(log, batch())
        assert log.is_held_back == (log.end_offset >= log.flush_at)
        seen.append(log.is_held_back)
    assert seen == held


def test_a_roll_asks_for_a_sync_that_nobody_has_to_wait_for() -> None:
    log = open_log(config=ONE_A_SEGMENT)
    append(log, batch())
    assert log.end_offset < log.flush_at
    append(log, batch())
    assert log.end_offset >= log.flush_at
    assert not log.is_held_back
    log.sync()
    assert log.end_offset < log.flush_at
