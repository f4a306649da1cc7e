"""Every folder that Apache Kafka wrote opens, and holds what Kafka's own tool says it holds."""

from __future__ import annotations

import pytest

from kafkalite.log.checkpoints import format_partition_metadata
from kafkalite.log.epochs import EpochStart
from kafkalite.log.files import read_part
from kafkalite.log.index import OffsetIndex
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.producer_replay import replay_producers
from kafkalite.log.producer_snapshots import format_snapshot, parse_snapshot
from kafkalite.log.producers import ProducerStates
from kafkalite.log.scan import scan_batches
from kafkalite.log.time_index import TimeIndex
from kafkalite.log.transaction_index import parse_transaction_index
from kafkalite.log.verification import Verification
from kafkalite.protocol.records.batch import (
    BatchHeader,
    TimestampType,
    crc_is_valid,
    read_header,
)
from kafkalite.protocol.records.record import Record, build_batch, read_records
from kafkalite.types import LeaderEpoch, Offset, TimestampMs
from tests.log.golden_folders import (
    LOG_START_OFFSETS,
    NAMES,
    NOW,
    dumped,
    golden_bytes,
    golden_files,
    memory_copy,
    open_golden,
)

every_folder = pytest.mark.parametrize("name", NAMES)
clean_or_not = pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])


def batch_fields(header: BatchHeader, position: int) -> dict[str, str]:
    yes_or_no = {True: "true", False: "false"}
    horizon = header.delete_horizon_ms
    kind = "LogAppendTime" if header.timestamp_type is TimestampType.LOG_APPEND_TIME else None
    return {
        "baseOffset": str(header.base_offset),
        "lastOffset": str(header.last_offset),
        "count": str(header.records_count),
        "baseSequence": str(header.base_sequence),
        "lastSequence": str(header.last_sequence),
        "producerId": str(header.producer_id),
        "producerEpoch": str(header.producer_epoch),
        "partitionLeaderEpoch": str(header.partition_leader_epoch),
        "isTransactional": yes_or_no[header.is_transactional],
        "isControl": yes_or_no[header.is_control],
        "deleteHorizonMs": "OptionalLong.empty" if horizon is None else f"OptionalLong[{horizon}]",
        "position": str(position),
        kind or "CreateTime": str(header.max_timestamp),
        "size": str(header.size_bytes),
        "magic": str(header.magic),
        "compresscodec": header.compression.name.lower(),
        "crc": str(header.crc),
        "isvalid": "true",
    }


def size_of(data: object) -> str:
    return "-1" if data is None else str(len(data))  # type: ignore[arg-type]  # bytes-like.


def record_fields(record: Record) -> dict[str, str]:
    return {
        "offset": str(record.offset),
        "keySize": size_of(record.key),
        "valueSize": size_of(record.value),
        "headerKeys": "[" + ",".join(header.key for header in record.headers) + "]",
    }


@every_folder
@clean_or_not
def test_batches_and_records_are_those_of_the_dump(name: str, clean: bool) -> None:
    log = open_golden(name, clean=clean)
    assert log.cuts == ()
    dumps = [dump for dump in dumped(name, ".log") if dump.lines]
    segments = [segment for segment in log.segments if segment.size]  # Compaction empties some.
    assert [dump.file for dump in dumps] == [
        segment.name.rpartition("/")[2] for segment in segments
    ]
    for segment, dump in zip(segments, dumps, strict=True):
        lines = iter(dump.lines)
        for batch in scan_batches(segment.file, 0, segment.size):
            assert crc_is_valid(batch.buffer, batch.at, batch.header)
            expected = next(lines)
            assert batch_fields(batch.header, batch.position) == expected
            for record in read_records(batch.buffer, batch.at, batch.header):
                line = next(lines)
                told = record_fields(record)
                assert {key: line[key] for key in told} == told
                assert str(record.timestamp) in (line.get("CreateTime"), line.get("LogAppendTime"))
        assert next(lines, None) is None


@every_folder
def test_offsets_epochs_and_topic_id(name: str) -> None:
    log = open_golden(name, clean=True)
    last = [line for dump in dumped(name, ".log") for line in dump.lines if "lastOffset" in line]
    assert log.end_offset == (int(last[-1]["lastOffset"]) + 1 if last else 0)
    start = LOG_START_OFFSETS.get(name, Offset(0))
    assert log.log_start_offset == start
    epoch = LeaderEpoch(int(last[-1]["partitionLeaderEpoch"])) if last else None
    assert log.epochs.starts == (() if epoch is None else (EpochStart(epoch, start),))
    written = golden_bytes(name, "partition.metadata").decode()
    assert format_partition_metadata(log.folder.topic_id).decode() == written


@every_folder
def test_index_entries_are_those_of_the_dump(name: str) -> None:
    for dump in dumped(name, ".index"):
        base = int(dump.file.partition(".")[0])
        index = OffsetIndex.from_bytes(golden_bytes(name, dump.file))
        assert len(index) == len(dump.lines)
        for line in dump.lines:
            assert index.lookup(int(line["offset"]) - base) == int(line["position"])
        assert index.to_bytes() == golden_bytes(name, dump.file)
    for dump in dumped(name, ".timeindex"):
        base = int(dump.file.partition(".")[0])
        times = TimeIndex.from_bytes(golden_bytes(name, dump.file))
        entries = [times[index] for index in range(len(times))]
        assert [(entry.timestamp, entry.relative_offset + base) for entry in entries] == [
            (int(line["timestamp"]), int(line["offset"])) for line in dump.lines
        ]
        assert times.to_bytes() == golden_bytes(name, dump.file)


@every_folder
def test_indexes_built_from_the_log_are_kafkas(name: str) -> None:
    log = open_golden(name, clean=True)
    for segment in log.segments:
        indexes = segment.held.make_again(segment.size, segment.config)
        stem = f"{segment.base_offset:020d}"
        assert indexes.offsets.to_bytes() == golden_bytes(name, f"{stem}.index")
        expected = golden_bytes(name, f"{stem}.timeindex")
        if name == "__cluster_metadata-0":
            # The one log that Kafka does not seal when it stops: the last entry is missing.
            assert indexes.times.to_bytes()[:-12] == expected
        else:
            assert indexes.times.to_bytes() == expected


@every_folder
@clean_or_not
def test_opening_and_closing_leaves_kafkas_bytes(name: str, clean: bool) -> None:
    files = memory_copy(name)
    before = files.list(name)
    open_golden(name, clean=clean, files=files).close()
    assert files.list(name) == before
    for file in before:
        if file == "leader-epoch-checkpoint" and name == "streams-out-0":
            continue  # Kafka drops the epoch of an empty log as well when it opens it.
        if file.endswith(".timeindex") and name == "__cluster_metadata-0":
            continue
        read = files.open_read(f"{name}/{file}")
        assert read.read(0, read.size) == golden_bytes(name, file), file


def snapshot_line(states: ProducerStates) -> list[dict[str, str]]:
    lines = []
    for state in states.active():
        first = state.transaction_first_offset
        line = {
            "producerId": str(state.producer_id),
            "producerEpoch": str(state.epoch),
            "coordinatorEpoch": str(state.coordinator_epoch),
            "currentTxnFirstOffset": (
                "OptionalLong.empty" if first is None else f"OptionalLong[{first}]"
            ),
            "lastTimestamp": str(state.last_timestamp),
        }
        if state.batches:
            last = state.batches[-1]
            line |= {
                "firstSequence": str(last.first_sequence),
                "lastSequence": str(last.last_sequence),
                "lastOffset": str(last.last_offset),
                "offsetDelta": str(last.offset_delta),
            }
        lines.append(line)
    return lines


@every_folder
def test_producer_snapshots_are_those_of_the_dump(name: str) -> None:
    for dump in dumped(name, ".snapshot"):
        states = ProducerStates(name)
        states.restore(parse_snapshot(golden_bytes(name, dump.file)), NOW)
        told = snapshot_line(states)
        assert len(told) == len(dump.lines)
        for mine, line in zip(told, dump.lines, strict=True):
            assert {key: line[key] for key in mine} == mine
        assert format_snapshot(states.active()) == golden_bytes(name, dump.file)


@every_folder
def test_replaying_the_log_gives_the_last_snapshot(name: str) -> None:
    snapshots = golden_files(name, ".snapshot")
    if not snapshots:
        assert name == "streams-out-0"
        return
    log = open_golden(name, clean=True)
    assert snapshots[-1] == f"{log.end_offset:020d}.snapshot"
    states = ProducerStates(name)
    replay_producers(states, log.segments, Offset(0), log.end_offset)
    saved = ProducerStates(name)
    saved.restore(parse_snapshot(golden_bytes(name, snapshots[-1])), TimestampMs(0))
    by_id = sorted(snapshot_line(states), key=str)
    assert by_id == sorted(snapshot_line(saved), key=str)


@every_folder
def test_aborted_transactions_are_those_of_the_dump(name: str) -> None:
    for dump in dumped(name, ".txnindex"):
        entries = parse_transaction_index(golden_bytes(name, dump.file))
        assert [
            {
                "version": "0",
                "producerId": str(entry.producer_id),
                "firstOffset": str(entry.first_offset),
                "lastOffset": str(entry.last_offset),
                "lastStableOffset": str(entry.last_stable_offset),
            }
            for entry in entries
        ] == dump.lines
        assert bool(entries)


@every_folder
@clean_or_not
def test_what_is_appended_stands_behind_and_the_folder_is_sound(name: str, clean: bool) -> None:
    """`compat_tests/test_dump_log_command.py` has Kafka's own tool look at such folders."""
    files = memory_copy(name)
    log = open_golden(name, clean=clean, files=files)
    end = log.end_offset
    for value in (b"one", b"two"):
        append_as_leader(
            log,
            memoryview(build_batch([Record(b"key", value, (), NOW)])),
            leader_epoch=LeaderEpoch(max(log.epochs.latest, 0) + 1),
            now=NOW,
        )
    log.close()
    assert list(Verification(files).partition(name)) == []
    again = open_golden(name, clean=clean, files=files)
    assert again.cuts == ()
    assert again.end_offset == end + 2
    found = again.read(end, max_bytes=1, max_offset=again.end_offset, first_batch_whole=True)
    assert found.part is not None
    data = read_part(found.part)
    (record,) = read_records(data, 0, read_header(data))
    assert record.value == b"one"
