"""One partition on one broker: its log, what it is as a replica, and who waits for it.

Binds the disk (`log`) and the cores (`replica`), which do not know each other. Produce and Fetch
call it directly; nothing in it awaits.

Who waits here, and what for: `partition_waits.py`."""

from __future__ import annotations

from collections.abc import Callable

from kafkalite.config.views import TopicConfig
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log.directories import LogDirectory
from kafkalite.log.epochs import EpochEnd
from kafkalite.log.leader_log import append_as_leader
from kafkalite.log.log_results import Appended, LogRead
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.validation import AppendOrigin
from kafkalite.metadata.topic_names import INTERNAL_TOPICS
from kafkalite.replica.follower import PartitionFollower, committed_here
from kafkalite.replica.followers import FollowerFetch
from kafkalite.replica.held_back import ACKS_ALL, is_answered_once_committed, settled_end
from kafkalite.replica.isr_proposal import IsrProposal
from kafkalite.replica.leader import PartitionLeader
from kafkalite.replica.leader_epoch import check_leader_epoch, has_parted
from kafkalite.replica.unseen import UnseenBytes
from kafkalite.server.partition_waits import PartitionWaits
from kafkalite.types import (
    NO_LEADER_EPOCH,
    BrokerId,
    LeaderEpoch,
    Offset,
    TimestampMs,
    TopicPartition,
    Uuid,
)


class Partition(PartitionWaits):
    """A replica that this broker holds. While it leads it has a `leader`, and else, once the
    metadata tells whom to follow, a `follower`."""

    __slots__ = (
        "_unseen",
        "config",
        "directory",
        "fetch_on",
        "flush_later",
        "flushed_ms",
        "follower",
        "index",
        "is_internal",
        "last_high_watermark",
        "leader",
        "log",
        "on_refused",
        "propose_isr",
        "topic_id",
    )

    def __init__(
        self,
        topic: str,
        topic_id: Uuid,
        index: int,
        log: PartitionLog,
        config: TopicConfig,
        directory: LogDirectory,
    ) -> None:
        super().__init__(topic)
        self.topic_id = topic_id
        self.index = index
        self.log = log
        self.config = config
        self.directory = directory
        """The log folder that it is in."""
        self.is_internal = topic in INTERNAL_TOPICS
        """Clients do not append to it."""
        self.leader: PartitionLeader | None = None
        self.follower: PartitionFollower | None = None
        self.last_high_watermark = Offset(0)
        """While this broker does not lead: it does not fall with a new epoch."""
        self._unseen = UnseenBytes()
        self.fetch_on: Callable[[], None] | None = None
        """Asks the leader that is followed for more: all is on the disk that had to be before."""
        self.flush_later: Callable[[Partition], None] | None = None
        """Has the log synced, and calls `synced` then."""
        self.flushed_ms = TimestampMs(0)
        """When that was last, or when it was opened."""
        self.on_refused: Callable[[LogDirectory, OSError], None] | None = None
        """See `refused`."""
        self.propose_isr: Callable[[Partition, IsrProposal], None] | None = None
        """Has the controller asked for other in-sync replicas."""

    def configure(self, config: TopicConfig) -> None:
        """Follow the topic's new settings."""
        self.config = config
        self.log.configure(config)
        if self.leader is not None:
            self.leader.require(config.min_insync_replicas)

    def refused(self, error: OSError) -> None:
        """Whoever meets an error of the disk tells it here, before the error is answered."""
        if self.on_refused is not None:
            self.on_refused(self.directory, error)

    @property
    def key(self) -> TopicPartition:
        """Whose replica it is."""
        return TopicPartition(self.topic, self.index)

    @property
    def leading(self) -> PartitionLeader:
        """The leader state; NOT_LEADER_OR_FOLLOWER when another broker leads."""
        if self.leader is None:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return self.leader

    @property
    def high_watermark(self) -> Offset:
        """The leader's, or as far as this follower was told."""
        return self.last_high_watermark if self.leader is None else self.leader.high_watermark

    @property
    def has_other_replicas(self) -> bool:
        """Whether other brokers keep it too."""
        return self.leader is None or self.leader.has_followers

    @property
    def last_stable_offset(self) -> Offset:
        """Below it (exclusive) every record's transaction has ended: what `read_committed` sees.

        Kafka differs: where records of an open transaction were deleted up to an offset amid a
        batch, it tells that batch's first offset, which is before the log's start. Here the start
        is told.
        """
        stable = self.log.producers.last_stable_offset(self.high_watermark)
        return max(stable, min(self.log.log_start_offset, self.high_watermark))

    def append(
        self,
        records: memoryview,
        acks: int,
        now: TimestampMs,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        *,
        marker_bumps_epoch: bool = False,
    ) -> Appended:
        """Append the batch in `records`, stamping it in place, and wake whoever waits for it.

        Where it is to be on the disk first (`flush.messages`) it is not committed before, and
        nobody sees it until then. `marker_bumps_epoch`: see `ProducerStates.check_marker`.
        """
        leader = self.leading
        if acks == ACKS_ALL and not leader.has_enough_replicas:
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
        log = self.log
        appended = append_as_leader(
            log,
            records,
            leader_epoch=leader.leader_epoch,
            now=now,
            origin=origin,
            marker_bumps_epoch=marker_bumps_epoch,
        )
        end_offset = log.end_offset
        if end_offset >= log.flush_at or self._unseen.appends:
            self._append_unseen(leader, appended, now)
        elif leader.appended(end_offset, now) and leader.high_watermark == end_offset:
            self._high_watermark_moved(end_offset, appended.size_bytes)
        else:
            self._unseen.add(end_offset, appended.size_bytes)
        if self._follower_fetches:
            self._tell_followers(appended.size_bytes)
        return appended

    def _append_unseen(self, leader: PartitionLeader, appended: Appended, now: TimestampMs) -> None:
        """Others wait to be seen, or the log is to be synced, maybe before this is seen."""
        log = self.log
        self._unseen.add(log.end_offset, appended.size_bytes)
        if log.end_offset >= log.flush_at and self.flush_later is not None:
            self.flush_later(self)
        if leader.appended(max(self.settled_end, leader.end_offset), now):
            self._see(leader.high_watermark)

    def _see(self, high_watermark: Offset) -> None:
        """The high watermark has moved: tell who waits for it, and how much more there is to
        see."""
        self._high_watermark_moved(high_watermark, self._unseen.see(high_watermark))

    def check_epoch(self, claimed: LeaderEpoch, *, must_lead: bool = True) -> None:
        """Raise unless `claimed` is the leader epoch that is known here, or -1: FENCED_LEADER_EPOCH
        or UNKNOWN_LEADER_EPOCH. NOT_LEADER_OR_FOLLOWER when another broker leads, with `must_lead`,
        or when nothing is known yet of who does."""
        replica = self.leader or self.follower
        if replica is None:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        error = check_leader_epoch(claimed, replica.leader_epoch)
        if error:
            raise KafkaError(error)
        if must_lead and self.leader is None:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def read(
        self,
        offset: Offset,
        *,
        max_bytes: int,
        first_batch_whole: bool,
        only_stable: bool = False,
    ) -> LogRead:
        """What a consumer may see from `offset` on, up to the high watermark; with `only_stable`,
        up to the last stable offset, and which transactions were aborted in it. The leader epoch
        is to be checked before."""
        return self.log.read(
            offset,
            max_bytes=max_bytes,
            max_offset=self.last_stable_offset if only_stable else self.high_watermark,
            first_batch_whole=first_batch_whole,
            tells_aborted=only_stable,
        )

    def check_follower(self, broker: BrokerId, claimed: LeaderEpoch) -> None:
        """As `check_epoch`, of a follower: the cluster may know already that it has a replica, and
        this leader not yet."""
        self.check_epoch(claimed)
        if not self.leading.has_follower(broker):
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER
                if claimed == NO_LEADER_EPOCH
                else ErrorCode.UNKNOWN_LEADER_EPOCH
            )

    def fetched_by(self, broker: BrokerId, fetch: FollowerFetch, now: TimestampMs) -> None:
        """A follower asks for what comes at `fetch.offset`: it may commit records, or be in sync
        with this. NOT_LEADER_OR_FOLLOWER as `PartitionLeader.follower_fetched` says."""
        leader = self.leading
        if leader.follower_fetched(broker, fetch, now):
            self._see(leader.high_watermark)
        if broker not in leader.isr:
            self._propose(leader.expand(broker))
        if self.followers.commits:
            self._low_watermark_moved()

    @property
    def low_watermark(self) -> Offset:
        """Below it (exclusive) no replica has records any more, but those of brokers that are
        away."""
        return self.leading.low_watermark(self.log.log_start_offset)

    def _low_watermark_moved(self) -> None:
        low_watermark = self.low_watermark
        for wait in list(self.followers.commits):
            wait.committed(self.followers, low_watermark)

    def brokers_changed(self, now: TimestampMs) -> None:
        """Others run, or do not: who may be in sync, and who is waited for."""
        self.review_isr(now)
        if self.followers.commits and self.leader is not None:
            self._low_watermark_moved()

    def review_isr(self, now: TimestampMs) -> None:
        """Have followers leave the ISR that have not caught up for too long, and those join that
        have, if this leads."""
        leader = self.leader
        if leader is not None and leader.has_followers:
            self._propose(leader.shrink(now) or leader.expand_to_any(now))

    def _propose(self, proposal: IsrProposal | None) -> None:
        if proposal is not None and self.propose_isr is not None:
            self.propose_isr(self, proposal)

    def has_to_commit(self, acks: int) -> bool:
        """See `is_answered_once_committed`."""
        return is_answered_once_committed(
            acks, is_held_back=self.log.is_held_back, in_sync=len(self.leading.isr)
        )

    @property
    def settled_end(self) -> Offset:
        """Of what a leader may let others see: the end, but for what is to be on the disk first."""
        log = self.log
        if not log.is_held_back:
            return log.end_offset
        return settled_end(log.recovery_point, log.log_start_offset, self.high_watermark)

    def synced(self, now: TimestampMs) -> None:
        """More of the log is on the disk: let it be seen, or more be fetched."""
        end, leader = self.settled_end, self.leader
        if leader is None and self.fetch_on is not None:
            self.fetch_on()
        if leader is not None and end > leader.end_offset and leader.appended(end, now):
            self._see(leader.high_watermark)

    def divergence(self, offset: Offset, last_fetched_epoch: LeaderEpoch) -> EpochEnd | None:
        """Where a log that ends before `offset` in that epoch parts from this one; None when it
        does not. OFFSET_OUT_OF_RANGE for an epoch that is not known here, and for an offset that is
        gone (KIP-595)."""
        log = self.log
        end = log.epochs.end_of(last_fetched_epoch, log.end_offset)
        if end is None or offset < log.log_start_offset:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        return end if has_parted(offset, last_fetched_epoch, *end) else None

    def isr_changed(self) -> None:
        """`leader` says that more is committed, since others are in sync now."""
        self._see(self.leading.high_watermark)

    def moved(self, log: PartitionLog, directory: LogDirectory, now: TimestampMs) -> None:
        """It lives in another log folder now, where all of it is on the disk."""
        self.log, self.directory = log, directory
        self.synced(now)

    def become_leader(self, leader: PartitionLeader) -> None:
        """Lead from now on, in `leader.leader_epoch`. Fetches that wait learn of the new epoch."""
        self._remember_high_watermark()
        self.leader, self.follower = leader, None
        self._stable_to = self.last_stable_offset
        self._unseen.begin(self.high_watermark, self.log.end_offset)
        self.wake_all()

    def epoch_changed(self) -> None:
        """`leader` leads on, in a newer epoch. Produces go on waiting for their records."""
        self._see(self.leading.high_watermark)
        self._wake_fetches()

    def follow(self, follower: PartitionFollower) -> None:
        """Another broker leads in that epoch, or none."""
        self.resign()
        self.follower = follower

    def resign(self) -> None:
        """This broker does not lead, or has no replica any more, or the topic is gone."""
        self._remember_high_watermark()
        self.leader = self.follower = None
        self._unseen.begin(self.high_watermark, self.log.end_offset)
        self.wake_all()

    def followed(self, told_high_watermark: int, size_bytes: int) -> None:
        """As a follower: `size_bytes` were appended, and the leader told that high watermark."""
        before = self.last_high_watermark
        end_offset = self.log.end_offset
        high_watermark = committed_here(before, told_high_watermark, end_offset)
        if size_bytes:
            self._unseen.add(end_offset, size_bytes)
        if high_watermark > before:
            self.last_high_watermark = high_watermark
            self._see(high_watermark)

    def truncated(self) -> None:
        """As a follower: the log is shorter, or begins elsewhere. What consumers see may be less
        only if what was committed is lost: after an unclean election, or with a disk."""
        log = self.log
        start, end = log.log_start_offset, log.end_offset
        self.last_high_watermark = Offset(max(start, min(self.last_high_watermark, end)))
        self._unseen.begin(self.last_high_watermark, end)
        self._wake_fetches()

    def _remember_high_watermark(self) -> None:
        if self.leader is not None:
            self.last_high_watermark = self.leader.high_watermark
