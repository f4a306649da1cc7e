"""A log folder: one holder, known owner, a clean stop on record, partitions set aside."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.errors import CorruptRecordError, ErrorCode, KafkaError
from kafkalite.log.claimed_folder import CLEAN_SHUTDOWN
from kafkalite.log.directories import LogDirectory
from kafkalite.log.files import Files
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.files_os import OsFiles
from kafkalite.log.folder_names import METADATA_PARTITION
from kafkalite.log.log_cuts import delete_records, retire_below
from kafkalite.log.meta_properties import LogDirectoryError, Meta, format_meta
from kafkalite.log.partition_log import PartitionLog
from kafkalite.types import (
    METADATA_TOPIC_ID,
    BrokerId,
    Offset,
    TopicPartition,
    Uuid,
)
from tests.log.log_fixtures import NOW, TOPIC_ID, append, batch, close

ORDERS = TopicPartition("orders", 3)
UNIQUE = Uuid(bytes(range(16)))


@pytest.fixture
def files() -> MemoryFiles:
    return MemoryFiles(models_crashes=True)


def open_directory(files: Files, *, node: int = 1) -> LogDirectory:
    return LogDirectory.open(
        files,
        location="/data/logs",
        node_id=BrokerId(node),
        new_cluster_id="the-cluster",
        new_directory_id=UNIQUE,
    )


def open_orders(directory: LogDirectory, topic_id: Uuid = TOPIC_ID) -> PartitionLog:
    return directory.open_partition(ORDERS, topic_id=topic_id, config=TopicConfig(), now=NOW)


def stop(directory: LogDirectory, *, high_watermark: int = 0) -> None:
    close(directory, {ORDERS: Offset(high_watermark)})


def partitions_in(directory: LogDirectory) -> list[TopicPartition]:
    return directory.find_partitions(unless=lambda partition: False)


def content(files: MemoryFiles, path: str) -> bytes:
    return files.open_read(path).read(0, 9999)


def test_a_new_folder(files: MemoryFiles) -> None:
    directory = open_directory(files)
    assert directory.claimed.meta == Meta(BrokerId(1), "the-cluster", UNIQUE)
    assert not directory.claimed.was_clean
    assert directory.claimed.broker_epoch == -1
    assert files.list("") == [".gitignore", ".lock", "meta.properties"]
    assert content(files, ".gitignore") == b"*\n"


@pytest.mark.parametrize("name", ["notes.txt", "orders-0", ".profile"])
def test_a_folder_with_something_else_in_it_is_refused_and_left_alone(
    files: MemoryFiles, name: str
) -> None:
    files.make_folder(name)
    with pytest.raises(LogDirectoryError, match=rf"/data/logs is not empty \({name}\)"):
        open_directory(files)
    assert files.list("") == [name]


def test_a_first_start_that_was_cut_short_is_no_hindrance(files: MemoryFiles) -> None:
    for name in (".gitignore", ".lock", "meta.properties.tmp"):
        files.replace(name, b"")
    files.make_folder("lost+found")
    assert open_directory(files).claimed.meta.cluster_id == "the-cluster"
    assert content(files, ".gitignore") == b"*\n"


def test_a_folder_that_kafka_formatted_is_taken_and_is_not_ours_to_ignore(
    files: MemoryFiles,
) -> None:
    files.replace("meta.properties", format_meta(Meta(BrokerId(1), "kafkas", UNIQUE)))
    files.make_folder("__cluster_metadata-0")
    assert open_directory(files).claimed.meta.cluster_id == "kafkas"
    assert ".gitignore" not in files.list("")


def test_what_only_looks_like_a_partition_is_somebodys_own(files: MemoryFiles) -> None:
    directory = open_directory(files)
    folders = ("to-delete", "a-\u0663", "a-00", "a b-1", "a-0.0123-delete", "a-0." + "g" * 32)
    for name in folders:
        files.make_folder(name)
    unique = UNIQUE.hex()
    for name in ("report-2024", f"a-0.{unique}-delete", f"x.{unique}-delete"):
        files.replace(name, b"")
    files.make_folder(f"x.{unique}-stray")
    assert partitions_in(directory) == []
    assert directory.find_deleted() == []
    with pytest.raises(AssertionError, match="not ours to remove"):
        directory.remove("to-delete")


def test_one_holder_at_a_time(files: MemoryFiles) -> None:
    directory = open_directory(files)
    with pytest.raises(LogDirectoryError, match=r"/data/logs is in use: .*\.lock"):
        open_directory(files)
    directory.abandon()
    open_directory(files)


def test_another_nodes_folder_is_refused_and_left_free(files: MemoryFiles) -> None:
    open_directory(files).abandon()
    with pytest.raises(LogDirectoryError, match="belongs to node 1, not to 2"):
        open_directory(files, node=2)
    assert open_directory(files).claimed.meta.cluster_id == "the-cluster"


def test_a_clean_stop_is_on_record_until_the_next_start(files: MemoryFiles) -> None:
    directory = open_directory(files)
    append(open_orders(directory), batch())
    stop(directory, high_watermark=1)
    assert content(files, ".kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":13}'
    assert content(files, "recovery-point-offset-checkpoint") == b"0\n1\norders 3 1\n"
    assert content(files, "replication-offset-checkpoint") == b"0\n1\norders 3 1\n"
    assert content(files, "log-start-offset-checkpoint") == b"0\n0\n"
    assert content(files, "cleaner-offset-checkpoint") == b"0\n0\n"
    files.crash()
    again = open_directory(files)
    assert (again.claimed.was_clean, again.claimed.broker_epoch) == (True, 13)
    assert again.checkpoints.high_watermarks == {ORDERS: 1}
    log = open_orders(again)
    assert (log.end_offset, log.recovery_point, log.cuts) == (1, 1, ())
    files.crash()
    assert not open_directory(files).claimed.was_clean


@pytest.mark.parametrize("left", [b"", b"{}", b"[]"])
def test_a_mark_of_a_clean_stop_may_be_empty(files: MemoryFiles, left: bytes) -> None:
    open_directory(files).abandon()
    files.replace(CLEAN_SHUTDOWN, left)
    directory = open_directory(files)
    assert (directory.claimed.was_clean, directory.claimed.broker_epoch) == (True, -1)
    assert not files.exists(CLEAN_SHUTDOWN)


def test_finds_its_partitions(files: MemoryFiles) -> None:
    directory = open_directory(files)
    open_orders(directory).folder.make()
    directory.open_partition(
        METADATA_PARTITION, topic_id=METADATA_TOPIC_ID, config=TopicConfig(), now=NOW
    ).folder.make()
    files.make_folder("my-topic-0")
    for name in ("no-number", "-5", "orders-3.0123-delete", "x"):
        files.make_folder(name)
    assert partitions_in(directory) == [TopicPartition("my-topic", 0), ORDERS]
    assert directory.find_partitions(unless={ORDERS}.__contains__) == [
        TopicPartition("my-topic", 0)
    ]
    assert directory.read_topic_id(TopicPartition("my-topic", 0)) is None
    assert directory.read_topic_id(ORDERS) == TOPIC_ID


def test_the_metadata_log_has_no_line_in_the_checkpoints(files: MemoryFiles) -> None:
    directory = open_directory(files)
    log = directory.open_partition(
        METADATA_PARTITION, topic_id=METADATA_TOPIC_ID, config=TopicConfig(), now=NOW
    )
    append(log, batch())
    stop(directory)
    assert content(files, "recovery-point-offset-checkpoint") == b"0\n0\n"


def test_a_deleted_partition_frees_its_name_at_once(files: MemoryFiles) -> None:
    directory = open_directory(files)
    append(open_orders(directory), batch())
    folder = directory.delete_partition(ORDERS, UNIQUE)
    assert folder == "orders-3.000102030405060708090a0b0c0d0e0f-delete"
    assert directory.logs == {}
    append(open_orders(directory, Uuid(b"another topic id")), batch())
    assert directory.find_deleted() == [folder]
    directory.remove(folder)
    assert directory.find_deleted() == []
    assert files.exists("orders-3")


@pytest.mark.parametrize("is_stray", [False, True])
def test_a_topic_that_is_made_again_begins_anew(files: MemoryFiles, *, is_stray: bool) -> None:
    """What the checkpoints tell is the old one's."""
    directory = open_directory(files)
    log = open_orders(directory)
    for _ in range(3):
        append(log, batch())
    delete_records(log, Offset(2))
    stop(directory, high_watermark=3)
    again = open_directory(files)
    assert again.checkpoints.high_watermarks == {ORDERS: 3}
    if is_stray:
        again.set_stray(ORDERS, UNIQUE)
    else:
        assert open_orders(again).log_start_offset == 2
        again.delete_partition(ORDERS, UNIQUE)
    log = open_orders(again, Uuid(b"another topic id"))
    assert (log.log_start_offset, log.end_offset, log.recovery_point) == (0, 0, 0)
    assert again.checkpoints.high_watermarks == {}
    assert again.checkpoints.find_log_starts() == {}


def test_a_deleted_partition_frees_its_name_if_a_full_disk_took_half_of_its_folder(
    files: MemoryFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or else the name would be found in two log folders once it is used again in another."""
    directory = open_directory(files)
    log = open_orders(directory)

    def refuse(path: str, data: bytes, *, sync: bool = True) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(files, "replace", refuse)
        with pytest.raises(OSError, match="No space"):
            log.folder.make()
    folder = directory.delete_partition(ORDERS, UNIQUE)
    assert not files.exists("orders-3")
    assert directory.logs == {}
    assert folder is not None
    directory.remove(folder)
    assert directory.find_deleted() == []


def test_an_older_topics_folder_is_a_stray(files: MemoryFiles) -> None:
    directory = open_directory(files)
    append(open_orders(directory), batch())
    stop(directory)
    again = open_directory(files)
    with pytest.raises(KafkaError) as caught:
        open_orders(again, Uuid(b"another topic id"))
    assert caught.value.code is ErrorCode.INCONSISTENT_TOPIC_ID
    folder = again.set_stray(ORDERS, UNIQUE)
    assert folder == "orders-3.000102030405060708090a0b0c0d0e0f-stray"
    assert open_orders(again, Uuid(b"another topic id")).recovery_point == 0


def test_a_truncation_lowers_the_recovery_point_on_disk(files: MemoryFiles) -> None:
    directory = open_directory(files)
    log = open_orders(directory)
    for _ in range(3):
        append(log, batch())
    log.close()  # Its index has a file then.
    log.sync()
    directory.checkpoints.write({ORDERS: Offset(3)})
    assert content(files, "recovery-point-offset-checkpoint") == b"0\n1\norders 3 3\n"
    directory.truncate_partition(ORDERS, Offset(1), NOW)
    assert log.end_offset == 1
    assert content(files, "recovery-point-offset-checkpoint") == b"0\n1\norders 3 1\n"


def test_a_stop_that_fails_is_no_clean_one(
    files: MemoryFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = open_directory(files)
    open_orders(directory)

    def full_disk(*_args: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "replace", full_disk)
        with pytest.raises(OSError, match="No space"):
            stop(directory)
    assert not open_directory(files).claimed.was_clean


def test_a_stop_that_fails_for_some_closes_all_and_names_what_is_not_written(
    files: MemoryFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = open_directory(files)
    logs = []
    for index in range(6):
        partition = TopicPartition("t", index)
        logs.append(
            directory.open_partition(partition, topic_id=TOPIC_ID, config=TopicConfig(), now=NOW)
        )
        append(logs[-1], batch())
    replace = files.replace

    def full_disk(path: str, data: bytes, *, sync: bool = True) -> None:
        if not path.startswith("t-5/"):
            raise OSError(28, "No space left on device")
        replace(path, data, sync=sync)

    with monkeypatch.context() as patch:
        patch.setattr(files, "replace", full_disk)
        names = "not written: t-0, t-1, t-2 and 3 more"
        with pytest.raises(OSError, match=f"No space left on device; {names}"):
            stop(directory)
    assert files.exists("t-5/00000000000000000001.snapshot")
    files.crash()
    again = open_directory(files)
    last = again.open_partition(
        TopicPartition("t", 5), topic_id=TOPIC_ID, config=TopicConfig(), now=NOW
    )
    assert (again.claimed.was_clean, last.end_offset) == (False, 1)


def test_a_stop_closes_the_others_when_one_file_was_changed_by_someone(files: MemoryFiles) -> None:
    directory = open_directory(files)
    for index in range(2):
        log = directory.open_partition(
            TopicPartition("t", index), topic_id=TOPIC_ID, config=TopicConfig(), now=NOW
        )
        append(log, batch())
    directory.logs[TopicPartition("t", 0)].release_files()
    files.open("t-0/00000000000000000000.log").append(b"?")
    with pytest.raises(OSError, match=r"has 71 bytes, not 70; not written: t-0"):
        stop(directory)
    assert files.exists("t-1/00000000000000000001.snapshot")


def test_long_names_are_cut(files: MemoryFiles) -> None:
    directory = open_directory(files)
    partition = TopicPartition("t" * 249, 12)
    directory.open_partition(
        partition, topic_id=TOPIC_ID, config=TopicConfig(), now=NOW
    ).folder.make()
    folder = directory.delete_partition(partition, UNIQUE)
    assert folder is not None
    assert len(folder) == 255
    assert folder.endswith("t-12.000102030405060708090a0b0c0d0e0f-delete")


def test_log_starts_above_the_first_segment_are_kept(files: MemoryFiles) -> None:
    directory = open_directory(files)
    log = open_orders(directory)
    for _ in range(3):
        append(log, batch())
    log.log_start_offset = Offset(2)
    stop(directory)
    assert content(files, "log-start-offset-checkpoint") == b"0\n1\norders 3 2\n"
    assert open_orders(open_directory(files)).log_start_offset == 2


@pytest.mark.parametrize("left", [b"0", b"junk", b"0\n2\norders 3 1\n", b"0\n1\norders 3 1e\n"])
@pytest.mark.parametrize(
    "name",
    [
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        "replication-offset-checkpoint",
    ],
)
def test_a_damaged_checkpoint_is_told_and_counts_as_empty(
    files: MemoryFiles, name: str, left: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    directory = open_directory(files)
    append(open_orders(directory), batch())
    stop(directory, high_watermark=1)
    files.replace(name, left)
    again = open_directory(files)
    assert open_orders(again).end_offset == 1
    (line,) = caplog.messages
    assert line.startswith(f"/data/logs/{name} is damaged, and counts as empty: ")


@pytest.mark.parametrize("left", [b"\0v", b"version: 0\n", b"junk", b"version: 0\ntopic_id: %"])
def test_a_damaged_partition_metadata_is_one_partitions_trouble(
    files: MemoryFiles, left: bytes
) -> None:
    directory = open_directory(files)
    open_orders(directory).folder.make()
    stop(directory)
    files.replace("orders-3/partition.metadata", left)
    again = open_directory(files)
    assert again.read_topic_id(ORDERS) is None
    with pytest.raises(CorruptRecordError, match=r"orders-3/partition\.metadata is damaged"):
        open_orders(again)
    assert again.logs == {}


@pytest.mark.parametrize("left", [b"", bytes(43)], ids=["empty", "zeros"])
def test_a_partition_metadata_whose_bytes_a_loss_of_power_took_is_written_again(
    files: MemoryFiles, left: bytes
) -> None:
    directory = open_directory(files)
    open_orders(directory).folder.make()
    directory.abandon()
    files.replace("orders-3/partition.metadata", left)
    again = open_directory(files)
    assert again.read_topic_id(ORDERS) is None
    assert open_orders(again).folder.topic_id == TOPIC_ID
    assert again.read_topic_id(ORDERS) == TOPIC_ID


def test_setting_partitions_aside_writes_nothing_and_waits_for_no_disk(
    files: MemoryFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = open_directory(files)
    append(open_orders(directory), batch())
    full, synced = OSError(28, "No space left on device"), []

    def refuse(*_args: object, **_options: object) -> None:
        raise full

    monkeypatch.setattr(files, "replace", refuse)
    monkeypatch.setattr(files, "open", refuse)
    sync_folder = files.sync_folder

    def note(path: str) -> None:
        synced.append(path)
        sync_folder(path)

    monkeypatch.setattr(files, "sync_folder", note)
    folder = directory.delete_partition(ORDERS, UNIQUE)
    assert folder is not None
    assert synced == []
    directory.remove(folder)
    assert synced == [""], "so that a loss of power leaves no half of it under its old name"
    assert not files.exists(folder)


def test_on_a_real_disk(tmp_path: Path) -> None:
    files = OsFiles(str(tmp_path / "made" / "here"))
    directory = open_directory(files)
    append(open_orders(directory), batch())
    with pytest.raises(LogDirectoryError):
        open_directory(OsFiles(str(tmp_path / "made" / "here")))
    stop(directory)
    again = open_directory(files)
    assert again.claimed.was_clean
    assert open_orders(again).end_offset == 1
    again.abandon()


def start_within_a_segment(directory: LogDirectory) -> None:
    log = open_orders(directory)
    for _ in range(3):
        append(log, batch())
    delete_records(log, Offset(2))


def test_a_start_within_a_segment_is_remembered_over_a_clean_stop(files: MemoryFiles) -> None:
    directory = open_directory(files)
    start_within_a_segment(directory)
    assert directory.checkpoints.find_log_starts() == {ORDERS: 2}
    stop(directory)
    assert open_orders(open_directory(files)).log_start_offset == 2


def test_a_start_within_a_segment_is_remembered_over_a_crash_once_written(
    files: MemoryFiles,
) -> None:
    directory = open_directory(files)
    start_within_a_segment(directory)
    directory.checkpoints.write_log_starts()
    for log in directory.logs.values():
        log.sync()
    directory.abandon()
    files.crash()
    again = open_directory(files)
    assert open_orders(again).log_start_offset == 2


def test_a_start_is_kept_while_its_partition_is_not_open(files: MemoryFiles) -> None:
    directory = open_directory(files)
    start_within_a_segment(directory)
    stop(directory)
    again = open_directory(files)
    assert again.checkpoints.find_log_starts() == {ORDERS: 2}
    stop(again)
    assert open_orders(open_directory(files)).log_start_offset == 2


def test_a_start_at_a_segment_is_no_line_of_the_checkpoint(files: MemoryFiles) -> None:
    directory = open_directory(files)
    log = open_orders(directory)
    append(log, batch())
    log.roll(NOW)
    append(log, batch())
    retire_below(log, Offset(1))
    assert directory.checkpoints.find_log_starts() == {}


def test_the_space_of_the_disk_is_told(files: MemoryFiles) -> None:
    directory = open_directory(files)
    assert directory.space() == files.space()
    assert directory.location == "/data/logs"
