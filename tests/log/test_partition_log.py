"""One log: offsets, rolling, reads, times, truncation, and what survives a close."""

from __future__ import annotations

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log import opening
from kafkalite.log.epochs import EpochStart
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.log_cuts import delete_records, truncate_to
from kafkalite.log.partition_log import PartitionLog
from kafkalite.protocol.records.batch import crc_is_valid
from kafkalite.types import LeaderEpoch, Offset, ProducerId, TimestampMs, Uuid
from tests.log.log_fixtures import (
    EPOCH,
    FOLDER,
    NOW,
    TOPIC_ID,
    append,
    batch,
    headers,
    idempotent,
    open_log,
    read,
    stored,
    taken,
)

SIZE = len(batch())


def base_offsets(log: PartitionLog) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def test_offsets_follow_each_other_and_are_stamped() -> None:
    log = open_log()
    assert append(log, batch(1, 2, 3)) == (0, 2, -1, len(batch(1, 2, 3)))
    assert append(log, batch(4)) == (3, 3, -1, len(batch(4)))
    assert log.end_offset == 4
    first, second = headers(stored(log))
    assert (first.base_offset, second.base_offset) == (0, 3)
    assert (first.partition_leader_epoch, second.partition_leader_epoch) == (EPOCH, EPOCH)
    assert crc_is_valid(stored(log), 0, first)
    assert log.epochs.starts == (EpochStart(EPOCH, Offset(0)),)


def test_an_append_writes_the_buffer_it_was_given() -> None:
    log = open_log()
    data = batch()
    append(log, data)
    assert stored(log) == bytes(data)


class TestReading:
    def test_from_the_batch_that_holds_the_offset(self) -> None:
        log = open_log()
        first, second = batch(1, 2, 3), batch(4, 5)
        append(log, first)
        append(log, second)
        assert read(log, 0) == read(log, 2) == bytes(first + second)
        assert read(log, 3) == read(log, 4) == bytes(second)
        assert read(log, 5) == b""

    def test_out_of_range(self) -> None:
        log = open_log(log_start_offset=5)
        append(log, batch())
        for offset in (4, 7):
            with pytest.raises(KafkaError, match="orders-3") as caught:
                read(log, offset)
            assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE

    def test_below_max_offset_only(self) -> None:
        log = open_log()
        data = [batch(1), batch(2, 3), batch(4)]
        for one in data:
            append(log, one)
        assert read(log, 0, max_offset=0) == b""
        assert read(log, 0, max_offset=1) == bytes(data[0])
        assert read(log, 0, max_offset=3) == bytes(data[0] + data[1])
        assert read(log, 1, max_offset=1) == b""
        assert read(log, 3, max_offset=1) == b""

    def test_the_last_batch_is_cut_at_max_bytes(self) -> None:
        log = open_log()
        for _ in range(3):
            append(log, batch())
        assert read(log, 0, max_bytes=2 * SIZE + 10) == stored(log)[: 2 * SIZE + 10]
        assert read(log, 0, max_bytes=SIZE) == stored(log)[:SIZE]

    def test_the_first_batch_is_whole_or_nothing(self) -> None:
        log = open_log()
        append(log, batch())
        append(log, batch())
        assert read(log, 0, max_bytes=5) == stored(log)[:SIZE]
        found = log.read(Offset(0), max_bytes=5, max_offset=Offset(2), first_batch_whole=False)
        assert taken(found) == b""

    def test_one_segment_at_a_time(self) -> None:
        log = open_log(config=TopicConfig(segment_bytes=2 * SIZE))
        for _ in range(5):
            append(log, batch())
        assert base_offsets(log) == [0, 2, 4]
        assert [len(read(log, offset)) for offset in range(5)] == [
            2 * SIZE,
            SIZE,
            2 * SIZE,
            SIZE,
            SIZE,
        ]
        assert len(read(log, 0, max_offset=3)) == 2 * SIZE
        assert len(read(log, 2, max_offset=3)) == SIZE

    def test_goes_on_in_the_next_segment_when_compaction_took_the_end(self) -> None:
        files = MemoryFiles()
        config = TopicConfig(segment_bytes=2 * SIZE, cleanup_policy=("compact",))
        log = open_log(files, config)
        for _ in range(5):
            append(log, batch())
        log.close()
        files.open(f"{FOLDER}/{2:020d}.log").truncate(0)
        again = open_log(files, config)
        assert [header.base_offset for header in headers(read(again, 2))] == [4]

    def test_a_part_outlives_its_segment(self) -> None:
        log = open_log(config=TopicConfig(segment_bytes=SIZE))
        append(log, batch())
        append(log, batch())
        before = stored(log)
        found = log.read(Offset(1), max_bytes=999, max_offset=Offset(2), first_batch_whole=True)
        truncate_to(log, Offset(0), NOW)
        log.close()
        assert taken(found) == before[SIZE:]


class TestRolling:
    def test_by_size(self) -> None:
        log = open_log(config=TopicConfig(segment_bytes=3 * SIZE - 1))
        for _ in range(5):
            append(log, batch())
        assert base_offsets(log) == [0, 2, 4]

    def test_by_the_time_of_records(self) -> None:
        log = open_log(config=TopicConfig(segment_ms=1000))
        append(log, batch(NOW))
        append(log, batch(NOW + 1000), now=TimestampMs(NOW + 9999))
        append(log, batch(NOW + 1001))
        append(log, batch(NOW))
        assert base_offsets(log) == [0, 2]

    def test_by_the_time_since_opening_where_records_have_none(self) -> None:
        log = open_log(config=TopicConfig(segment_ms=1000))
        append(log, batch(-1), now=TimestampMs(NOW + 5000))
        append(log, batch(-1), now=TimestampMs(NOW + 1000))
        append(log, batch(-1), now=TimestampMs(NOW + 1001))
        assert base_offsets(log) == [0, 2]

    def test_by_full_indexes(self) -> None:
        full = TopicConfig(index_interval_bytes=0, segment_index_bytes=36)
        log = open_log(config=full)
        for at in range(7):
            append(log, batch(NOW + at))
        # 36 bytes hold three time entries, of which one is kept free for the roll.
        assert base_offsets(log) == [0, 3, 6]
        assert [len(segment.indexes.times) for segment in log.segments] == [2, 2, 0]

    def test_by_offsets_too_far_from_the_first(self) -> None:
        log = open_log()
        append(log, batch())
        log.end_offset = Offset(2**31 - 1)
        append(log, batch())
        append(log, batch())
        assert base_offsets(log) == [0, 2**31]
        assert log.end_offset == 2**31 + 1

    def test_an_empty_segment_does_not_roll(self) -> None:
        log = open_log()
        log.roll(NOW)
        assert base_offsets(log) == [0]
        append(log, batch())
        log.roll(NOW)
        log.roll(NOW)
        assert base_offsets(log) == [0, 1]

    def test_leaves_the_files_that_kafka_leaves(self) -> None:
        files = MemoryFiles()
        log = open_log(files, TopicConfig(segment_bytes=SIZE))
        append(log, batch())
        append(log, batch())
        log.close()
        stems = [f"{base:020d}" for base in (0, 1)]
        assert files.list(FOLDER) == sorted(
            [
                *(stem + suffix for stem in stems for suffix in (".index", ".log", ".timeindex")),
                f"{1:020d}.snapshot",
                f"{2:020d}.snapshot",
                "leader-epoch-checkpoint",
                "partition.metadata",
            ]
        )


class TestProducers:
    def test_a_retry_is_answered_with_its_first_offsets(self) -> None:
        log = open_log()
        append(log, idempotent(0, 2))
        append(log, idempotent(2, 3))
        assert append(log, idempotent(0, 2)) == (0, 1, NOW, 0)
        assert append(log, idempotent(2, 3)) == (2, 4, NOW, 0)
        assert log.end_offset == 5

    def test_five_batches_back(self) -> None:
        log = open_log()
        for sequence in range(6):
            append(log, idempotent(sequence))
        assert append(log, idempotent(1)).is_duplicate
        with pytest.raises(KafkaError) as caught:
            append(log, idempotent(0))
        assert caught.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def test_a_refused_batch_leaves_no_trace(self) -> None:
        log = open_log()
        append(log, idempotent(0))
        with pytest.raises(KafkaError):
            append(log, idempotent(5))
        append(log, idempotent(1))
        assert log.end_offset == 2

    def test_states_survive_a_clean_stop_and_a_kill(self) -> None:
        files = MemoryFiles()
        log = open_log(files)
        append(log, idempotent(0))
        append(log, idempotent(1))
        log.close()
        clean = open_log(files)
        assert append(clean, idempotent(1)).is_duplicate
        append(clean, idempotent(2))
        killed = open_log(files, clean=False)
        assert append(killed, idempotent(2)).is_duplicate
        assert append(killed, idempotent(3)).base_offset == 3

    def test_states_go_with_the_records(self) -> None:
        log = open_log()
        append(log, idempotent(0))
        append(log, idempotent(1))
        truncate_to(log, Offset(1), NOW)
        state = log.producers.get(ProducerId(9))
        assert state is not None
        assert state.last_sequence == 0
        assert append(log, idempotent(1)).base_offset == 1


class TestTimes:
    def test_the_first_record_at_or_after_a_timestamp(self) -> None:
        log = open_log(config=TopicConfig(segment_bytes=4 * SIZE, index_interval_bytes=0))
        times = [[10, 30, 20], [5], [40, 50], [50], [60], [1], [70]]
        for one in times:
            append(log, batch(*one))
        assert len(log.segments) > 1
        flat = [time for one in times for time in one]
        for wanted in range(75):
            found = log.offset_for_timestamp(TimestampMs(wanted))
            at = next((at for at, time in enumerate(flat) if time >= wanted), None)
            if at is None:
                assert found is None
            else:
                assert found == (flat[at], at, EPOCH)

    def test_not_below_the_start(self) -> None:
        files = MemoryFiles()
        log = open_log(files)
        append(log, batch(10, 20))
        append(log, batch(30))
        log.close()
        again = open_log(files, log_start_offset=1)
        assert again.offset_for_timestamp(TimestampMs(1)) == (20, 1, EPOCH)

    def test_the_latest_timestamp_of_all(self) -> None:
        log = open_log(config=TopicConfig(segment_bytes=2 * SIZE))
        assert log.offset_of_max_timestamp() is None
        append(log, batch(-1))
        assert log.offset_of_max_timestamp() is None
        for times in ([5, 80, 80], [80], [3], [9]):
            append(log, batch(*times))
        assert log.offset_of_max_timestamp() == (80, 2, EPOCH)


class TestTruncating:
    def test_drops_the_batch_that_holds_the_offset(self) -> None:
        log = open_log(config=TopicConfig(segment_bytes=200))
        for _ in range(4):
            append(log, batch(1, 2, 3))
        truncate_to(log, Offset(7), NOW)
        assert log.end_offset == 7
        assert [header.base_offset for header in headers(stored(log))] == [0, 3]
        assert append(log, batch()).base_offset == 7

    def test_above_the_end_nothing_happens(self) -> None:
        log = open_log()
        append(log, batch())
        truncate_to(log, Offset(1), NOW)
        truncate_to(log, Offset(9), NOW)
        assert log.end_offset == 1

    def test_below_the_first_segment_all_goes(self) -> None:
        log = open_log(log_start_offset=10)
        append(log, batch())
        truncate_to(log, Offset(4), NOW)
        assert (log.log_start_offset, log.end_offset, base_offsets(log)) == (4, 4, [4])
        assert append(log, batch()).base_offset == 4

    def test_epochs_go_too(self) -> None:
        log = open_log()
        append(log, batch())
        log.begin_epoch(LeaderEpoch(9))
        assert log.epochs.latest == 9
        truncate_to(log, Offset(0), NOW)
        assert log.epochs.starts == ()

    def test_survives_a_loss_of_power_at_once(self) -> None:
        files = MemoryFiles(models_crashes=True)
        log = open_log(files)
        append(log, batch(1))
        append(log, batch(2))
        log.sync()
        truncate_to(log, Offset(1), NOW)
        files.crash()
        again = open_log(files, clean=False)
        assert (again.end_offset, again.recovery_point) == (1, 0)


class TestOpening:
    def test_a_new_log_has_no_folder_until_its_first_append(self) -> None:
        files = MemoryFiles()
        log = open_log(files)
        assert (log.log_start_offset, log.end_offset, log.size_bytes) == (0, 0, 0)
        log.begin_epoch(EPOCH)
        log.roll(NOW)
        delete_records(log, Offset(0))
        truncate_to(log, Offset(0), NOW)
        assert (read(log, 0), log.offset_of_max_timestamp()) == (b"", None)
        assert log.offset_for_timestamp(NOW) is None
        log.sync()
        log.close()
        assert files.list("") == []
        append(log, batch())
        log.close()
        assert files.list(FOLDER) == [
            f"{0:020d}.index",
            f"{0:020d}.log",
            f"{0:020d}.timeindex",
            f"{1:020d}.snapshot",
            "leader-epoch-checkpoint",
            "partition.metadata",
        ]
        again = open_log(files)
        assert (again.folder.topic_id, again.end_offset) == (TOPIC_ID, 1)
        assert again.epochs.starts == ((EPOCH, 0),)

    def test_a_folder_that_is_made_before_the_first_append(self) -> None:
        files = MemoryFiles()
        log = open_log(files)
        log.begin_epoch(EPOCH)
        log.folder.make()
        log.folder.make()
        assert files.list(FOLDER) == [
            f"{0:020d}.log",
            "leader-epoch-checkpoint",
            "partition.metadata",
        ]
        append(log, batch())
        append(log, batch(), epoch=LeaderEpoch(EPOCH + 1))
        log.close()
        assert open_log(files).epochs.starts == ((EPOCH, 0), (EPOCH + 1, 1))

    def test_the_folder_of_another_topic_is_refused(self) -> None:
        files = MemoryFiles()
        open_log(files).folder.make()
        with pytest.raises(KafkaError) as caught:
            opening.open_log(
                files,
                FOLDER,
                config=TopicConfig(),
                topic_id=Uuid(b"another topic id"),
                now=NOW,
                clean=True,
            )
        assert caught.value.code is ErrorCode.INCONSISTENT_TOPIC_ID

    def test_a_closed_log_goes_on_when_used(self) -> None:
        log = open_log()
        append(log, batch())
        log.close()
        log.close()
        append(log, batch())
        assert len(headers(read(log, 0))) == 2

    def test_new_settings_count_from_the_next_append(self) -> None:
        log = open_log()
        append(log, batch())
        log.configure(TopicConfig(max_message_bytes=10))
        with pytest.raises(KafkaError) as caught:
            append(log, batch())
        assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE
        log.configure(TopicConfig(segment_bytes=SIZE))
        append(log, batch())
        assert base_offsets(log) == [0, 1]

    def test_a_kill_right_after_the_first_append(self) -> None:
        files = MemoryFiles()
        log = open_log(files)
        append(log, batch())
        assert read(open_log(files, clean=False), 0) == stored(log)


class TestSyncing:
    def test_what_was_synced_survives(self) -> None:
        files = MemoryFiles(models_crashes=True)
        log = open_log(files, TopicConfig(segment_bytes=2 * SIZE))
        for _ in range(5):
            append(log, batch())
        log.sync()
        assert log.recovery_point == 5
        append(log, batch())
        files.crash()
        again = open_log(files, clean=False)
        assert again.end_offset == 5
        assert again.epochs.starts == (EpochStart(EPOCH, Offset(0)),)
        assert again.folder.topic_id == log.folder.topic_id

    def test_nothing_is_durable_before(self) -> None:
        files = MemoryFiles(models_crashes=True)
        append(open_log(files), batch())
        files.crash()
        assert open_log(files, clean=False).end_offset == 0
