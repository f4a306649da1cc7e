"""What a metadata log has lost is told, and what a crash may leave is not taken for a loss."""

from __future__ import annotations

import pytest

from kafkalite.log.checkpoints import format_partition_metadata
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.metadata.changes import Change
from kafkalite.protocol.messages.metadata_records import RemoveTopicRecord
from kafkalite.stores.losses import LostTopicsError
from kafkalite.stores.metadata_log import FOLDER, MetadataLog
from kafkalite.types import BrokerId, TimestampMs
from tests.log.trees import Tree, tree
from tests.metadata.sample_changes import partition, topic, uuid

NOW = TimestampMs(1_700_000_000_000)
LOG = f"{FOLDER}/{0:020}.log"


def open_log(files: MemoryFiles, *, clean: bool = False) -> MetadataLog:
    return MetadataLog.open(
        files,
        node_id=BrokerId(1),
        directory_id=uuid(77),
        now=NOW,
        clean=clean,
        formatted_with=(),
    )


def log_with(files: MemoryFiles, *commits: list[Change]) -> MetadataLog:
    log = open_log(files)
    log.begin_epoch(NOW)
    for commit in commits:
        log.append(commit, NOW)
    return log


def make_partition(files: MemoryFiles, folder: str, number: int | None, log: bytes = b"") -> None:
    """As a topic of that id has it."""
    files.make_folder(folder)
    if number is not None:
        files.replace(f"{folder}/partition.metadata", format_partition_metadata(uuid(number)))
    files.replace(f"{folder}/{0:020}.log", log)


def new_topic(name: str, number: int, partitions: int = 1) -> list[Change]:
    return [topic(name, number), *(partition(number, at, [1]) for at in range(partitions))]


def cut_in_half(files: MemoryFiles) -> None:
    file = files.open(LOG)
    file.truncate(file.size // 2)


@pytest.fixture
def files() -> MemoryFiles:
    return MemoryFiles()


def refused(files: MemoryFiles) -> LostTopicsError:
    """Why it is not opened; nothing has changed then."""
    before: Tree = tree(files)
    with pytest.raises(LostTopicsError) as caught:
        open_log(files)
    assert tree(files) == before
    return caught.value


def test_a_log_that_is_cut_in_half_after_a_crash(files: MemoryFiles) -> None:
    log_with(files, *(new_topic(f"t{n}", n) for n in range(1, 11)))
    for n in range(1, 11):
        make_partition(files, f"t{n}-0", n, b"some")
    cut_in_half(files)
    lost = refused(files)
    assert 3 < len(lost.folders) < 8
    assert lost.folders[-1] == "t9-0"
    assert lost.names == f"t10-0, t5-0, t6-0 and {len(lost.folders) - 3} more"
    for folder in lost.folders:
        files.rename(folder, f"away-{folder}x")
    assert len(open_log(files).image.topics) == 10 - len(lost.folders)


def test_a_topic_that_is_there_again_under_another_id(files: MemoryFiles) -> None:
    log_with(files, new_topic("t", 1))
    make_partition(files, "t-0", 2, b"some")
    assert refused(files).folders == ["t-0"]


def test_a_partition_that_its_topic_does_not_have(files: MemoryFiles) -> None:
    log_with(files, new_topic("t", 1, 2))
    for at in range(3):
        make_partition(files, f"t-{at}", 1, b"some")
    assert refused(files).folders == ["t-2"]


def test_nothing_is_lost_of_partitions_without_records(files: MemoryFiles) -> None:
    """A loss of power leaves them, where the end of the log had not reached the disk."""
    log_with(files, new_topic("t", 1))
    make_partition(files, "t-0", 2)
    make_partition(files, "t-1", 1)
    make_partition(files, "u-0", 3)
    files.make_folder("v-0")
    assert list(open_log(files).image.topics) == ["t"]


def test_a_loss_of_power_in_the_first_life() -> None:
    """Before anything else was synced, the log has what it begins with: it can be opened."""
    files = MemoryFiles(models_crashes=True)
    log_with(files, new_topic("t", 1))
    make_partition(files, "t-0", 1)
    files.sync_folder("")
    files.crash()
    assert not open_log(files).image.topics


def test_what_was_read_after_the_death_of_the_process_is_durable() -> None:
    """Partitions are recovered, and cuts synced, on its word."""
    files = MemoryFiles(models_crashes=True)
    log_with(files, new_topic("t", 1))
    open_log(files)
    files.crash()
    assert list(open_log(files).image.topics) == ["t"]


def test_records_of_a_topic_that_has_no_name_in_the_log(files: MemoryFiles) -> None:
    """Whose folder does not tell its id: a loss of power may leave that."""
    log_with(files, new_topic("t", 1))
    make_partition(files, "t-0", None, b"some")
    make_partition(files, "u-0", None, b"some")
    make_partition(files, "v-0", None)
    assert refused(files).folders == ["u-0"]


def test_what_is_torn_off_was_never_acknowledged(files: MemoryFiles) -> None:
    log_with(files, new_topic("t", 1), new_topic("torn", 2))
    make_partition(files, "t-0", 1)
    file = files.open(LOG)
    file.truncate(file.size - 1)
    assert list(open_log(files).image.topics) == ["t"]


def test_a_deletion_that_a_crash_interrupted_is_none(files: MemoryFiles) -> None:
    log = log_with(files, new_topic("t", 1), [RemoveTopicRecord(topic_id=uuid(1))])
    make_partition(files, "t-0", 1)
    assert open_log(files).removed_topics == {uuid(1)}
    log.append(new_topic("t", 2), NOW)
    opened = open_log(files)
    assert list(opened.image.topics) == ["t"]
    assert opened.removed_topics == {uuid(1)}


def test_what_is_no_partitions_folder_is_passed_over(files: MemoryFiles) -> None:
    log_with(files, new_topic("t", 1))
    for name in ("notes", "t-0.0123-delete", f"t-0.{'0' * 32}-stray"):
        files.make_folder(name)
    files.replace("report-2024", b"a file")
    assert list(open_log(files).image.topics) == ["t"]


def test_after_a_clean_stop_a_folder_that_is_not_known_is_somebodys(files: MemoryFiles) -> None:
    """The log ends where it was closed, so nothing is lost."""
    log_with(files, new_topic("t", 1)).close()
    make_partition(files, "other-0", 9, b"some")
    assert list(open_log(files, clean=True).image.topics) == ["t"]
