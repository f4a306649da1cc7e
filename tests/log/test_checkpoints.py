"""The small text files, as Kafka writes them and as it reads them."""

from __future__ import annotations

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError
from kafkalite.log.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    format_partition_metadata,
    read_offsets,
    read_topic_id,
    write_offsets,
)
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.types import Offset, TopicPartition, format_uuid, parse_uuid
from tests.log.golden_folders import NAMES, ROOT
from tests.log.log_fixtures import NOW, TOPIC_ID, append, batch, close, log_directory


@pytest.fixture
def files() -> MemoryFiles:
    return MemoryFiles()


@pytest.mark.parametrize(
    "name", [RECOVERY_POINTS, HIGH_WATERMARKS, LOG_START_OFFSETS, CLEANER_OFFSETS]
)
def test_kafkas_checkpoints_are_read_and_written(files: MemoryFiles, name: str) -> None:
    content = (ROOT / name).read_bytes()
    files.replace(name, content)
    offsets = read_offsets(files, name)
    assert offsets
    write_offsets(files, name, offsets)
    written = files.open_read(name).read(0, 9999)
    assert sorted(written.splitlines()) == sorted(content.splitlines())
    assert written.splitlines()[:2] == content.splitlines()[:2]
    assert read_offsets(files, name) == offsets


def test_while_it_runs_no_recovery_point_is_amid_a_segment_without_indexes() -> None:
    """Or else a Kafka that is started after a kill misses them, and complains."""
    files = MemoryFiles()
    key = TopicPartition("orders", 3)
    small = TopicConfig(segment_bytes=2 * len(batch()))

    def found() -> tuple[int, int]:
        log.sync()
        return log.recovery_point, directory.checkpoints.find_recovery_points()[key]

    directory = log_directory(files)
    log = directory.open_partition(key, topic_id=TOPIC_ID, config=small, now=NOW)
    append(log, batch())
    assert found() == (1, 0)
    append(log, batch())
    append(log, batch())
    assert found() == (3, 2)
    log.close()
    assert found() == (3, 3)
    append(log, batch())
    assert found() == (4, 4), "it has those of the last stop"
    directory.abandon()
    directory = log_directory(files)
    log = directory.open_partition(key, topic_id=TOPIC_ID, config=small, now=NOW)
    assert found() == (4, 2), "what a crash has left is trusted no more"


def test_a_missing_or_empty_checkpoint_has_no_offsets(files: MemoryFiles) -> None:
    assert read_offsets(files, RECOVERY_POINTS) == {}
    files.replace(RECOVERY_POINTS, b"")
    assert read_offsets(files, RECOVERY_POINTS) == {}


def test_topics_are_sorted(files: MemoryFiles) -> None:
    offsets = {TopicPartition("b", 0): Offset(3), TopicPartition("a", 10): Offset(1)}
    write_offsets(files, "x", offsets)
    assert files.open_read("x").read(0, 99) == b"0\n2\na 10 1\nb 0 3\n"


@pytest.mark.parametrize(
    "content",
    [b"1\n0\n", b"0\n", b"0\n1\n", b"0\n1\nt 0\n", b"0\n1\nt x 5\n", b"0\n1\nt 0 y\n", b"\xff"],
)
def test_a_damaged_checkpoint_is_refused(files: MemoryFiles, content: bytes) -> None:
    files.replace("x", content)
    with pytest.raises(CorruptRecordError):
        read_offsets(files, "x")


@pytest.mark.parametrize("name", NAMES)
def test_kafkas_partition_metadata(files: MemoryFiles, name: str) -> None:
    content = (ROOT / name / "partition.metadata").read_bytes()
    files.make_folder(name)
    files.replace(f"{name}/partition.metadata", content)
    topic_id = read_topic_id(files, name)
    assert topic_id is not None
    assert format_uuid(topic_id).encode() in content
    assert format_partition_metadata(topic_id) == content


@pytest.mark.parametrize(
    "content",
    [b"version: 1\ntopic_id: x", b"version: 0\n", b"version: 0\ntopic_id: short", b"\xff"],
)
def test_damaged_partition_metadata_is_refused(files: MemoryFiles, content: bytes) -> None:
    files.make_folder("t-0")
    assert read_topic_id(files, "t-0") is None
    files.replace("t-0/partition.metadata", content)
    with pytest.raises(CorruptRecordError):
        read_topic_id(files, "t-0")


def test_a_topic_id_is_sixteen_bytes() -> None:
    assert format_partition_metadata(parse_uuid("AAAAAAAAAAAAAAAAAAAAAQ")) == (
        b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"
    )


ALL_CHECKPOINTS = (RECOVERY_POINTS, HIGH_WATERMARKS, LOG_START_OFFSETS, CLEANER_OFFSETS)


def told_of(files: MemoryFiles, *partitions: TopicPartition) -> None:
    """A log folder whose four files tell of these."""
    close(log_directory(files))
    for name in ALL_CHECKPOINTS:
        write_offsets(files, name, dict.fromkeys(partitions, Offset(20)))


def test_what_a_kill_left_of_a_deleted_partition_is_forgotten(files: MemoryFiles) -> None:
    """Or else a topic that is made by its name would be believed to be on the disk up to there."""
    gone, there = TopicPartition("gone", 0), TopicPartition("orders", 3)
    told_of(files, gone, there)
    files.make_folder(str(there))
    directory = log_directory(files)
    directory.open_partition(gone, topic_id=TOPIC_ID, config=TopicConfig(), now=NOW)
    assert directory.logs[gone].recovery_point == 0
    for name in ALL_CHECKPOINTS:
        assert there in read_offsets(files, name)
        assert read_offsets(files, name).get(gone, 0) == 0


def test_lines_of_a_log_that_is_on_its_way_here_stay(files: MemoryFiles) -> None:
    """It was moved from another log folder, and has not its name yet: without its lines it would
    begin where it does not, and could be cut at a hole that compaction made."""
    coming = TopicPartition("coming", 0)
    told_of(files, coming)
    files.make_folder(f"{coming}.{32 * 'a'}-future")
    checkpoints = log_directory(files).checkpoints
    assert checkpoints.log_starts == checkpoints.cleaner_offsets == {coming: 20}
