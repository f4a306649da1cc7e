"""A log replayed into a core: what it says in the end, whatever of it is passed over."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kafkalite.config.views import TopicConfig
from kafkalite.coordinator.groups.coordinator import GroupCoordinator
from kafkalite.coordinator.groups.log_record import (
    JournalRecord,
    Record,
    TransactionEnded,
    encode_record,
)
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.opening import open_log
from kafkalite.log.validation import AppendOrigin
from kafkalite.protocol.messages.classic_group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kafkalite.protocol.messages.consumer_group_records import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
)
from kafkalite.protocol.records import record as log_record
from kafkalite.protocol.records.batch import BatchHeader
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.record import build_batch
from kafkalite.replica.leader import PartitionLeader
from kafkalite.server.coordinator_replay import SLICE_BYTES, SLICE_RECORDS, Replay
from kafkalite.server.group_record_codec import GroupRecordCodec
from kafkalite.server.partition import Partition
from kafkalite.types import (
    NO_PRODUCER_ID,
    BrokerId,
    LeaderEpoch,
    Offset,
    ProducerEpoch,
    ProducerId,
    TimestampMs,
    TopicPartition,
    Uuid,
)
from tests.log.log_fixtures import log_directory

ME, NOW = BrokerId(1), TimestampMs(1_700_000_000_000)
Batch = tuple[JournalRecord, ...]


class CountingCodec(GroupRecordCodec):
    """Knows how many records were read to their ends."""

    count = 0

    def read(self, record: log_record.Record, header: BatchHeader) -> JournalRecord | None:
        self.count += 1
        return super().read(record, header)


def partition_of(batches: Sequence[Batch | bytearray]) -> Partition:
    config, topic_id = TopicConfig(cleanup_policy=("compact",)), Uuid(bytes(15) + b"\x09")
    log = open_log(
        MemoryFiles(), "__consumer_offsets-0", config=config, topic_id=topic_id, now=NOW, clean=True
    )
    partition = Partition("__consumer_offsets", topic_id, 0, log, config, log_directory())
    partition.become_leader(
        PartitionLeader(
            ME,
            leader_epoch=LeaderEpoch(0),
            isr=frozenset({ME}),
            end_offset=Offset(0),
            high_watermark=Offset(0),
        )
    )
    codec = GroupRecordCodec()
    for each in batches:
        batch = each if isinstance(each, bytearray) else codec.batch(each, NOW)
        partition.append(memoryview(batch), 1, NOW, AppendOrigin.COORDINATOR)
    return partition


def loaded(partition: Partition, codec: GroupRecordCodec, slice_bytes: int) -> GroupCoordinator:
    core = GroupCoordinator()
    replay = Replay(core, codec, partition)
    while not replay.step(slice_bytes):
        pass
    assert replay.offset == partition.log.end_offset
    return core


def said(core: GroupCoordinator) -> object:
    """All that clients can be told of what is recorded."""
    recorded = core.recorded
    ids = dict.fromkeys([*recorded.groups, *recorded.offsets.groups(), "g", "h"])
    return (
        recorded.groups,
        recorded.consumer_groups,
        {id: (recorded.offsets.of_group(id), recorded.offsets.pending_of_group(id)) for id in ids},
        set(recorded.offsets.pending_groups()),
    )


def commit(
    offset: int | None, index: int = 0, group: str = "g", producer_id: ProducerId = NO_PRODUCER_ID
) -> Record:
    key = OffsetCommitKey(group=group, topic="t", partition=index)
    value = None if offset is None else OffsetCommitValue(offset=offset)
    epoch = ProducerEpoch(-1 if producer_id == NO_PRODUCER_ID else 0)
    return Record(key, value, producer_id, epoch)


GROUPS, PRODUCERS = some.sampled_from(["g", "h"]), some.sampled_from([ProducerId(1), ProducerId(2)])
commits = some.builds(commit, some.integers(0, 9), some.integers(0, 2), GROUPS)
tombstones = some.builds(commit, some.none(), some.integers(0, 2), GROUPS)
classic = some.builds(
    lambda group, value: Record(GroupMetadataKey(group=group), value),
    GROUPS,
    some.none() | some.builds(GroupMetadataValue, generation=some.integers(1, 9)),
)
consumers = some.builds(
    lambda group, value: Record(ConsumerGroupMetadataKey(group_id=group), value),
    GROUPS,
    some.none() | some.builds(ConsumerGroupMetadataValue, epoch=some.integers(1, 9)),
)
plain = some.lists(commits | tombstones | classic | consumers, min_size=1, max_size=6)
pending = some.builds(
    lambda producer, offset, index, group: (commit(offset, index, group, producer),),
    PRODUCERS,
    some.integers(10, 19),
    some.integers(0, 2),
    GROUPS,
)
ends = some.builds(
    lambda producer, committed: (
        TransactionEnded(producer, committed, ProducerEpoch(0), coordinator_epoch=0),
    ),
    PRODUCERS,
    some.booleans(),
)


@given(
    some.lists(plain.map(tuple) | pending | ends, max_size=30), some.sampled_from([1, 200, 9999])
)
def test_a_log_says_what_its_records_say_one_by_one(batches: list[Batch], slice_bytes: int) -> None:
    core = GroupCoordinator()
    for batch in batches:
        for record in batch:
            core.apply(record)
    assert said(loaded(partition_of(batches), GroupRecordCodec(), slice_bytes)) == said(core)


def test_commits_that_later_ones_replace_are_not_read() -> None:
    """A log that was not compacted lately has each of them thousands of times."""
    codec = CountingCodec()
    # Of compressed batches each is read: what they become may be large.
    batches = [(commit(n), commit(n, 1)) for n in range(100)]
    compressed = GroupRecordCodec(Compression.ZSTD).batch((commit(200), commit(201)), NOW)
    loaded(partition_of([*batches, compressed]), codec, SLICE_BYTES)
    assert codec.count == 2 + 2
    codec.count = 0
    partition = partition_of(batches)
    core = loaded(partition, codec, SLICE_BYTES)
    assert codec.count == 2
    kept = core.recorded.offsets.of_group("g")
    assert {at: value.offset for at, value in kept.items()} == {
        TopicPartition("t", 0): 99,
        TopicPartition("t", 1): 99,
    }


@pytest.mark.parametrize("last", [(), (Record(GroupMetadataKey(group="g"), None),)])
def test_so_many_records_are_read_in_one_turn(last: Batch) -> None:
    """However many of them wait for others of their keys."""
    codec = CountingCodec()
    partition = partition_of([tuple(commit(n, n) for n in range(2_500)), last][: 1 + len(last)])
    replay, counts = Replay(GroupCoordinator(), codec, partition), [0]
    while not replay.step(SLICE_BYTES):
        counts.append(codec.count)
    counts.append(codec.count)
    assert max(after - before for before, after in pairwise(counts)) <= SLICE_RECORDS
    assert counts[-1] == 2_500 + len(last)


def test_a_commit_of_a_later_release_does_not_hide_one_that_can_be_read() -> None:
    record = log_record.Record(b"\0\1\0\1g\0\1t" + bytes(4), b"\0\x7f" + bytes(30))
    partition = partition_of([(commit(5),), build_batch([record])])
    core = loaded(partition, GroupRecordCodec(), SLICE_BYTES)
    assert core.recorded.offsets.of_group("g")[TopicPartition("t", 0)].offset == 5


def test_a_damaged_commit_does_not_hide_one_that_can_be_read() -> None:
    key, value = encode_record(commit(6))
    assert value is not None
    damaged = build_batch([log_record.Record(key, value[:-1])])
    core = loaded(partition_of([(commit(5),), damaged]), GroupRecordCodec(), SLICE_BYTES)
    assert core.recorded.offsets.of_group("g")[TopicPartition("t", 0)].offset == 5


def test_commits_of_transactions_are_all_read() -> None:
    """Which of them come to count, their ends tell."""
    one, two = ProducerId(1), ProducerId(2)
    ends = [
        TransactionEnded(producer, committed, ProducerEpoch(0), coordinator_epoch=0)
        for producer, committed in ((two, False), (one, True))
    ]
    batches = [(commit(5),), (commit(6, producer_id=one),), (commit(7, producer_id=two),)]
    core = loaded(partition_of([*batches, *((end,) for end in ends)]), GroupRecordCodec(), 1 << 17)
    assert core.recorded.offsets.of_group("g")[TopicPartition("t", 0)].offset == 6
