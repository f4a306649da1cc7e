"""What a follower asks of one leader, and what it does with answers of every kind."""

from __future__ import annotations

import logging
from collections.abc import Callable
from errno import ENOSPC
from typing import cast

import pytest

from kafkalite.config.views import BrokerConfig, TopicConfig
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log.directories import LogDirectory
from kafkalite.protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kafkalite.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kafkalite.protocol.schema import Request, Response
from kafkalite.replica.follower import PartitionFollower
from kafkalite.server.offset_lookup import EARLIEST, LATEST
from kafkalite.server.partition import Partition
from kafkalite.server.peers import Peers
from kafkalite.server.replica_fetchers import ReplicaFetchers
from kafkalite.server.replication_throttles import ReplicationThrottles
from kafkalite.types import BrokerEpoch, BrokerId, LeaderEpoch, TopicPartition, Uuid
from tests.log.log_fixtures import append, batch, log_directory, open_log, read
from tests.log.refusing_disk import RefusingDisk
from tests.server.hand_clock import HandClock

ME, LEADER, ANOTHER = BrokerId(1), BrokerId(2), BrokerId(3)
TOPIC_ID = Uuid(bytes(range(16)))
BACKOFF_MS = 300
EPOCH = 5


class FakePeers:
    """Notes what is asked; a test answers."""

    def __init__(self) -> None:
        self.asked: list[tuple[BrokerId, Request]] = []
        self.replies: list[Callable[[Response | KafkaError], None]] = []

    def ask(
        self,
        broker_id: BrokerId,
        request: Request,
        on_reply: Callable[[Response | KafkaError], None],
        **_: object,
    ) -> None:
        self.asked.append((broker_id, request))
        self.replies.append(on_reply)


class World:
    """Partitions that this broker follows."""

    def __init__(self, count: int = 1, directory: LogDirectory | None = None) -> None:
        self.clock = HandClock()
        self.peers = FakePeers()
        config = BrokerConfig.of({"replica.fetch.backoff.ms": str(BACKOFF_MS)})
        self.fetchers = ReplicaFetchers(
            ME,
            cast("Peers", self.peers),  # It has all of it that fetchers use.
            self.clock,
            config,
            ReplicationThrottles(ME),
            broker_epoch=lambda: BrokerEpoch(10),
        )
        self.directory = log_directory() if directory is None else directory
        self.partitions = [self.partition(index) for index in range(count)]
        self.clock.advance(0)

    def partition(self, index: int) -> Partition:
        config = TopicConfig()
        log = self.directory.open_partition(
            TopicPartition("t", index), topic_id=TOPIC_ID, config=config, now=self.clock.now_ms()
        )
        partition = Partition("t", TOPIC_ID, index, log, config, self.directory)
        self.follow(partition)
        return partition

    def follow(self, partition: Partition, leader: BrokerId = LEADER, epoch: int = EPOCH) -> None:
        partition.follow(PartitionFollower(leader, LeaderEpoch(epoch), backoff_ms=BACKOFF_MS))
        self.fetchers.follow(partition)

    @property
    def fetch(self) -> FetchRequest:
        """The last one."""
        request = self.peers.asked[-1][1]
        assert isinstance(request, FetchRequest)
        return request

    @property
    def named(self) -> list[tuple[int, int]]:
        """Partitions and offsets of the last fetch."""
        return [(p.partition, p.fetch_offset) for t in self.fetch.topics for p in t.partitions]

    @property
    def place(self) -> tuple[int, int]:
        return (self.fetch.session_id, self.fetch.session_epoch)

    def answer(self, *data: PartitionData, code: int = 0, session: int = 77) -> None:
        """The oldest question."""
        topic = FetchableTopicResponse(topic_id=TOPIC_ID, partitions=list(data))
        self.peers.replies.pop(0)(
            FetchResponse(error_code=code, session_id=session, responses=[topic])
        )

    def tell_offset(self, offset: int, code: int = 0) -> None:
        told = ListOffsetsPartitionResponse(partition_index=0, offset=offset, error_code=code)
        self.peers.replies.pop(0)(
            ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=[told])])
        )

    def asked_offset(self) -> int:
        """The special offset that was asked for last."""
        request = self.peers.asked[-1][1]
        assert isinstance(request, ListOffsetsRequest)
        assert request.replica_id == ME
        return request.topics[0].partitions[0].timestamp


def data(
    index: int = 0,
    records: bytes = b"",
    *,
    code: int = 0,
    high_watermark: int = 0,
    log_start: int = 0,
    diverging: tuple[int, int] | None = None,
) -> PartitionData:
    made = PartitionData(
        partition_index=index,
        error_code=code,
        high_watermark=high_watermark,
        log_start_offset=log_start,
        records=memoryview(bytearray(records)),
    )
    if diverging is not None:
        made.diverging_epoch = EpochEndOffset(epoch=diverging[0], end_offset=diverging[1])
    return made


def batches(count: int, *, epoch: int = EPOCH) -> bytes:
    """As a leader has them from offset 0 on."""
    log = open_log()
    for _ in range(count):
        append(log, batch(), epoch=LeaderEpoch(epoch))
    return read(log, 0)


def test_a_fetch_says_who_asks_and_what_it_has() -> None:
    world = World(2)
    (leader, _), *rest = world.peers.asked
    assert (leader, rest) == (LEADER, [])
    fetch = world.fetch
    assert (fetch.replica_state.replica_id, fetch.replica_state.replica_epoch) == (ME, 10)
    assert (fetch.max_wait_ms, fetch.min_bytes, fetch.max_bytes) == (500, 1, 10_485_760)
    first = fetch.topics[0].partitions[0]
    assert (first.current_leader_epoch, first.last_fetched_epoch) == (EPOCH, -1)
    assert (first.fetch_offset, first.log_start_offset, first.partition_max_bytes) == (
        0,
        0,
        1_048_576,
    )
    assert world.named == [(0, 0), (1, 0)]


def test_records_are_appended_and_asked_on_from_there() -> None:
    world = World(2)
    world.answer(data(0, batches(3), high_watermark=2), data(1))
    partition = world.partitions[0]
    assert (partition.log.end_offset, partition.high_watermark) == (3, 2)
    assert (world.place, world.named) == ((77, 1), [(0, 3)])
    assert world.fetch.topics[0].partitions[0].last_fetched_epoch == EPOCH


def test_what_changes_nothing_is_named_no_more() -> None:
    world = World()
    world.answer(data())
    world.answer()
    assert (world.place, world.named) == ((77, 2), [])


@pytest.mark.parametrize(
    "code", [ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH]
)
def test_a_session_that_is_gone_is_begun_anew_at_once(code: ErrorCode) -> None:
    world = World()
    world.answer(data())
    world.answer(code=code, session=0)
    assert (world.place, world.named) == ((77, 0), [(0, 0)])


@pytest.mark.parametrize("is_connected", [False, True])
def test_a_leader_that_fails_is_asked_again_after_a_while(is_connected: bool) -> None:
    world = World()
    world.answer(data())
    if is_connected:
        world.answer(code=ErrorCode.UNKNOWN_SERVER_ERROR, session=0)
    else:
        world.peers.replies.pop(0)(KafkaError(ErrorCode.NETWORK_EXCEPTION))
    count = len(world.peers.asked)
    world.clock.advance(BACKOFF_MS - 1)
    assert len(world.peers.asked) == count
    world.clock.advance(1)
    assert (world.place, world.named) == ((77, 0), [(0, 0)])


def test_a_partition_that_is_refused_waits_and_others_do_not() -> None:
    world = World(2)
    world.answer(data(0, code=ErrorCode.NOT_LEADER_OR_FOLLOWER), data(1))
    assert [topic.partitions for topic in world.fetch.forgotten_topics_data] == [[0]]
    world.clock.advance(BACKOFF_MS - 1)
    assert len(world.peers.asked) == 2
    world.clock.advance(1)
    assert world.named == [(0, 0)], "beside the fetch that is kept"
    world.answer()
    world.answer(data(0, batches(1)))
    assert world.partitions[0].log.end_offset == 1


def test_one_that_is_to_sync_since_settings_changed_does_so_while_it_is_refused() -> None:
    world = World()
    world.answer(data(0, batches(1)))
    partition, syncs = world.partitions[0], list[Partition]()
    partition.flush_later = syncs.append
    partition.log.configure(TopicConfig(flush_messages=1))
    world.answer(data(code=ErrorCode.UNKNOWN_LEADER_EPOCH))
    assert syncs == [partition]
    count = len(world.peers.asked)
    partition.log.sync()
    partition.synced(world.clock.now_ms())
    world.clock.advance(BACKOFF_MS)
    world.clock.advance(0)
    assert len(world.peers.asked) == count + 1


def test_what_passes_by_itself_is_not_told_of_each_of_thousands(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World(3)
    with caplog.at_level(logging.INFO):
        world.answer(
            data(0, code=ErrorCode.NOT_LEADER_OR_FOLLOWER),
            data(1, code=ErrorCode.UNKNOWN_LEADER_EPOCH),
            data(2, code=ErrorCode.UNKNOWN_SERVER_ERROR),
        )
    assert caplog.messages == ["t-2: its leader answers UNKNOWN_SERVER_ERROR"]


@pytest.mark.parametrize("is_all_refused", [False, True])
def test_a_clock_that_is_set_back_makes_no_pause_longer(is_all_refused: bool) -> None:
    world = World(2)
    if is_all_refused:
        world.answer(code=ErrorCode.UNKNOWN_SERVER_ERROR, session=0)
    else:
        world.answer(data(0, code=ErrorCode.NOT_LEADER_OR_FOLLOWER), data(1))
    count = len(world.peers.asked)
    world.clock.set_back(3_600_000)
    world.clock.advance(BACKOFF_MS)
    assert len(world.peers.asked) == count + 1
    assert (0, 0) in world.named


def test_one_that_is_fenced_waits_for_another_epoch() -> None:
    world = World()
    world.answer(data(code=ErrorCode.FENCED_LEADER_EPOCH))
    world.clock.advance(10 * BACKOFF_MS)
    assert len(world.peers.asked) == 1
    world.follow(world.partitions[0], epoch=EPOCH + 1)
    world.clock.advance(0)
    assert world.fetch.topics[0].partitions[0].current_leader_epoch == EPOCH + 1


def test_what_an_earlier_fetch_says_of_one_that_is_followed_anew_is_passed_over() -> None:
    world = World()
    world.answer(data())
    world.follow(world.partitions[0], epoch=EPOCH + 1)
    world.clock.advance(0)
    assert len(world.peers.replies) == 2
    world.answer(data(code=ErrorCode.FENCED_LEADER_EPOCH))
    world.answer(data(0, batches(1)))
    assert world.partitions[0].log.end_offset == 1


def test_a_log_that_has_parted_is_cut() -> None:
    world = World()
    world.answer(data(0, batches(4), high_watermark=1))
    world.answer(data(diverging=(4, 0)))
    partition = world.partitions[0]
    assert (partition.log.end_offset, partition.log.epochs.latest) == (0, -1)
    assert world.named == [(0, 0)]


def test_a_leader_that_sees_no_end_of_parting_is_not_asked_without_a_pause() -> None:
    world = World()
    world.answer(data(0, batches(2)))
    world.answer(data(diverging=(EPOCH, 9)))
    assert world.partitions[0].log.end_offset == 2
    count = len(world.peers.asked)
    world.clock.advance(BACKOFF_MS)
    assert len(world.peers.asked) == count + 1


def test_out_of_range_it_is_cut_to_where_the_leader_ends() -> None:
    world = World()
    world.answer(data(0, batches(4)))
    world.answer(data(code=ErrorCode.OFFSET_OUT_OF_RANGE))
    assert world.asked_offset() == LATEST
    world.tell_offset(2)
    world.clock.advance(0)
    assert (world.partitions[0].log.end_offset, world.named) == (2, [(0, 2)])


def test_out_of_range_it_begins_anew_where_the_leader_does() -> None:
    world = World()
    world.answer(data(code=ErrorCode.OFFSET_OUT_OF_RANGE))
    world.tell_offset(20)
    assert world.asked_offset() == EARLIEST
    world.tell_offset(15)
    world.clock.advance(0)
    partition = world.partitions[0]
    assert (partition.log.log_start_offset, partition.high_watermark) == (15, 15)
    assert world.named == [(0, 15)]


@pytest.mark.parametrize(
    "told", ["nothing", "of no partition", "an error", "what explains nothing"]
)
def test_out_of_range_without_a_reason_it_waits(told: str) -> None:
    world = World()
    world.answer(data(code=ErrorCode.OFFSET_OUT_OF_RANGE))
    if told == "nothing":
        world.peers.replies.pop(0)(KafkaError(ErrorCode.NETWORK_EXCEPTION))
    elif told == "of no partition":
        world.peers.replies.pop(0)(ListOffsetsResponse(topics=[]))
    elif told == "an error":
        world.tell_offset(-1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    else:
        world.tell_offset(5)
        world.tell_offset(0)
    count = len(world.peers.asked)
    world.clock.advance(BACKOFF_MS - 1)
    assert len(world.peers.asked) == count
    world.clock.advance(1)
    assert world.named == [(0, 0)]


def test_an_offset_that_comes_after_another_leader_is_passed_over() -> None:
    world = World()
    world.answer(data(0, batches(4)))
    world.answer(data(code=ErrorCode.OFFSET_OUT_OF_RANGE))
    world.follow(world.partitions[0], ANOTHER, EPOCH + 1)
    world.tell_offset(2)
    assert world.partitions[0].log.end_offset == 4


def test_damaged_records_are_asked_for_again_after_a_while() -> None:
    world = World()
    damaged = bytearray(batches(1))
    damaged[-1] ^= 1
    world.answer(data(0, bytes(damaged), high_watermark=1))
    assert world.partitions[0].log.end_offset == 0
    world.clock.advance(BACKOFF_MS)
    world.answer(data(0, batches(1)))
    assert world.partitions[0].log.end_offset == 1


def test_a_disk_that_refuses_is_told_of_and_tried_again() -> None:
    disk = RefusingDisk()
    world = World(1, log_directory(disk))
    refused: list[OSError] = []
    world.partitions[0].on_refused = lambda directory, error: refused.append(error)
    disk.error = ENOSPC
    world.answer(data(0, batches(1)))
    disk.error = None
    assert [error.errno for error in refused] == [ENOSPC]
    world.clock.advance(BACKOFF_MS)
    world.answer(data(0, batches(1)))
    assert world.partitions[0].log.end_offset == 1


@pytest.mark.parametrize("begins_anew", [False, True])
def test_a_cut_that_a_disk_refuses_is_brought_to_an_end(
    monkeypatch: pytest.MonkeyPatch, begins_anew: bool
) -> None:
    disk = RefusingDisk()
    world = World(1, log_directory(disk))
    partition = world.partitions[0]
    world.answer(data(0, batches(4), high_watermark=3))
    start = 7 if begins_anew else 0

    def refuse(path: str) -> None:
        raise OSError(ENOSPC, "No space left on device", path)

    with monkeypatch.context() as patch:
        patch.setattr(disk, "sync_folder", refuse)
        if begins_anew:
            world.answer(data(code=ErrorCode.OFFSET_OUT_OF_RANGE))
            world.tell_offset(9)
            world.tell_offset(start)
        else:
            world.answer(data(diverging=(4, 0)))
    assert partition.log.end_offset == partition.high_watermark == start
    world.clock.advance(BACKOFF_MS)
    assert world.named == [(0, start)]
    leader = open_log(log_start_offset=start)
    append(leader, batch(), epoch=LeaderEpoch(EPOCH))
    world.answer(data(0, read(leader, start), high_watermark=start + 1))
    assert partition.log.end_offset == partition.high_watermark == start + 1
    assert disk.size(partition.log.segments[0].name) == len(read(leader, start))


def test_a_leader_s_log_that_starts_amid_a_batch_is_followed() -> None:
    world = World()
    partition = world.partitions[0]
    world.answer(data(code=ErrorCode.OFFSET_OUT_OF_RANGE))
    world.tell_offset(4)
    world.tell_offset(2)
    world.clock.advance(0)
    leader = open_log()
    append(leader, batch(1, 2, 3, 4), epoch=LeaderEpoch(EPOCH))
    world.answer(data(0, read(leader, 0), high_watermark=4, log_start=2))
    assert (partition.log.log_start_offset, partition.log.end_offset) == (2, 4)


def test_what_is_to_be_on_the_disk_first_is_not_told_to_another_leader_before() -> None:
    """It takes for copied what lies below the offset that is asked for."""
    world = World(2)
    world.answer(data(0, batches(2)), data(1, batches(2)))
    partition = world.partitions[0]
    partition.log.configure(TopicConfig(flush_messages=1))
    flushed: list[Partition] = []
    partition.flush_later = flushed.append
    for each in world.partitions:
        world.follow(each, ANOTHER, EPOCH + 1)
    world.clock.advance(0)
    assert world.peers.asked[-1][0] == ANOTHER
    assert world.named == [(1, 2)]
    assert {*flushed} == {partition}
    world.peers.replies.pop(0)  # Of the other leader, whom nobody heeds.
    world.answer(data(1))
    assert world.named == []
    assert not world.clock.waiting, "nobody looks again and again"
    partition.log.sync()
    partition.synced(world.clock.now_ms())
    world.clock.advance(0)
    assert world.named == [(0, 2)]


def test_partitions_move_from_one_leader_to_another() -> None:
    world = World(2)
    world.answer(data(0), data(1))
    world.follow(world.partitions[1], ANOTHER, EPOCH + 1)
    world.clock.advance(0)
    leaders = [leader for leader, _ in world.peers.asked]
    assert leaders == [LEADER, LEADER, ANOTHER]
    world.answer()
    forgotten = [
        (leader, topic.partitions)
        for leader, request in world.peers.asked
        if isinstance(request, FetchRequest)
        for topic in request.forgotten_topics_data
    ]
    assert forgotten == [(LEADER, [1])]


def test_what_is_followed_no_more_takes_nothing() -> None:
    world = World()
    world.fetchers.leave(world.partitions[0])
    world.fetchers.leave(world.partitions[0])
    world.answer(data(0, batches(1)))
    assert world.partitions[0].log.end_offset == 0
    assert len(world.peers.asked) == 1


def test_a_broker_that_stops_takes_and_asks_nothing_more() -> None:
    world = World()
    world.answer(data(code=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    world.fetchers.stop()
    world.clock.advance(10 * BACKOFF_MS)
    assert len(world.peers.asked) == 1
    assert world.clock.waiting == 0
