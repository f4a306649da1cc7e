from __future__ import annotations

import struct
from pathlib import Path

import pytest

from kafkalite.errors import CorruptRecordError, ProtocolError
from kafkalite.protocol.messages.control_records import (
    Endpoint,
    KRaftVersionFeature,
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeMessageVoter,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
    VotersRecordVoter,
)
from kafkalite.protocol.records.batch import BatchHeader, iter_headers, read_header
from kafkalite.protocol.records.control import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_transaction_batch,
    control_record_type,
    kraft_control_record,
    read_end_transaction_marker,
    read_kraft_control_record,
)
from kafkalite.protocol.records.record import Record, build_batch, read_records
from kafkalite.types import LeaderEpoch, Offset, ProducerEpoch, ProducerId, TimestampMs, parse_uuid

LOG_DIRS = Path(__file__).parent.parent / "data" / "log-dirs"
METADATA = LOG_DIRS / "__cluster_metadata-0"
COMMIT_KEY = bytes.fromhex("00000001")


def control_batches(path: Path) -> list[tuple[bytes, BatchHeader, list[Record]]]:
    data = path.read_bytes()
    return [
        (
            data[position : position + header.size_bytes],
            header,
            list(read_records(data, position, header)),
        )
        for position, header in iter_headers(data)
        if header.is_control
    ]


def test_end_transaction_batches_are_those_that_kafka_wrote() -> None:
    """As `transactions-0.txt` lists them; built again, byte for byte."""
    log = LOG_DIRS / "transactions-0" / "00000000000000000005.log"
    seen = []
    for raw, header, (record,) in control_batches(log):
        marker = read_end_transaction_marker(record)
        assert marker is not None
        seen.append((record.offset, marker.is_commit, marker.coordinator_epoch))
        batch = build_end_transaction_batch(
            marker,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            timestamp=record.timestamp,
            base_offset=header.base_offset,
            leader_epoch=header.partition_leader_epoch,
        )
        assert batch == raw
    assert seen[:5] == [(5, True, 0), (11, False, 0), (17, True, 0), (23, False, 0), (29, False, 0)]


def test_end_transaction_batch_names_producer_and_epochs() -> None:
    batch = build_end_transaction_batch(
        EndTransactionMarker(is_commit=False, coordinator_epoch=6),
        producer_id=ProducerId(7),
        producer_epoch=ProducerEpoch(8),
        timestamp=TimestampMs(9),
    )
    header = read_header(batch)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 8, -1)
    (record,) = read_records(batch, 0, header)
    assert control_record_type(record.key) is ControlRecordType.ABORT
    assert read_end_transaction_marker(record) == EndTransactionMarker(
        is_commit=False, coordinator_epoch=6
    )
    assert record.timestamp == 9


def test_marker_of_a_later_version_is_read_as_far_as_known() -> None:
    record = Record(COMMIT_KEY, struct.pack(">hiq", 1, 6, 77))
    marker = read_end_transaction_marker(record)
    assert marker == EndTransactionMarker(is_commit=True, coordinator_epoch=6)


@pytest.mark.parametrize("value", [None, b"", bytes(5), b"\xff\xff" + bytes(4)])
def test_marker_without_its_bytes_is_refused(value: bytes | None) -> None:
    with pytest.raises(CorruptRecordError, match="end-transaction marker"):
        read_end_transaction_marker(Record(COMMIT_KEY, value))


def test_marker_of_another_type_is_none() -> None:
    assert read_end_transaction_marker(Record(bytes.fromhex("00000002"), b"")) is None
    assert read_end_transaction_marker(Record(bytes.fromhex("000000ff"), b"")) is None


@pytest.mark.parametrize("key", [None, b"", b"\x00\x00\x00", b"\xff\xff\x00\x01"])
def test_key_that_is_none_is_refused(key: bytes | None) -> None:
    with pytest.raises(CorruptRecordError, match="control record"):
        control_record_type(key)


def test_key_of_a_later_release_has_no_type() -> None:
    assert control_record_type(bytes.fromhex("00000007")) is None
    assert control_record_type(bytes.fromhex("0000ffff")) is None
    assert control_record_type(memoryview(bytes.fromhex("0001000600"))) is (
        ControlRecordType.KRAFT_VOTERS
    )


def voters() -> VotersRecord:
    return VotersRecord(
        voters=[
            VotersRecordVoter(
                voter_id=1,
                voter_directory_id=parse_uuid("1x9SQgBzT5uQ75Ea6Jv__Q"),
                endpoints=[Endpoint(name="CONTROLLER", host="127.0.0.1", port=51867)],
                k_raft_version_feature=KRaftVersionFeature(max_supported_version=1),
            )
        ]
    )


def test_metadata_log_begins_with_leader_change_version_and_voters() -> None:
    (raw, header, records), *_ = control_batches(METADATA / "00000000000000000000.log")
    messages = [read_kraft_control_record(record) for record in records]
    voter = LeaderChangeMessageVoter(voter_id=1)
    assert messages == [
        LeaderChangeMessage(leader_id=1, voters=[voter], granting_voters=[voter]),
        KRaftVersionRecord(k_raft_version=1),
        voters(),
    ]
    batch = build_batch(
        [
            kraft_control_record(message, header.base_timestamp)
            for message in messages
            if message is not None
        ],
        leader_epoch=header.partition_leader_epoch,
        is_control=True,
    )
    assert batch == raw


def test_snapshot_begins_with_its_header_and_ends_with_its_footer() -> None:
    path = METADATA / "00000000000000000000-0000000000.checkpoint"
    batches = control_batches(path)
    messages = [
        read_kraft_control_record(record) for _, _, records in batches for record in records
    ]
    assert isinstance(messages[0], SnapshotHeaderRecord)
    assert messages[0].last_contained_log_timestamp > 0
    assert messages[1:] == [KRaftVersionRecord(k_raft_version=1), voters(), SnapshotFooterRecord()]
    raw, header, (record,) = batches[-1]
    footer = kraft_control_record(SnapshotFooterRecord(), record.timestamp)
    batch = build_batch(
        [footer], base_offset=header.base_offset, leader_epoch=LeaderEpoch(0), is_control=True
    )
    assert batch == raw


def test_leader_change_carries_directories_in_its_version_1() -> None:
    directory = parse_uuid("1x9SQgBzT5uQ75Ea6Jv__Q")
    voter = LeaderChangeMessageVoter(voter_id=1, voter_directory_id=directory)
    message = LeaderChangeMessage(version=1, leader_id=1, voters=[voter])
    record = kraft_control_record(message)
    assert control_record_type(record.key) is ControlRecordType.LEADER_CHANGE
    assert read_kraft_control_record(record) == message
    assert record.timestamp == -1
    assert record.offset == Offset(-1)


def test_kraft_record_of_another_type_is_none() -> None:
    assert read_kraft_control_record(Record(COMMIT_KEY, bytes(6))) is None
    assert read_kraft_control_record(Record(bytes.fromhex("00000009"), None)) is None


@pytest.mark.parametrize("value", [None, b"\x00"])
def test_kraft_record_without_a_version_is_refused(value: bytes | None) -> None:
    with pytest.raises(CorruptRecordError, match="version"):
        read_kraft_control_record(Record(bytes.fromhex("00000004"), value))


@pytest.mark.parametrize(
    "value", [b"\x00\x00", b"\x00\x00\x00\x00", b"\x00\x05\x00", b"\xff\xff\0"]
)
def test_kraft_record_that_is_none_is_refused(value: bytes) -> None:
    with pytest.raises(ProtocolError):
        read_kraft_control_record(Record(bytes.fromhex("00000004"), value))
