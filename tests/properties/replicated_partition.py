"""One partition on several brokers, step by step: everything that may be late is a step of its own.

Replicas are the product's own (log, leader, follower, roles); the controller and the network are
made here, as small as can be: what it takes to be wrong at any moment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from kafkalite.config.views import BrokerConfig, TopicConfig
from kafkalite.core import NO_PAUSE
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log.directories import LogDirectory
from kafkalite.log.files_memory import MemoryFiles
from kafkalite.metadata.image import BrokerImage, MetadataImage, PartitionImage
from kafkalite.ports.clock import Clock
from kafkalite.protocol.messages.fetch import EpochEndOffset, FetchPartition, PartitionData
from kafkalite.protocol.records.batch import iter_headers
from kafkalite.protocol.records.record import Record, build_batch, read_records
from kafkalite.replica.follower import Step
from kafkalite.replica.followers import FollowerFetch
from kafkalite.replica.held_back import ACKS_ALL
from kafkalite.replica.isr_proposal import IsrProposal
from kafkalite.server.followed_partition import FollowedPartition
from kafkalite.server.partition import Partition
from kafkalite.server.replica_roles import ReplicaRoles
from kafkalite.server.replication_throttles import ReplicationThrottles
from kafkalite.types import (
    NO_BROKER_EPOCH,
    NO_LEADER,
    BrokerEpoch,
    BrokerId,
    LeaderEpoch,
    Offset,
    TimestampMs,
    TopicPartition,
    Uuid,
)

TOPIC_ID = Uuid(b"replicated topic")
_START = Offset(0)
NAME = TopicPartition("t", 0)
CONFIG = BrokerConfig.of({"replica.lag.time.max.ms": "1000", "replica.fetch.backoff.ms": "10"})


class HandClock:
    """Time, which a test moves."""

    def __init__(self) -> None:
        self.time = TimestampMs(1_000_000)

    def now_ms(self) -> TimestampMs:
        return self.time


@dataclass
class Written:
    """A record whose producer waits for all in-sync replicas."""

    value: bytes
    offset: Offset
    epoch: LeaderEpoch


@dataclass
class Request:
    """A fetch on its way to whom the follower takes for the leader."""

    leader: BrokerId
    broker_epoch: BrokerEpoch
    asked: FetchPartition


@dataclass
class Replica:
    """One broker and its copy. `partition` is None while it is down."""

    id: BrokerId
    files: MemoryFiles
    partition: Partition | None = None
    directory: LogDirectory | None = None
    roles: ReplicaRoles | None = None
    broker_epoch: BrokerEpoch = NO_BROKER_EPOCH
    followed: FollowedPartition | None = None
    request: Request | None = None
    answer: tuple[FetchPartition, PartitionData] | None = None
    waiting: list[Written] = field(default_factory=list)
    proposals: list[IsrProposal] = field(default_factory=list)
    checkpoint: Offset = _START

    # As `replica_roles.Fetchers`.

    def follow(self, partition: Partition) -> None:
        assert partition.follower is not None
        self.followed = FollowedPartition(
            partition, partition.follower, ReplicationThrottles(self.id), max_bytes=200
        )

    def leave(self, partition: Partition) -> None:
        self.followed = None

    def values(self, below: int | None = None) -> list[bytes]:
        """Of the records in the log, below that offset."""
        assert self.partition is not None
        found = []
        for segment in self.partition.log.segments:
            data = segment.file.read(0, segment.size) if segment.size else b""
            for position, header in iter_headers(data):
                for record in read_records(data, position, header):
                    if below is None or record.offset < below:
                        found.append(bytes(record.value or b""))
        return found


class World:
    """The replicas, and what the controller has decided."""

    def __init__(self, count: int, min_in_sync: int) -> None:
        self.clock = HandClock()
        self.topic = TopicConfig(min_insync_replicas=min_in_sync, segment_bytes=400)
        ids = tuple(BrokerId(n) for n in range(1, count + 1))
        self.replicas = {id: Replica(id, MemoryFiles(models_crashes=True)) for id in ids}
        self.image = PartitionImage(ids, ids, ids[0], LeaderEpoch(0), 0)
        self.epochs = 0
        self.acknowledged: list[Written] = []
        for id in ids:
            self.start(id)
            self.learn(id)

    @property
    def up(self) -> list[Replica]:
        return [each for each in self.replicas.values() if each.partition is not None]

    # Brokers.

    def start(self, id: BrokerId) -> None:
        """A broker comes back, with what its disk has."""
        replica = self.replicas[id]
        self.epochs += 1
        replica.broker_epoch = BrokerEpoch(self.epochs)
        replica.directory = LogDirectory.open(
            replica.files,
            location="memory",
            node_id=id,
            new_cluster_id="cluster",
            new_directory_id=TOPIC_ID,
        )
        log = replica.directory.open_partition(
            NAME, topic_id=TOPIC_ID, config=self.topic, now=self.clock.time
        )
        replica.partition = Partition("t", TOPIC_ID, 0, log, self.topic, replica.directory)
        replica.partition.last_high_watermark = min(replica.checkpoint, log.end_offset)
        replica.roles = ReplicaRoles(
            CONFIG,
            cast("Clock", self.clock),  # Roles ask for nothing but the time.
            fetchers=replica,
            propose_isr=lambda partition, proposal: replica.proposals.append(proposal),
        )
        replica.roles._broker_id = id
        if self.image.leader == NO_LEADER and id in self.image.isr:
            self.elect()
        self.tell_brokers()

    def end(self, id: BrokerId, *, loses_power: bool) -> None:
        """The process ends; with the power go the bytes that were not synced."""
        replica = self.replicas[id]
        assert replica.directory is not None
        assert replica.partition is not None
        replica.directory.abandon()
        if loses_power:
            replica.files.crash()
        replica.partition = replica.roles = replica.followed = replica.request = None
        replica.answer = None
        replica.waiting.clear()
        replica.proposals.clear()
        isr = tuple(each for each in self.image.isr if each != id) or self.image.isr
        self.image = self.image._replace(isr=isr, partition_epoch=self.image.partition_epoch + 1)
        if self.image.leader == id:
            self.elect()
        self.tell_brokers()

    def tell_brokers(self) -> None:
        """Everybody knows at once who runs; only of the partition they hear later."""
        brokers = {
            each.id: BrokerImage(each.id, each.broker_epoch, TOPIC_ID, (), {}, fenced=False)
            for each in self.up
        }
        for each in self.up:
            assert each.roles is not None
            each.roles.follow_brokers(MetadataImage(brokers=brokers))

    # The controller.

    def elect(self) -> None:
        """The first replica in sync that runs leads; nobody, when none does."""
        up = {each.id for each in self.up}
        leader = next((id for id in self.image.replicas if id in self.image.isr and id in up), None)
        self.image = self.image._replace(
            leader=NO_LEADER if leader is None else leader,
            leader_epoch=LeaderEpoch(self.image.leader_epoch + 1),
            partition_epoch=self.image.partition_epoch + 1,
        )

    def move_leader(self, to: BrokerId) -> None:
        """To another replica in sync that runs."""
        self.image = self.image._replace(
            leader=to,
            leader_epoch=LeaderEpoch(self.image.leader_epoch + 1),
            partition_epoch=self.image.partition_epoch + 1,
        )

    def learn(self, id: BrokerId) -> None:
        """That broker hears what was decided."""
        replica = self.replicas[id]
        assert replica.partition is not None
        assert replica.roles is not None
        before = replica.partition.leader
        replica.roles.take(replica.partition, self.image)
        if replica.partition.leader is not before:
            replica.waiting.clear()
        self.acknowledge(replica)

    def decide(self, id: BrokerId, *, is_lost: bool) -> None:
        """The controller takes up that broker's proposal; its answer may be lost."""
        replica = self.replicas[id]
        proposal = replica.proposals.pop(0)
        assert replica.partition is not None
        code = self._verdict(id, proposal)
        if code is ErrorCode.NONE:
            self.image = self.image._replace(
                isr=tuple(member.broker_id for member in proposal.isr),
                partition_epoch=self.image.partition_epoch + 1,
            )
        leader = replica.partition.leader
        if is_lost or leader is None:
            return
        if code is not ErrorCode.NONE:
            leader.refused(proposal, code)
        elif leader.altered(
            proposal, frozenset(self.image.isr), self.image.partition_epoch, self.clock.time
        ):
            replica.partition.isr_changed()
        self.acknowledge(replica)

    def _verdict(self, id: BrokerId, proposal: IsrProposal) -> ErrorCode:
        if (self.image.leader, self.image.leader_epoch) != (id, proposal.leader_epoch):
            return ErrorCode.FENCED_LEADER_EPOCH
        if self.image.partition_epoch != proposal.partition_epoch:
            return ErrorCode.INVALID_UPDATE_VERSION
        epochs = {each.id: each.broker_epoch for each in self.up}
        for member in proposal.isr:
            registered = epochs.get(member.broker_id)
            if registered is None or member.broker_epoch not in (-1, registered):
                return ErrorCode.INELIGIBLE_REPLICA
        return ErrorCode.NONE

    # Records.

    def write(self, id: BrokerId, value: bytes) -> None:
        """A producer with acks=all writes to whoever takes itself for the leader."""
        replica = self.replicas[id]
        partition = replica.partition
        assert partition is not None
        batch = build_batch([Record(None, value, (), self.clock.time)])
        try:
            appended = partition.append(memoryview(batch), ACKS_ALL, self.clock.time)
        except KafkaError as error:
            if error.code is not ErrorCode.NOT_ENOUGH_REPLICAS:
                raise
            return
        epoch = partition.leading.leader_epoch
        replica.waiting.append(Written(value, appended.base_offset, epoch))
        self.acknowledge(replica)

    def acknowledge(self, replica: Replica) -> None:
        """Those producers hear of it whose records are committed."""
        assert replica.partition is not None
        leader = replica.partition.leader
        if leader is None:
            replica.waiting.clear()
            return
        for written in list(replica.waiting):
            if written.offset < leader.high_watermark:
                replica.waiting.remove(written)
                self.acknowledged.append(written)

    # Fetches.

    def send(self, id: BrokerId) -> None:
        """A follower asks."""
        replica = self.replicas[id]
        followed = replica.followed
        assert followed is not None
        followed.core.pause = NO_PAUSE
        replica.request = Request(followed.core.leader, replica.broker_epoch, followed.asked())
        replica.answer = None

    def serve(self, id: BrokerId) -> None:
        """Its request arrives."""
        replica = self.replicas[id]
        request = replica.request
        assert request is not None
        replica.request = None
        leader = self.replicas[request.leader]
        if leader.partition is None:
            return
        try:
            data = _answer(leader.partition, id, request, self.clock.time)
        except KafkaError as error:
            data = PartitionData(partition_index=0, error_code=error.code, high_watermark=-1)
        self.acknowledge(leader)
        replica.answer = (request.asked, data)

    def deliver(self, id: BrokerId) -> None:
        """The answer arrives, of whatever time it is."""
        replica = self.replicas[id]
        assert replica.answer is not None
        (asked, data), replica.answer = replica.answer, None
        followed = replica.followed
        if followed is None or asked.current_leader_epoch != followed.core.leader_epoch:
            return
        step = followed.answered(data, asked, self.clock.time)
        if step is Step.ASK_END:
            leader = self.replicas[followed.core.leader].partition
            if leader is not None and not followed.leader_ends(
                leader.log.end_offset, self.clock.time
            ):
                followed.leader_begins(leader.log.log_start_offset, self.clock.time)


def _answer(
    partition: Partition, id: BrokerId, request: Request, now: TimestampMs
) -> PartitionData:
    """As `FetchReader` makes it."""
    asked = request.asked
    partition.check_follower(id, LeaderEpoch(asked.current_leader_epoch))
    offset = Offset(asked.fetch_offset)
    if asked.last_fetched_epoch >= 0:
        end = partition.divergence(offset, LeaderEpoch(asked.last_fetched_epoch))
        if end is not None:
            return PartitionData(
                partition_index=0,
                high_watermark=partition.high_watermark,
                diverging_epoch=EpochEndOffset(epoch=end.epoch, end_offset=end.end_offset),
            )
    log = partition.log
    read = log.read(
        offset,
        max_bytes=asked.partition_max_bytes,
        max_offset=log.end_offset,
        first_batch_whole=True,
    )
    fetch = FollowerFetch(offset, Offset(asked.log_start_offset), request.broker_epoch)
    partition.fetched_by(id, fetch, now)
    records = b"" if read.part is None else bytes(cast("memoryview", read.part))
    return PartitionData(
        partition_index=0,
        high_watermark=partition.high_watermark,
        log_start_offset=log.log_start_offset,
        records=memoryview(records),
    )
