from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import pytest

from kafkalite.controller.features import FINALIZED
from kafkalite.errors import CorruptRecordError, InvariantError
from kafkalite.log.checkpoints import format_partition_metadata
from kafkalite.log.files import Files
from kafkalite.log.files_memory import MemoryFile, MemoryFiles
from kafkalite.log.files_os import OsFiles
from kafkalite.metadata.changes import Change, encode_change
from kafkalite.metadata.snapshot import changes_of
from kafkalite.protocol.messages.control_records import (
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from kafkalite.protocol.messages.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    NoOpRecord,
    ProducerIdsRecord,
)
from kafkalite.protocol.records.batch import iter_headers
from kafkalite.protocol.records.control import read_kraft_control_record
from kafkalite.protocol.records.record import Record, build_batch, read_records
from kafkalite.stores.checkpoint import checkpoint, voter_records
from kafkalite.stores.metadata_log import FOLDER, MetadataLog
from kafkalite.types import BrokerId, Offset, TimestampMs, parse_uuid
from tests.metadata.sample_changes import (
    GOLDEN_LOG,
    dumped_records,
    golden_changes,
    image_of,
    partition,
    topic,
    uuid,
)

NOW = TimestampMs(1_700_000_000_000)
LOG = f"{FOLDER}/00000000000000000000.log"
CHECKPOINT = f"{FOLDER}/00000000000000000000-0000000000.checkpoint"
LEVELS: list[FeatureLevelRecord] = [
    FeatureLevelRecord(name=name, feature_level=level) for name, level in FINALIZED.items()
]
DIRECTORY = parse_uuid("1x9SQgBzT5uQ75Ea6Jv__Q")


def open_log(files: Files, *, clean: bool = False) -> MetadataLog:
    return MetadataLog.open(
        files,
        node_id=BrokerId(1),
        directory_id=DIRECTORY,
        now=NOW,
        clean=clean,
        formatted_with=LEVELS,
    )


def content(files: Files, path: str) -> bytes:
    file = files.open_read(path)
    return file.read(0, file.size)


def records_in(data: bytes) -> list[object]:
    """Control records as messages, the others as their values."""
    found: list[object] = []
    for position, header in iter_headers(data):
        for record in read_records(data, position, header):
            found.append(read_kraft_control_record(record) if header.is_control else record.value)
    return found


def golden_folder() -> MemoryFiles:
    """The folder that the real Kafka left."""
    files = MemoryFiles()
    files.make_folder(FOLDER)
    for path in GOLDEN_LOG.parent.iterdir():
        files.replace(f"{FOLDER}/{path.name}", path.read_bytes())
    return files


def test_a_new_folder_begins_as_kafkas_does() -> None:
    files = MemoryFiles()
    log = open_log(files)
    assert not log.image.topics
    assert not log.image.features
    assert log.begin_epoch(NOW).epoch == 1
    assert set(files.list(FOLDER)) <= {path.name for path in GOLDEN_LOG.parent.iterdir()}
    ours, golden = records_in(content(files, LOG)), records_in(GOLDEN_LOG.read_bytes())
    assert ours[:2] == golden[:2]
    voters = ours[2]
    assert isinstance(voters, VotersRecord)
    assert voters.voters[0].voter_directory_id == DIRECTORY
    begin = BeginTransactionRecord(name="Bootstrap records")
    bootstrap: list[Change] = [begin, *LEVELS, EndTransactionRecord()]
    assert ours[3:] == [encode_change(change) for change in bootstrap]
    assert (
        content(files, f"{FOLDER}/quorum-state")
        == (GOLDEN_LOG.parent / "quorum-state").read_bytes()
    )
    assert (
        content(files, f"{FOLDER}/partition.metadata")
        == (GOLDEN_LOG.parent / "partition.metadata").read_bytes()
    )
    assert open_log(files).image.features == FINALIZED


def test_no_epoch_comes_twice_even_if_a_crash_kept_it_from_the_quorum_state() -> None:
    files = MemoryFiles()
    assert open_log(files).begin_epoch(NOW).epoch == 1
    state = content(files, f"{FOLDER}/quorum-state")
    files.remove(f"{FOLDER}/quorum-state")
    assert open_log(files).begin_epoch(NOW).epoch == 2
    files.replace(f"{FOLDER}/quorum-state", state)
    assert open_log(files).begin_epoch(NOW).epoch == 3


def test_the_checkpoint_of_a_new_folder_has_the_records_of_kafkas() -> None:
    files = MemoryFiles()
    open_log(files)
    ours = records_in(content(files, CHECKPOINT))
    golden = records_in((GOLDEN_LOG.parent / CHECKPOINT.rpartition("/")[2]).read_bytes())
    kinds = [SnapshotHeaderRecord, KRaftVersionRecord, VotersRecord]
    assert [type(r) for r in ours[:3]] == [type(r) for r in golden[:3]] == kinds
    assert ours[-1] == golden[-1] == SnapshotFooterRecord()
    assert ours[3:-1] == [encode_change(level) for level in LEVELS]
    assert all(value in golden for value in ours[3:-1])


def test_the_real_folder_opens_and_goes_on() -> None:
    files = golden_folder()
    log = open_log(files, clean=True)
    assert log.image.topics == image_of(*golden_changes()).topics
    assert (log.epoch, log.end_offset) == (1, 194)
    assert log.begin_epoch(NOW).epoch == 2
    assert log.append([NoOpRecord()], NOW) == 196
    leader_change, _ = records_in(content(files, LOG))[-2:]
    assert leader_change == records_in(GOLDEN_LOG.read_bytes())[0]
    state = json.loads(content(files, f"{FOLDER}/quorum-state"))
    assert state["leaderEpoch"] == 2
    assert content(files, f"{FOLDER}/leader-epoch-checkpoint").split() == b"0 2 1 0 2 194".split()
    assert open_log(files).image.topics == log.image.topics


def test_a_folder_that_kafka_formatted_and_never_started() -> None:
    files = MemoryFiles()
    files.make_folder(FOLDER)
    golden = GOLDEN_LOG.parent / CHECKPOINT.rpartition("/")[2]
    files.replace(CHECKPOINT, golden.read_bytes())
    new = open_log(files).begin_epoch(NOW)
    expected = {
        record["data"]["name"]: record["data"]["featureLevel"]
        for record in dumped_records().values()
        if record["type"] == "FEATURE_LEVEL_RECORD"
    }
    assert image_of(*new.changes).features == expected
    assert open_log(files).image.features == expected


def test_changes_are_there_again() -> None:
    files = MemoryFiles()
    log = open_log(files)
    log.begin_epoch(NOW)
    changes: list[Change] = [
        topic("t", 1),
        partition(1, 0, [1]),
        ProducerIdsRecord(next_producer_id=1000),
    ]
    end = log.append(changes, NOW)
    again = open_log(files)
    assert again.end_offset == end
    assert again.image.next_producer_id == 1000
    assert again.image.topics == image_of(*changes).topics
    assert again.begin_epoch(NOW).epoch == 2


def test_a_commit_torn_by_a_crash_was_never_there() -> None:
    files = MemoryFiles()
    log = open_log(files)
    log.begin_epoch(NOW)
    log.append([topic("t", 1)], NOW)
    whole = len(content(files, LOG))
    log.append([topic("u", 2), topic("v", 3)], NOW)
    size = len(content(files, LOG))
    for cut in range(whole, size):
        torn = MemoryFiles()
        torn.make_folder(FOLDER)
        for name in files.list(FOLDER):
            torn.replace(f"{FOLDER}/{name}", content(files, f"{FOLDER}/{name}"))
        torn.open(LOG).truncate(cut)
        assert list(open_log(torn).image.topics) == ["t"]


@pytest.mark.parametrize("keep", [0, 100, -1], ids=["empty", "within a batch", "a byte short"])
def test_a_log_that_lost_what_its_clean_stop_left_is_not_served(keep: int) -> None:
    files = MemoryFiles()
    log = open_log(files)
    log.begin_epoch(NOW)
    log.append([NoOpRecord()], NOW)
    log.close()
    size = files.size(LOG)
    files.open(LOG).truncate(keep if keep >= 0 else size + keep)
    before = {name: content(files, f"{FOLDER}/{name}") for name in files.list(FOLDER)}
    for clean in (True, False):
        with pytest.raises(CorruptRecordError, match=r"clean stop left|damaged at byte"):
            open_log(files, clean=clean)
    assert before == {name: content(files, f"{FOLDER}/{name}") for name in files.list(FOLDER)}


def test_a_transaction_without_end_is_dropped_and_ended() -> None:
    files = MemoryFiles()
    log = open_log(files)
    log.begin_epoch(NOW)
    log.append([topic("t", 1), BeginTransactionRecord(name="x"), topic("u", 2)], NOW)
    log.append([topic("v", 3)], NOW)
    again = open_log(files)
    assert list(again.image.topics) == ["t"]
    again.begin_epoch(NOW)
    assert again.append([topic("w", 4)], NOW) == again.end_offset
    assert list(open_log(files).image.topics) == ["t", "w"]


def test_transactions_that_end() -> None:
    files = MemoryFiles()
    log = open_log(files)
    log.begin_epoch(NOW)
    begin = BeginTransactionRecord()
    log.append([begin, topic("t", 1)], NOW)
    log.append([topic("u", 2), EndTransactionRecord(), begin, topic("v", 3)], NOW)
    log.append([AbortTransactionRecord(), topic("w", 4)], NOW)
    assert list(open_log(files).image.topics) == ["t", "u", "w"]


def snapshot(changes: list[Change]) -> bytes:
    return checkpoint(voter_records(BrokerId(1), DIRECTORY, NOW), changes, NOW)


def test_a_snapshot_stands_for_the_log_before_it() -> None:
    files = golden_folder()
    image = image_of(*golden_changes())
    more = [*changes_of(image), topic("only-in-the-snapshot", 77)]
    files.replace(f"{FOLDER}/{194:020}-{1:010}.checkpoint", snapshot(more))
    log = open_log(files, clean=True)
    assert list(log.image.topics) == [*image.topics, "only-in-the-snapshot"]
    log.begin_epoch(NOW)
    log.append([topic("after", 78)], NOW)
    assert list(open_log(files).image.topics)[-1] == "after"


def test_a_log_that_ends_before_its_snapshot() -> None:
    files = golden_folder()
    files.replace(f"{FOLDER}/{195:020}-{1:010}.checkpoint", snapshot([]))
    with pytest.raises(InvariantError, match="ends before its snapshot"):
        open_log(files, clean=True)


def test_on_a_real_disk(tmp_path: Path) -> None:
    files = OsFiles(str(tmp_path))
    log = open_log(files)
    log.begin_epoch(NOW)
    log.append([topic("t", 1), partition(1, 0, [1])], NOW)
    again = open_log(files)
    assert list(again.image.topics) == ["t"]
    again.close()
    log.close()


def test_a_log_whose_beginning_is_gone_needs_a_snapshot() -> None:
    files = MemoryFiles()
    files.make_folder(FOLDER)
    batch = build_batch([Record(None, encode_change(NoOpRecord()))], base_offset=Offset(50))
    files.replace(f"{FOLDER}/{50:020}.log", bytes(batch))
    with pytest.raises(InvariantError, match="begins at offset 50, and has no snapshot"):
        open_log(files)


def test_a_batch_whose_bytes_have_changed_is_never_served() -> None:
    files = golden_folder()
    file = files.open(LOG)
    file.write_at(400, struct.pack(">q", 0))
    with pytest.raises(CorruptRecordError, match="bad CRC"):
        open_log(files, clean=True)


@pytest.mark.parametrize("state", [b"", b"[]", b"{}", b'{"leaderEpoch":"2"}', b"\xff"])
def test_a_quorum_state_that_is_none(state: bytes) -> None:
    files = golden_folder()
    files.replace(f"{FOLDER}/quorum-state", state)
    with pytest.raises(CorruptRecordError):
        open_log(files)


def test_closing_makes_it_durable() -> None:
    files = MemoryFiles(models_crashes=True)
    log = open_log(files)
    log.begin_epoch(NOW)
    log.append([topic("t", 1)], NOW)
    log.close()
    files.crash()
    assert list(open_log(files).image.topics) == ["t"]


def three_commits() -> MemoryFiles:
    files = MemoryFiles()
    log = open_log(files)
    log.begin_epoch(NOW)
    for number in range(3):
        log.append([topic(f"t{number}", number + 1)], NOW)
    return files


@pytest.mark.parametrize("at", [0, 5, 11, 16, 40], ids=str)
@pytest.mark.parametrize("batch", [0, 1, -2], ids=["first", "second", "last but one"])
def test_a_batch_that_is_damaged_before_sound_ones_is_refused_and_not_cut(
    batch: int, at: int
) -> None:
    files = three_commits()
    data = content(files, LOG)
    position = [position for position, _ in iter_headers(data)][batch]
    files.open(LOG).write_at(position + at, bytes([data[position + at] ^ 0x55]))
    damaged = content(files, LOG)
    with pytest.raises(CorruptRecordError, match=rf"{LOG} is damaged at byte \d+, with sound"):
        open_log(files)
    assert content(files, LOG) == damaged


def test_a_later_segment_is_sound_records_too() -> None:
    files = three_commits()
    data = content(files, LOG)
    *_, (position, last) = iter_headers(data)
    files.open(LOG).truncate(position - 1)
    files.replace(f"{FOLDER}/{last.base_offset:020}.log", data[position:])
    with pytest.raises(CorruptRecordError, match=rf"{LOG} is damaged at byte \d+, with sound"):
        open_log(files)


def test_a_torn_end_is_told(caplog: pytest.LogCaptureFixture) -> None:
    files = three_commits()
    files.open(LOG).truncate(files.size(LOG) - 1)
    assert list(open_log(files).image.topics) == ["t0", "t1"]
    (line,) = caplog.messages
    assert re.match(
        rf"a crash tore the end of the metadata log: {LOG} lost \d+ bytes from byte \d+", line
    )


@pytest.mark.parametrize("is_there", [True, False], ids=["empty", "missing"])
@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
@pytest.mark.parametrize(
    ("trace", "told"),
    [
        (f"{FOLDER}/{9:020}-{1:010}.checkpoint", "the snapshot 0"),
        (f"{FOLDER}/quorum-state", "epoch 7 in quorum-state"),
        ("orders-0/partition.metadata", "the partition orders-0"),
    ],
)
def test_no_records_where_a_cluster_was_is_no_new_cluster(
    trace: str, told: str, *, clean: bool, is_there: bool
) -> None:
    files = MemoryFiles()
    for folder in (FOLDER, trace.partition("/")[0]):
        files.make_folder(folder)
    if is_there:
        files.replace(LOG, b"")
    files.replace(trace, b'{"leaderEpoch":7}')
    with pytest.raises(CorruptRecordError, match=f"no records, and yet there is {told}"):
        open_log(files, clean=clean)


def test_a_first_epoch_that_the_disk_refuses_leaves_a_new_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = MemoryFiles()
    log = open_log(files)

    def full_disk(*_args: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(MemoryFile, "append", full_disk)
        with pytest.raises(OSError, match="No space"):
            log.begin_epoch(NOW)
    assert open_log(files).begin_epoch(NOW).epoch == 1


@pytest.mark.parametrize("keep", ["nothing", "no footer"])
def test_a_snapshot_that_is_not_whole_is_not_served(keep: str) -> None:
    files = golden_folder()
    name = f"{FOLDER}/{194:020}-{1:010}.checkpoint"
    data = snapshot(list(golden_changes()))
    *_, (footer, _) = iter_headers(data)
    files.replace(name, data[: 0 if keep == "nothing" else footer])
    with pytest.raises(CorruptRecordError, match="ends before its footer"):
        open_log(files, clean=True)


def test_a_block_of_producer_ids_is_on_the_disk_before_its_first_id_is_given() -> None:
    """With all that was committed before. What comes after may be lost with the power."""
    files = MemoryFiles(models_crashes=True)
    log = open_log(files)
    log.begin_epoch(NOW)
    log.append([topic("before", 1)], NOW)
    block = ProducerIdsRecord(broker_id=1, broker_epoch=5, next_producer_id=1000)
    log.append([topic("with", 2), block], NOW)
    end_offset = log.end_offset
    log.append([topic("after", 3)], NOW)
    files.crash()
    image = open_log(files).image
    assert (image.next_producer_id, list(image.topics)) == (1000, ["before", "with"])
    assert image.end_offset == end_offset


def test_a_folder_that_has_the_id_of_another_topic_is_refused() -> None:
    files = MemoryFiles()
    open_log(files).close()
    files.replace(f"{FOLDER}/partition.metadata", format_partition_metadata(uuid(5)))
    with pytest.raises(CorruptRecordError, match="belongs to another topic"):
        open_log(files)
