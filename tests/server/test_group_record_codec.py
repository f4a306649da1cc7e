"""Records of groups as bytes of the log and back."""

from __future__ import annotations

from kafkalite.coordinator.groups.log_record import JournalRecord, Record
from kafkalite.protocol.messages.classic_group_records import OffsetCommitKey, OffsetCommitValue
from kafkalite.protocol.records.batch import iter_headers
from kafkalite.protocol.records.record import read_records
from kafkalite.server.group_record_codec import GroupRecordCodec
from kafkalite.types import ProducerEpoch, ProducerId, TimestampMs


def commit(partition: int, offset: int | None, producer_id: int = -1) -> Record:
    key = OffsetCommitKey(group="g", topic="t", partition=partition)
    value = None if offset is None else OffsetCommitValue(offset=offset, metadata="m")
    return Record(key, value, ProducerId(producer_id), ProducerEpoch(0 if producer_id >= 0 else -1))


def read_back(codec: GroupRecordCodec, *batches: tuple[Record, ...]) -> list[JournalRecord | None]:
    found = []
    for records in batches:
        data = memoryview(bytes(codec.batch(records, TimestampMs(0))))
        for position, header in iter_headers(data):
            found += [codec.read(each, header) for each in read_records(data, position, header)]
    return found


def test_commits_are_read_as_they_were_written() -> None:
    batches = (
        (commit(0, 1), commit(1, 2), commit(0, 3)),
        (commit(0, 4, producer_id=7), commit(2, 5, producer_id=7)),
        (commit(0, None), commit(1, 6), commit(3, None), commit(0, 7)),
    )
    codec = GroupRecordCodec()
    expected = [each for records in batches for each in records]
    # The epoch stands in the batch alone, and nobody asks for it who reads.
    expected = [each._replace(producer_epoch=ProducerEpoch(-1)) for each in expected]
    assert read_back(codec, *batches) == expected
