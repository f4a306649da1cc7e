"""The coordinator of one partition: loaded from the log, appended to it, released by its high
watermark, thrown away when an append fails."""

from __future__ import annotations

import pytest

from kafkalite.config.views import TopicConfig
from kafkalite.coordinator.groups.classic.events import Loaded
from kafkalite.coordinator.groups.coordinator import GroupCoordinator
from kafkalite.coordinator.groups.events import Event
from kafkalite.coordinator.groups.log_record import JournalRecord
from kafkalite.coordinator.groups.offset_events import (
    CommitOffsets,
    FetchOffsets,
    OffsetsCommitted,
    OffsetsFetched,
    OffsetToCommit,
    TopicPartitions,
    TopicsDeleted,
)
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.log.opening import open_log
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.validation import AppendOrigin
from kafkalite.protocol.records.batch import iter_headers
from kafkalite.protocol.records.compression import Compression
from kafkalite.protocol.records.control import EndTransactionMarker, build_end_transaction_batch
from kafkalite.protocol.records.record import Record, build_batch
from kafkalite.replica.leader import PartitionLeader
from kafkalite.server import coordinator_driver, coordinator_replay, group_record_codec, partition
from kafkalite.server.coordinator_driver import (
    RETRY_MS,
    CoordinatorDriver,
    CoordinatorSettings,
)
from kafkalite.server.coordinator_replay import SLICE_BYTES, SLICE_RECORDS
from kafkalite.server.group_record_codec import GroupRecordCodec
from kafkalite.server.partition import Partition
from kafkalite.types import (
    BrokerId,
    LeaderEpoch,
    Offset,
    ProducerEpoch,
    ProducerId,
    Uuid,
)
from tests.log.log_fixtures import log_directory
from tests.server.hand_clock import HandClock
from tests.server.led_partitions import follower_at

ME, OTHER = BrokerId(1), BrokerId(2)
TOPIC_ID = Uuid(bytes(15) + b"\x09")


Driver = CoordinatorDriver[Event, JournalRecord]


class World:
    """One partition of `__consumer_offsets`, and whoever coordinates on it."""

    def __init__(self, *, isr: frozenset[BrokerId] = frozenset({ME})) -> None:
        self.clock = HandClock()
        config = TopicConfig(cleanup_policy=("compact",))
        log = open_log(
            MemoryFiles(),
            "__consumer_offsets-0",
            config=config,
            topic_id=TOPIC_ID,
            now=self.clock.now_ms(),
            clean=True,
        )
        self.partition = Partition("__consumer_offsets", TOPIC_ID, 0, log, config, log_directory())
        self.leader = PartitionLeader(
            ME,
            leader_epoch=LeaderEpoch(0),
            isr=isr,
            end_offset=Offset(0),
            high_watermark=Offset(0),
        )
        self.partition.become_leader(self.leader)
        self.tokens = iter(range(1_000))

    def driver(
        self,
        *,
        load_bytes: int = 1 << 17,
        compression: Compression = Compression.NONE,
    ) -> Driver:
        """One that is loading or loaded."""
        codec = GroupRecordCodec(compression)
        settings = CoordinatorSettings[Event, JournalRecord](
            GroupCoordinator, codec, Loaded(), load_bytes=load_bytes
        )
        driver = CoordinatorDriver(self.partition, self.clock, settings)
        driver.load()
        return driver

    def finish(self, driver: Driver) -> int:
        """How many turns of the loop a load takes from here."""
        turns = 0
        while not driver.active:
            self.clock.advance(0)
            turns += 1
        return turns

    def ask(self, driver: Driver, event: CommitOffsets | FetchOffsets) -> list[object]:
        """Where the reply comes."""
        replies: list[object] = []
        driver.submit(event._replace(token=next(self.tokens)), replies.append)
        return replies

    def commit(self, driver: Driver, offset: int, topic: str = "t") -> list[object]:
        wanted = OffsetToCommit(topic, 0, Offset(offset))
        return self.ask(driver, CommitOffsets(None, "g", -1, "", None, (wanted,)))

    def committed(self, driver: Driver, topic: str = "t") -> int:
        event = FetchOffsets(None, "g", (TopicPartitions(topic, (0,)),))
        (reply,) = self.ask(driver, event)
        assert isinstance(reply, OffsetsFetched), reply
        return reply.offsets[0].offset


def code(replies: list[object]) -> ErrorCode:
    (reply,) = replies
    assert isinstance(reply, KafkaError), reply
    return reply.code


def fail_appends(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(partition, "append_as_leader", fail)


def test_with_one_replica_an_answer_comes_at_once() -> None:
    world = World()
    driver = world.driver()
    assert driver.active
    (reply,) = world.commit(driver, 5)
    assert isinstance(reply, OffsetsCommitted)
    assert world.committed(driver) == 5


def test_what_is_appended_is_loaded_again() -> None:
    world = World()
    driver = world.driver()
    world.commit(driver, 5)
    world.commit(driver, 7, "u")
    driver.close()
    successor = world.driver()
    assert (world.committed(successor), world.committed(successor, "u")) == (5, 7)


def test_a_long_log_is_loaded_in_turns() -> None:
    world = World()
    driver = world.driver()
    for offset in range(20):
        world.commit(driver, offset, f"t{offset}")
    driver.close()
    successor = world.driver(load_bytes=300)
    assert code(world.commit(successor, 1)) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert world.finish(successor) > 5
    assert [world.committed(successor, f"t{n}") for n in range(20)] == list(range(20))


def test_a_batch_larger_than_a_slice_is_loaded_whole() -> None:
    world = World()
    driver = world.driver()
    offsets = tuple(OffsetToCommit("t", n, Offset(n)) for n in range(50))
    world.ask(driver, CommitOffsets(None, "g", -1, "", None, offsets))
    driver.close()
    successor = world.driver(load_bytes=10)
    world.finish(successor)
    (reply,) = world.ask(successor, FetchOffsets(None, "g", None))
    assert isinstance(reply, OffsetsFetched)
    assert [each.offset for each in reply.offsets] == list(range(50))


def test_replies_wait_for_the_high_watermark_and_so_do_reads() -> None:
    world = World(isr=frozenset({ME, OTHER}))
    driver = world.driver()
    replies = world.commit(driver, 5)
    read = world.ask(driver, FetchOffsets(None, "g", None))
    assert (replies, read) == ([], [])
    end = world.partition.log.end_offset
    follower_at(world.partition, OTHER, end)
    assert isinstance(replies[0], OffsetsCommitted)
    assert isinstance(read[0], OffsetsFetched)


def test_a_load_shows_nothing_before_it_is_committed() -> None:
    world = World(isr=frozenset({ME, OTHER}))
    world.commit(world.driver(), 5)
    successor = world.driver()
    assert world.ask(successor, FetchOffsets(None, "g", None)) == []


def test_resigning_refuses_who_waits_and_who_comes_later() -> None:
    world = World(isr=frozenset({ME, OTHER}))
    driver = world.driver()
    replies = world.commit(driver, 5)
    driver.close()
    assert code(replies) == ErrorCode.NOT_COORDINATOR
    assert code(world.commit(driver, 6)) == ErrorCode.NOT_COORDINATOR
    assert not driver.active
    driver.tell(TopicsDeleted(("t",)))
    assert world.partition.on_committed is None


def test_resigning_ends_a_load() -> None:
    world = World()
    driver = world.driver()
    for offset in range(10):
        world.commit(driver, offset)
    driver.close()
    successor = world.driver(load_bytes=200)
    successor.close()
    world.clock.advance(RETRY_MS)
    assert code(world.commit(successor, 5)) == ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER), ErrorCode.NOT_COORDINATOR),
        (KafkaError(ErrorCode.KAFKA_STORAGE_ERROR), ErrorCode.NOT_COORDINATOR),
        (OSError("disk full"), ErrorCode.NOT_COORDINATOR),
    ],
)
def test_a_failed_append_is_told_and_the_log_loaded_anew(
    monkeypatch: pytest.MonkeyPatch, error: Exception, told: ErrorCode
) -> None:
    world = World()
    driver = world.driver()
    world.commit(driver, 5)
    with monkeypatch.context() as patch:
        fail_appends(patch, error)
        assert code(world.commit(driver, 9)) == told
    assert code(world.commit(driver, 9)) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    world.clock.advance(0)
    assert world.committed(driver) == 5
    world.commit(driver, 9)
    assert world.committed(driver) == 9


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KafkaError(ErrorCode.MESSAGE_TOO_LARGE), ErrorCode.UNKNOWN_SERVER_ERROR),
        (KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE), ErrorCode.UNKNOWN_SERVER_ERROR),
        (KafkaError(ErrorCode.POLICY_VIOLATION), ErrorCode.POLICY_VIOLATION),
    ],
)
def test_a_batch_that_is_refused_for_itself_is_nobody_elses_matter(
    monkeypatch: pytest.MonkeyPatch, error: Exception, told: ErrorCode
) -> None:
    world = World(isr=frozenset({ME, OTHER}))
    driver = world.driver()
    waiting = world.commit(driver, 5)
    with monkeypatch.context() as patch:
        fail_appends(patch, error)
        refused = world.commit(driver, 9)
    world.commit(driver, 6, "u")
    end = world.partition.log.end_offset
    follower_at(world.partition, OTHER, end)
    assert code(refused) == told
    assert isinstance(waiting[0], OffsetsCommitted)
    assert (world.committed(driver), world.committed(driver, "u")) == (5, 6)


def test_a_name_that_no_record_holds_is_refused_alone() -> None:
    world = World()
    driver = world.driver()
    refused = world.commit(driver, 5, "t" * 40_000)
    assert code(refused) == ErrorCode.UNKNOWN_SERVER_ERROR
    world.commit(driver, 5)
    assert world.committed(driver) == 5


def test_those_whose_append_did_not_fail_are_sent_to_ask_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(isr=frozenset({ME, OTHER}))
    driver = world.driver()
    waiting = world.commit(driver, 5)
    fail_appends(monkeypatch, KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert code(world.commit(driver, 9)) == ErrorCode.NOT_COORDINATOR
    assert code(waiting) == ErrorCode.NOT_COORDINATOR


def test_a_failed_append_after_which_the_broker_resigns_loads_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    driver = world.driver()
    fail_appends(monkeypatch, OSError("disk full"))
    world.commit(driver, 9)
    driver.close()
    world.clock.advance(RETRY_MS)
    assert not driver.active


def test_a_log_that_cannot_be_read_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.commit(world.driver(), 5)
    with monkeypatch.context() as patch:

        def fail(*_: object, **__: object) -> None:
            raise OSError("bad sector")

        patch.setattr(PartitionLog, "read", fail)
        successor = world.driver()
        world.clock.advance(RETRY_MS - 1)
        assert code(world.commit(successor, 6)) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    world.clock.advance(1)
    assert world.committed(successor) == 5


def test_deleted_topics_are_told_even_while_the_log_is_read() -> None:
    world = World()
    driver = world.driver()
    world.commit(driver, 5)
    world.commit(driver, 6, "kept")
    driver.close()
    successor = world.driver(load_bytes=100)
    successor.tell(TopicsDeleted(("t",)))
    assert world.finish(successor) > 0
    assert (world.committed(successor), world.committed(successor, "kept")) == (-1, 6)
    successor.tell(TopicsDeleted(("kept",)))
    assert world.committed(successor, "kept") == -1


def test_records_of_another_kind_and_markers_are_passed_by(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    driver = world.driver()
    world.commit(driver, 5)
    odd = build_batch([Record(b"\x7f\x00", b"\x00\x00"), Record(b"", b"x")])
    marker = build_end_transaction_batch(
        EndTransactionMarker(is_commit=True, coordinator_epoch=0),
        producer_id=ProducerId(4),
        producer_epoch=ProducerEpoch(0),
        timestamp=world.clock.now_ms(),
    )
    for batch in (odd, marker):
        world.partition.append(memoryview(batch), 1, world.clock.now_ms(), AppendOrigin.COORDINATOR)
    world.commit(driver, 6)
    driver.close()
    assert world.committed(world.driver()) == 6
    assert len([text for text in caplog.messages if "is passed by" in text]) == 2


def test_batches_are_compressed_as_the_setting_says() -> None:
    world = World()
    driver = world.driver(compression=Compression.GZIP)
    world.commit(driver, 5)
    read = world.partition.log.read(
        Offset(0), max_bytes=1 << 20, max_offset=Offset(99), first_batch_whole=True
    )
    assert isinstance(read.part, memoryview)
    ((_, header),) = iter_headers(read.part)
    assert header.compression == Compression.GZIP
    driver.close()
    assert world.committed(world.driver()) == 5


def test_one_decision_is_one_batch() -> None:
    world = World()
    driver = world.driver()
    offsets = tuple(OffsetToCommit("t", n, Offset(n)) for n in range(3))
    world.ask(driver, CommitOffsets(None, "g", -1, "", None, offsets))
    read = world.partition.log.read(
        Offset(0), max_bytes=1 << 20, max_offset=Offset(99), first_batch_whole=True
    )
    assert isinstance(read.part, memoryview)
    headers = [header for _, header in iter_headers(read.part)]
    assert headers[-1].records_count >= 3
    assert {(header.producer_id, header.base_sequence) for header in headers} == {(-1, 0)}
    assert all(header.base_timestamp == world.clock.now_ms() for header in headers)


# Much in little.


def test_a_small_batch_of_many_records_is_loaded_in_turns() -> None:
    world = World()
    driver = world.driver(compression=Compression.ZSTD)
    offsets = tuple(OffsetToCommit("t", n, Offset(n)) for n in range(4 * SLICE_RECORDS))
    world.ask(driver, CommitOffsets(None, "g", -1, "", None, offsets))
    world.clock.advance(0)
    world.clock.advance(0)
    assert 0 < world.partition.log.size_bytes < SLICE_BYTES
    driver.close()
    successor = world.driver()
    assert world.finish(successor) >= 4
    last = 4 * SLICE_RECORDS - 1
    (reply,) = world.ask(successor, FetchOffsets(None, "g", (TopicPartitions("t", (0, last)),)))
    assert isinstance(reply, OffsetsFetched)
    assert [each.offset for each in reply.offsets] == [0, last]


def test_a_batch_that_holds_more_than_may_be_is_not_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    driver = world.driver(compression=Compression.ZSTD)
    world.commit(driver, 5)
    end_offset = world.partition.log.end_offset
    with monkeypatch.context() as patch:
        patch.setattr(group_record_codec, "BATCH_BYTES", 5_000)
        offsets = tuple(OffsetToCommit("t", n, Offset(n)) for n in range(400))
        replies = world.ask(driver, CommitOffsets(None, "g", -1, "", None, offsets))
        assert code(replies) == ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.partition.log.end_offset == end_offset
    world.clock.advance(0)
    assert world.committed(driver) == 5, "it is loaded anew"


def test_a_batch_that_holds_more_than_may_be_is_not_read(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = World()
    driver = world.driver(compression=Compression.ZSTD)
    offsets = tuple(OffsetToCommit("t", n, Offset(n)) for n in range(400))
    world.ask(driver, CommitOffsets(None, "g", -1, "", None, offsets))
    driver.close()
    with monkeypatch.context() as patch:
        patch.setattr(coordinator_replay, "BATCH_BYTES", 5_000)
        successor = world.driver()
        assert code(world.commit(successor, 6)) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert "records decompress to more than 5000 bytes" in caplog.text
    world.clock.advance(RETRY_MS)
    assert world.committed(successor) == 0


def test_of_deletions_while_the_log_is_read_so_many_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(coordinator_driver, "MAX_EARLY", 2)
    world = World()
    driver = world.driver()
    for topic in ("t", "u", "v"):
        world.commit(driver, 5, topic)
    driver.close()
    successor = world.driver(load_bytes=100)
    for topics in (("t", "t"), ("u",), ("v",)):
        successor.tell(TopicsDeleted(topics))
    world.finish(successor)
    assert [world.committed(successor, topic) for topic in ("t", "u", "v")] == [-1, -1, 5]
