"""What a crash has left is checked beforehand, and opened like what a clean stop has left."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.errors import KafkaError
from kafkalite.log import recovery
from kafkalite.log.directories import LogDirectory
from kafkalite.log.epochs import FILE_NAME, parse_epochs
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.partition_log import PartitionLog
from kafkalite.types import Offset, ProducerId, TopicPartition, Uuid
from tests.log.log_fixtures import (
    EPOCH,
    NOW,
    TOPIC_ID,
    append,
    idempotent,
    log_directory,
    stored,
)

KEY = TopicPartition("orders", 3)
CONFIG = TopicConfig(segment_bytes=400, index_interval_bytes=100)
SYNCED = 5
"""Records that are on the disk before the crash."""
LOST = 7
"""Bytes of the last batch that the crash takes."""


class Crashed(NamedTuple):
    files: MemoryFiles
    directory: LogDirectory
    whole: bytes


def open_in(directory: LogDirectory) -> PartitionLog:
    return directory.open_partition(KEY, topic_id=TOPIC_ID, config=CONFIG, now=NOW)


def check(directory: LogDirectory, topic_id: Uuid = TOPIC_ID) -> None:
    directory.opener.check(KEY, topic_id=topic_id, config=CONFIG, now=NOW)


@pytest.fixture
def crashed() -> Crashed:
    """Several segments, of which the last has a torn batch."""
    files = MemoryFiles(models_crashes=True)
    directory = log_directory(files)
    log = open_in(directory)
    for sequence in range(9):
        append(log, idempotent(sequence))
        if sequence == SYNCED - 1:
            log.sync()
    whole = stored(log)
    append(log, idempotent(9))
    file = log.segments[-1].file
    file.truncate(file.size - LOST)
    directory.abandon()
    return Crashed(files, log_directory(files), whole)


def test_what_was_checked_is_not_scanned_again(
    crashed: Crashed, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(crashed.directory)
    assert crashed.directory.logs == {}
    with monkeypatch.context() as patch:
        patch.delattr(recovery, "recover_segment")
        log = open_in(crashed.directory)
    assert stored(log) == crashed.whole
    assert log.end_offset == 9
    producer = log.producers.get(ProducerId(9))
    assert producer is not None
    assert producer.last_sequence == 8


def test_what_was_cut_is_told_once_when_it_is_opened(crashed: Crashed) -> None:
    check(crashed.directory)
    (cut,) = open_in(crashed.directory).cuts
    assert cut.size_bytes == len(idempotent(9)) - LOST


def test_a_recovery_point_that_is_gone_is_told_once(crashed: Crashed) -> None:
    crashed.directory.checkpoints.recovery_points[KEY] = Offset(10)
    check(crashed.directory)
    assert len(open_in(crashed.directory).cuts) == 1


def test_a_check_waits_for_no_disk_so_that_the_next_sync_does(crashed: Crashed) -> None:
    files, directory, whole = crashed
    files.remove(f"{KEY}/{FILE_NAME}")
    directory.checkpoints.recovery_points[KEY] = Offset(SYNCED)
    check(directory)
    log = open_in(directory)
    log.sync()
    files.crash()
    file = files.open_read(f"{KEY}/{FILE_NAME}")
    assert [each.epoch for each in parse_epochs(file.read(0, file.size))] == [EPOCH]
    directory = log_directory(files)
    assert stored(open_in(directory)) == whole


def test_what_keeps_it_from_being_opened_is_told_then(crashed: Crashed) -> None:
    directory, other = crashed.directory, Uuid(b"another topic's.")
    check(directory, topic_id=other)
    with pytest.raises(KafkaError, match="another topic of that name"):
        directory.open_partition(KEY, topic_id=other, config=CONFIG, now=NOW)
    log = open_in(directory)
    assert (stored(log), len(log.cuts)) == (crashed.whole, 1), "that was no check"
