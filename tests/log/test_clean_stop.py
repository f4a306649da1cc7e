"""A clean stop waits for the disk as rarely as it may, and no more is lost with the power then."""

from __future__ import annotations

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.log.directories import LogDirectory
from kafkalite.log.files_memory import MemoryFile, MemoryFiles
from kafkalite.log.log_cuts import delete_records
from kafkalite.log.partition_log import PartitionLog
from kafkalite.types import (
    BrokerEpoch,
    BrokerId,
    LeaderEpoch,
    Offset,
    ProducerId,
    TimestampMs,
    TopicPartition,
    Uuid,
)
from tests.log.log_fixtures import NOW, TOPIC_ID, append, batch, close, idempotent

CONFIG = TopicConfig(segment_bytes=1000, index_interval_bytes=100)
ORDERS = TopicPartition("orders", 3)
FOLDER = str(ORDERS)


class CountingFiles(MemoryFiles):
    """Notes each wait for the disk that concerns the partition."""

    def __init__(self) -> None:
        super().__init__(models_crashes=True)
        self.synced: list[str] = []

    def open(self, path: str) -> MemoryFile:
        file = super().open(path)
        return CountingFile(self, path, file)

    def replace(self, path: str, data: bytes, *, sync: bool = True) -> None:
        if sync and path.startswith(FOLDER):
            self.synced.append(path)
        super().replace(path, data, sync=sync)

    def sync_file(self, path: str) -> None:
        self.synced.append(path)
        super().sync_file(path)

    def sync_folder(self, path: str) -> None:
        self.synced.append(path)
        super().sync_folder(path)

    def waits(self) -> list[str]:
        """Since it was asked last, in the partition's folder; sorted."""
        waits = sorted(path.removeprefix(FOLDER) for path in self.synced if path)
        self.synced.clear()
        return waits


class CountingFile(MemoryFile):
    def __init__(self, files: CountingFiles, path: str, file: MemoryFile) -> None:
        super().__init__(file.node)
        self._files = files
        self._path = path

    def sync(self) -> None:
        self._files.synced.append(self._path)
        super().sync()


@pytest.fixture
def files() -> CountingFiles:
    return CountingFiles()


def start(files: MemoryFiles) -> tuple[LogDirectory, PartitionLog]:
    directory = LogDirectory.open(
        files,
        location="/data",
        node_id=BrokerId(1),
        new_cluster_id="c",
        new_directory_id=Uuid(bytes(range(16))),
    )
    log = directory.open_partition(ORDERS, topic_id=TOPIC_ID, config=CONFIG, now=NOW)
    log.begin_epoch(LeaderEpoch(4))
    return directory, log


def test_what_was_never_used_waits_for_nothing(files: CountingFiles) -> None:
    directory, _ = start(files)
    close(directory)
    assert files.waits() == []
    files.crash()
    assert start(files)[1].end_offset == 0


def test_each_file_is_waited_for_once_and_only_if_it_changed(files: CountingFiles) -> None:
    directory, log = start(files)
    append(log, batch())
    close(directory)
    first = f"/{0:020d}"
    assert files.waits() == ["", f"{first}.log", "/leader-epoch-checkpoint", "/partition.metadata"]
    directory, log = start(files)
    close(directory)
    assert files.waits() == []
    directory, log = start(files)
    append(log, batch())
    close(directory)
    assert files.waits() == [f"{first}.log"]
    directory, log = start(files)
    append(log, idempotent(0))
    close(directory)
    assert files.waits() == ["", f"{first}.log", f"/{3:020d}.snapshot"]


def test_files_are_on_the_disk_before_their_names_and_names_before_the_mark(
    files: CountingFiles,
) -> None:
    """Parts of one round may run in any order."""
    directory, log = start(files)
    append(log, batch())
    other = directory.open_partition(
        TopicPartition("orders", 4), topic_id=TOPIC_ID, config=CONFIG, now=NOW
    )
    append(other, batch())
    files.synced.clear()
    rounds = []
    for parts in directory.close(broker_epoch=BrokerEpoch(1), high_watermarks={}):
        for part in reversed(parts):
            part()
        rounds.append(sorted(files.synced))
        files.synced.clear()
    names = ["00000000000000000000.log", "leader-epoch-checkpoint", "partition.metadata"]
    assert rounds == [
        [f"{folder}/{name}" for folder in ("orders-3", "orders-4") for name in names],
        ["orders-3", "orders-4"],
    ]
    assert files.synced[0] == "", "the folder that all are in"
    files.crash()
    directory, log = start(files)
    assert (directory.claimed.was_clean, log.end_offset) == (True, 1)


def test_a_log_that_is_synced_while_it_runs_waits_for_what_is_new(files: CountingFiles) -> None:
    _, log = start(files)
    append(log, batch())
    log.sync()
    assert len(files.waits()) == 4
    log.sync()
    assert files.waits() == []
    append(log, batch())
    log.sync()
    assert files.waits() == [f"/{0:020d}.log"]
    log.roll(NOW)
    append(log, batch())
    log.sync()
    assert files.waits() == ["", f"/{0:020d}.log", f"/{2:020d}.log"]


@pytest.mark.parametrize("runs", [1, 2, 3])
def test_a_loss_of_power_after_it_takes_nothing(files: CountingFiles, runs: int) -> None:
    for run in range(runs):
        directory, log = start(files)
        assert log.end_offset == run * 36
        for number in range(run * 36, run * 36 + 30):
            append(log, batch(NOW + 10 * number))
        for number in range(run * 36 + 30, run * 36 + 36):
            append(log, idempotent(number % 36 - 30, producer=run))
        log.roll(NOW)
        close(directory)
    files.crash()
    directory, log = start(files)
    assert (directory.claimed.was_clean, log.cuts, log.end_offset) == (True, (), runs * 36)
    assert [start.epoch for start in log.epochs.starts] == [4]
    for run in range(runs):
        state = log.producers.get(ProducerId(run))
        assert state is not None
        assert state.last_sequence == 5
        found = log.offset_for_timestamp(TimestampMs(NOW + 10 * (run * 36 + 29)))
        assert found is not None
        assert found.offset == run * 36 + 29


def test_what_was_deleted_before_it_does_not_come_back(files: CountingFiles) -> None:
    directory, log = start(files)
    append(log, batch())
    log.roll(NOW)
    append(log, batch())
    close(directory)
    directory, log = start(files)
    delete_records(log, Offset(1))
    close(directory)
    files.crash()
    assert start(files)[1].log_start_offset == 1


def test_a_sync_of_what_had_no_folder_yet_counts_for_nothing(files: CountingFiles) -> None:
    _, log = start(files)
    log.sync()
    append(log, batch())
    log.sync()
    assert f"{FOLDER}/partition.metadata" in files.synced
    assert "" in files.synced, "where the folder has its name"
    files.crash()
    _, log = start(files)
    assert (log.end_offset, log.folder.topic_id) == (1, TOPIC_ID)
