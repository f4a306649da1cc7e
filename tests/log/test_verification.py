"""What is wrong with a folder is found, and named; Kafka's own folders are sound."""

from __future__ import annotations

from collections.abc import Callable
from struct import pack

import pytest

from kafkalite.log.checkpoints import RECOVERY_POINTS, format_partition_metadata, write_offsets
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.files_os import OsFiles
from kafkalite.log.verification import Verification, extent_of
from kafkalite.protocol.records.batch import read_header, write_header
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.types import LeaderEpoch, Offset, TopicPartition, Uuid
from tests.log.golden_folders import NAMES, ROOT, memory_copy

SEGMENTS = "segments-0"
FIRST = f"{SEGMENTS}/00000000000000000000"
SECOND = f"{SEGMENTS}/00000000000000000130"
TRANSACTIONS = "transactions-0"
FIFTH = f"{TRANSACTIONS}/00000000000000000005"


def content(files: MemoryFiles, path: str) -> bytes:
    file = files.open_read(path)
    return file.read(0, file.size)


def change(files: MemoryFiles, path: str, alter: Callable[[bytearray], None]) -> None:
    data = bytearray(content(files, path))
    alter(data)
    files.replace(path, bytes(data))


def new_folder() -> MemoryFiles:
    """Of the partition t-0, without a segment."""
    files = MemoryFiles()
    files.make_folder("t-0")
    files.replace("t-0/partition.metadata", format_partition_metadata(Uuid(bytes(15) + b"\7")))
    return files


def found(files: MemoryFiles, folder: str) -> list[str]:
    return [str(finding) for finding in Verification(files).partition(folder)]


def only(findings: list[str]) -> str:
    (finding,) = findings
    return finding


@pytest.mark.parametrize("name", NAMES)
def test_folders_that_kafka_left_are_sound(name: str) -> None:
    assert found(memory_copy(name), name) == []


def test_the_whole_log_folder_is_sound_and_is_told_as_it_advances() -> None:
    files = OsFiles(str(ROOT))
    done: list[int] = []
    extent = extent_of(files)
    findings = [str(each) for each in Verification(files, done.append).log_folder(extent)]
    # A partition that the real broker had, and that is not among the golden ones.
    missing = "streams-streams-KSTREAM-AGGREGATE-STATE-STORE-0000000002-repartition-0"
    assert findings == [
        f"{name}: has offset 56 of {missing}, which is not there"
        for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint")
    ]
    assert done == sorted(done)
    assert done[-1] == extent.log_bytes == sum(p.stat().st_size for p in ROOT.rglob("*.log"))


def flip(place: int) -> Callable[[bytearray], None]:
    def alter(data: bytearray) -> None:
        data[place] ^= 1

    return alter


def test_a_wrong_crc() -> None:
    files = memory_copy(SEGMENTS)
    change(files, f"{FIRST}.log", flip(100))
    assert only(found(files, SEGMENTS)) == (
        f"{FIRST}.log: the batch at offset 0 has a wrong CRC, at byte 0"
    )


def test_a_torn_end() -> None:
    files = memory_copy("plain-0")
    log = "plain-0/00000000000000000000.log"
    change(files, log, lambda data: data.extend(b"no batch"))
    assert only(found(files, "plain-0")).startswith(f"{log}: 8 bytes from 3823 on: ")


def test_offsets_that_do_not_ascend_and_a_count_that_cannot_be() -> None:
    files = new_folder()
    batches = [build_batch([Record(None, b"")], base_offset=Offset(at)) for at in (5, 5)]
    batches.append(build_batch([], base_offset=Offset(9), last_offset=Offset(2**31 + 5)))
    counted = build_batch([Record(None, b"")], base_offset=Offset(6))
    write_header(counted, read_header(counted)._replace(records_count=2))
    log = f"t-0/{5:020d}.log"
    files.replace(log, b"".join([batches[0], batches[1], counted, batches[2]]))
    assert found(files, "t-0") == [
        f"{log}: a batch at offset 5, where 6 or more is due, at byte 68",
        f"{log}: the batch at offset 6 has 2 records, at byte 136",
        f"{log}: the batch at offset 9 is too far from 5, at byte 204",
    ]


def test_segments_that_overlap() -> None:
    files = memory_copy(SEGMENTS)
    files.rename(f"{SECOND}.log", f"{SEGMENTS}/00000000000000000129.log")
    assert f"{SEGMENTS}/00000000000000000129.log: begins at offset 129, and the one before it " in (
        "\n".join(found(files, SEGMENTS))
    )


def test_offset_indexes() -> None:
    files = memory_copy(SEGMENTS)
    index = f"{FIRST}.index"
    change(files, index, flip(3))
    assert only(found(files, SEGMENTS)).startswith(f"{index}: has offset ")
    files.replace(index, pack(">iiii", 19, 1_000_000, 5, 2_000_000))
    assert found(files, SEGMENTS)[0] == f"{index}: is an offset index whose entries do not ascend"
    files.replace(index, pack(">ii", 19, 1_000_000))
    assert "where no batch is" in found(files, SEGMENTS)[0]
    files.remove(index)
    assert only(found(files, SEGMENTS)) == f"{index}: is missing"


def test_time_indexes() -> None:
    files = memory_copy(SEGMENTS)
    index = f"{FIRST}.timeindex"
    sound = content(files, index)
    change(files, index, flip(7))
    assert only(found(files, SEGMENTS)).startswith(f"{index}: has timestamp ")
    files.replace(index, sound + sound[:12])
    assert only(found(files, SEGMENTS)) == f"{index}: is a time index whose entries do not ascend"
    files.replace(index, sound[:-1])
    assert "bytes" in only(found(files, SEGMENTS))


def test_a_time_index_that_hides_a_later_record() -> None:
    files = new_folder()
    batches = [
        build_batch([Record(None, b"", timestamp=time)], base_offset=Offset(offset))  # type: ignore[arg-type]  # A number is a timestamp.
        for offset, time in enumerate((9, 5))
    ]
    files.replace(f"t-0/{0:020d}.log", b"".join(batches))
    index = f"t-0/{0:020d}.timeindex"
    files.replace(index, pack(">qi", 5, 1))
    assert only(found(files, "t-0")) == f"{index}: has timestamp 5 at offset 1, behind 9"


def test_transaction_indexes() -> None:
    files = memory_copy(TRANSACTIONS)
    index = f"{FIFTH}.txnindex"
    sound = content(files, index)
    files.replace(index, sound[34:])
    assert only(found(files, TRANSACTIONS)) == (
        f"{index}: lacks the transaction that ends at offset 11"
    )
    files.replace(index, sound + sound[:2] + pack(">qqqq", 2, 30, 33, 34))
    assert only(found(files, TRANSACTIONS)) == (
        f"{index}: has a transaction that no marker aborts at offset 33"
    )
    files.replace(index, sound[:17] + b"\7" + sound[18:])
    assert only(found(files, TRANSACTIONS)) == (
        f"{index}: has producer 2 from offset 7 on at offset 11; the log has producer 2 from 6 on"
    )
    files.replace(index, sound[:-1])
    assert "transaction index of 101 bytes" in found(files, TRANSACTIONS)[0]


def test_producer_snapshots() -> None:
    files = memory_copy(TRANSACTIONS)
    last = f"{TRANSACTIONS}/00000000000000000036.snapshot"
    sound = content(files, last)
    change(files, last, flip(20))
    assert only(found(files, TRANSACTIONS)) == f"{last}: is a producer snapshot whose CRC is wrong"
    files.remove(last)
    later = f"{TRANSACTIONS}/00000000000000000040.snapshot"
    files.replace(later, sound)
    assert only(found(files, TRANSACTIONS)) == f"{later}: is of offset 40, and the log ends at 36"
    files.remove(later)
    early = f"{TRANSACTIONS}/00000000000000000030.snapshot"
    files.replace(early, sound)
    assert only(found(files, TRANSACTIONS)) == f"{early}: has offset 35, which is behind it"


def test_a_snapshot_of_another_log() -> None:
    files = memory_copy(TRANSACTIONS)
    other = memory_copy("idempotent-0")
    (name,) = [name for name in other.list("idempotent-0") if name.endswith(".snapshot")]
    files.replace(f"{TRANSACTIONS}/{30:020d}.snapshot", content(other, f"idempotent-0/{name}"))
    findings = found(files, TRANSACTIONS)
    assert findings
    assert all(f"{30:020d}.snapshot" in finding for finding in findings)


def test_leader_epochs() -> None:
    files = memory_copy("plain-0")
    epochs = "plain-0/leader-epoch-checkpoint"
    files.replace(epochs, b"0\n2\n0 0\n1 20\n")
    assert found(files, "plain-0")[0] == (
        f"{epochs}: has epoch 1 at offset 20, whose batch is of epoch 0"
    )
    files.replace(epochs, b"0\n2\n3 0\n1 20\n")
    assert only(found(files, "plain-0")) == (
        f"{epochs}: leader epoch 1 does not come after its last one"
    )
    files.remove(epochs)
    assert found(files, "plain-0")[0].endswith(
        "has no epoch at offset 0, whose batch is of epoch 0"
    )


def test_small_files() -> None:
    files = memory_copy("__cluster_metadata-0")
    folder = "__cluster_metadata-0"
    files.replace(f"{folder}/partition.metadata", b"version: 7")
    files.replace(f"{folder}/quorum-state", b"{}")
    snapshot = f"{folder}/00000000000000000000-0000000000.checkpoint"
    change(files, snapshot, lambda data: data.__delitem__(slice(-60, None)))
    findings = found(files, folder)
    assert [finding.partition(":")[0] for finding in findings] == [
        f"{folder}/partition.metadata",
        f"{folder}/quorum-state",
        snapshot,
    ]


def test_a_metadata_snapshot_without_its_footer() -> None:
    files = memory_copy("__cluster_metadata-0")
    snapshot = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
    change(files, snapshot, lambda data: data.__delitem__(slice(419, None)))
    assert only(found(files, "__cluster_metadata-0")) == f"{snapshot}: ends before its footer"


def test_files_of_the_log_folder() -> None:
    files = memory_copy("plain-0")
    files.replace("replication-offset-checkpoint", b"what")
    partitions = {TopicPartition("plain", 0): Offset(61), TopicPartition("gone", 0): Offset(5)}
    write_offsets(files, RECOVERY_POINTS, partitions)
    findings = [str(each) for each in Verification(files).log_folder(extent_of(files))]
    assert findings[0] == ("meta.properties: is missing: no broker takes the folder for its own")
    assert findings[1] == (
        "recovery-point-offset-checkpoint: has offset 61 of plain-0, which ends at 60"
    )
    assert findings[2].startswith("replication-offset-checkpoint: not a checkpoint file")
    files.replace("meta.properties", b"version=1")
    assert "is damaged" in str(next(Verification(files).log_folder(extent_of(files))))


def test_a_file_full_of_faults_is_told_in_a_few_lines() -> None:
    files = new_folder()
    batches = b"".join(
        build_batch([Record(None, b"")], base_offset=Offset(0), leader_epoch=LeaderEpoch(-1))
        for _ in range(50)
    )
    files.replace(f"t-0/{0:020d}.log", batches)
    findings = found(files, "t-0")
    assert len(findings) == 21
    assert findings[-1].endswith("and 29 more of this kind")


def test_what_is_missing() -> None:
    files = memory_copy(SEGMENTS)
    files.remove(f"{SECOND}.log")
    files.remove(f"{SEGMENTS}/partition.metadata")
    assert found(files, SEGMENTS) == [
        f"{SEGMENTS}/partition.metadata: is missing or empty",
        f"{SECOND}.index: has no log beside it",
        f"{SECOND}.timeindex: has no log beside it",
    ]
    metadata = memory_copy("__cluster_metadata-0")
    metadata.remove("__cluster_metadata-0/quorum-state")
    assert only(found(metadata, "__cluster_metadata-0")).endswith("quorum-state: is missing")


def test_a_time_index_that_ends_early() -> None:
    """Retention would take its segment too soon."""
    files = memory_copy(SEGMENTS)
    change(files, f"{FIRST}.timeindex", lambda data: data.__delitem__(slice(-12, None)))
    assert only(found(files, SEGMENTS)).startswith(f"{FIRST}.timeindex: ends before timestamp ")


def test_files_that_are_folders_and_the_reverse() -> None:
    files = memory_copy(SEGMENTS)
    files.remove(f"{FIRST}.index")
    files.make_folder(f"{FIRST}.index")
    files.replace("plain-0", b"")
    findings = [str(each) for each in Verification(files).log_folder(extent_of(files))]
    assert findings[1:] == [
        "plain-0: is a file, and is named like a partition's folder",
        f"{FIRST}.index: is a folder",
        f"{FIRST}.index: cannot be read: a folder",
    ]


def test_a_partition_that_is_gone_since_a_clean_stop() -> None:
    files = memory_copy("plain-0")
    files.replace("meta.properties", (ROOT / "meta.properties").read_bytes())
    write_offsets(files, RECOVERY_POINTS, {TopicPartition("gone", 0): Offset(5)})
    assert [*Verification(files).log_folder(extent_of(files))] == []
    files.replace(".kafka_cleanshutdown", b"")
    findings = [str(each) for each in Verification(files).log_folder(extent_of(files))]
    assert only(findings).endswith("has offset 5 of gone-0, which is not there")
