"""One partition on one broker: its log, its leader state, and who waits for it.

Binds the disk (`log`) and the core (`replica`), which do not know each other. Produce and Fetch
call it directly; nothing in it awaits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from kafkalite.config.views import TopicConfig
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.log.directories import LogDirectory
from kafkalite.log.epochs import EpochEnd
from kafkalite.log.log_results import Appended, LogRead
from kafkalite.log.partition_log import PartitionLog
from kafkalite.log.validation import AppendOrigin
from kafkalite.metadata.topic_names import INTERNAL_TOPICS
from kafkalite.replica.fetch_session import FetchWatcher
from kafkalite.replica.leader import PartitionLeader
from kafkalite.server.purgatory import CommitWait
from kafkalite.types import BrokerId, LeaderEpoch, Offset, TimestampMs, TopicPartition, Uuid

ACKS_ALL = -1


class _HeldBack(NamedTuple):
    """An append that nobody is to see before it is on the disk."""

    end_offset: Offset
    size_bytes: int


class Partition:
    """A replica that this broker holds. `leader` is None while another broker leads it."""

    __slots__ = (
        "_held_back",
        "_stable_to",
        "_unstable_bytes",
        "commits",
        "config",
        "directory",
        "fetches",
        "flush_later",
        "flushed_ms",
        "index",
        "is_internal",
        "last_high_watermark",
        "leader",
        "log",
        "on_committed",
        "on_refused",
        "topic",
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
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.log = log
        self.config = config
        self.directory = directory
        """The log folder that it is in."""
        self.is_internal = topic in INTERNAL_TOPICS
        """Clients do not append to it."""
        self.leader: PartitionLeader | None = None
        self.last_high_watermark = Offset(0)
        """When `leader` was last replaced: the high watermark does not fall with a new epoch."""
        self.fetches: dict[FetchWatcher, None] = {}
        """Fetches that wait, and sessions that have nothing to tell of it."""
        self.commits: dict[CommitWait, None] = {}
        self._held_back: deque[_HeldBack] = deque()
        self.flush_later: Callable[[Partition], None] | None = None
        """Has the log synced, and calls `synced` then."""
        self.flushed_ms = TimestampMs(0)
        """When that was last, or when it was opened."""
        self._stable_to = Offset(0)
        self._unstable_bytes = 0
        """Behind the last stable offset: what readers of what is committed still wait for."""
        self.on_committed: Callable[[Offset], None] | None = None
        """Told of every high watermark: a coordinator that keeps its records here."""
        self.on_refused: Callable[[LogDirectory, OSError], None] | None = None
        """See `refused`."""

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
        """The leader's, or as it was when this broker last led."""
        return self.last_high_watermark if self.leader is None else self.leader.high_watermark

    @property
    def last_stable_offset(self) -> Offset:
        """Below it (exclusive) every record's transaction has ended: what `read_committed` sees."""
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
        if acks == ACKS_ALL and not leader.has_enough_replicas(self.config.min_insync_replicas):
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
        log = self.log
        appended = log.append_as_leader(
            records,
            leader_epoch=leader.leader_epoch,
            now=now,
            origin=origin,
            marker_bumps_epoch=marker_bumps_epoch,
        )
        if (log.end_offset >= log.flush_at or self._held_back) and self._hold_back(appended):
            return appended
        if leader.appended(log.end_offset):
            self._high_watermark_moved(leader.high_watermark, appended.size_bytes)
        return appended

    def read(
        self,
        offset: Offset,
        *,
        claimed_epoch: LeaderEpoch,
        max_bytes: int,
        first_batch_whole: bool,
        only_stable: bool = False,
    ) -> LogRead:
        """What a consumer may see from `offset` on, up to the high watermark; with `only_stable`,
        up to the last stable offset, and which transactions were aborted in it."""
        leader = self.leading
        error = leader.check_epoch(claimed_epoch)
        if error:
            raise KafkaError(error)
        return self.log.read(
            offset,
            max_bytes=max_bytes,
            max_offset=self.last_stable_offset if only_stable else leader.high_watermark,
            first_batch_whole=first_batch_whole,
            tells_aborted=only_stable,
        )

    def has_to_commit(self, acks: int) -> bool:
        """Whether what was appended is answered once it is committed, and not at once. With acks=1
        it is, as in Kafka, where it is to be on the disk first; then only this replica is waited
        for."""
        if acks == ACKS_ALL:
            return True
        return acks != 0 and self.log.is_held_back and len(self.leading.isr) == 1

    def _hold_back(self, appended: Appended) -> bool:
        """Have the log synced if that is due; whether the append is not to be seen before."""
        log = self.log
        if log.end_offset >= log.flush_at and self.flush_later is not None:
            self.flush_later(self)
        if not log.is_held_back:
            return False
        self._held_back.append(_HeldBack(log.end_offset, appended.size_bytes))
        return True

    @property
    def settled_end(self) -> Offset:
        """Where that part of the log ends which a leader may let others see: `end_offset`, but
        for what is to be on the disk first."""
        log = self.log
        if not log.is_held_back:
            return log.end_offset
        return max(log.recovery_point, log.log_start_offset, self.high_watermark)

    def synced(self) -> None:
        """More of the log is on the disk: let it be seen."""
        end, leader, size_bytes = self.settled_end, self.leader, 0
        while self._held_back and self._held_back[0].end_offset <= end:
            size_bytes += self._held_back.popleft().size_bytes
        if leader is not None and end > leader.end_offset and leader.appended(end):
            self._high_watermark_moved(leader.high_watermark, size_bytes)

    def divergence(self, offset: Offset, last_fetched_epoch: LeaderEpoch) -> EpochEnd | None:
        """Where a log that ends before `offset` in that epoch parts from this one; None when it
        does not. OFFSET_OUT_OF_RANGE for an epoch that is not known here (KIP-595)."""
        end = self.log.epochs.end_of(last_fetched_epoch, self.log.end_offset)
        if end is None:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        parted = end.epoch < last_fetched_epoch or end.end_offset < offset
        return end if parted else None

    def moved(self, log: PartitionLog, directory: LogDirectory) -> None:
        """It lives in another log folder now, where all of it is on the disk."""
        self.log, self.directory = log, directory
        self.synced()

    def change_isr(self, isr: frozenset[BrokerId]) -> None:
        """Other replicas are in sync now. If one left that others waited for, they wait no more."""
        leader = self.leading
        leader.isr = isr
        if leader.appended(leader.end_offset):
            for fetch in list(self.fetches):
                fetch.wake()  # How many bytes became visible is not known; it may be enough.
            for commit in list(self.commits):
                commit.committed(self, leader.high_watermark)
            if self.on_committed is not None:
                self.on_committed(leader.high_watermark)

    def become_leader(self, leader: PartitionLeader) -> None:
        """Lead from now on, in `leader.leader_epoch`. Fetches that wait learn of the new epoch."""
        self._remember_high_watermark()
        self.leader = leader
        self._stable_to = self.last_stable_offset
        self.wake_all()

    def resign(self) -> None:
        """Another broker leads, or the topic is gone."""
        self._remember_high_watermark()
        self.leader = None
        self.wake_all()

    def _remember_high_watermark(self) -> None:
        if self.leader is not None:
            self.last_high_watermark = self.leader.high_watermark

    def wake_all(self) -> None:
        """Answer everyone who waits here with what is true now."""
        for fetch in list(self.fetches):
            fetch.wake()
        for commit in list(self.commits):
            commit.resolved(self)

    def log_start_moved(self) -> None:
        """Records were deleted: fetch sessions have that to tell. It ends no wait."""
        for fetch in list(self.fetches):
            fetch.look_again()

    def _high_watermark_moved(self, high_watermark: Offset, size_bytes: int) -> None:
        stable_bytes = size_bytes
        if self._unstable_bytes or self.log.producers.has_transactions:
            stable_bytes = self._stable_bytes(high_watermark, size_bytes)
        if self.fetches:
            for fetch in list(self.fetches):
                fetch.more(size_bytes, stable_bytes)
        if self.commits:
            for commit in list(self.commits):
                commit.committed(self, high_watermark)
        if self.on_committed is not None:
            self.on_committed(high_watermark)

    def _stable_bytes(self, high_watermark: Offset, size_bytes: int) -> int:
        """How much more readers of what is committed may see. Where one transaction of several has
        ended it is not known how much, and they look at all there is."""
        stable_to = self.last_stable_offset
        before, self._stable_to = self._stable_to, stable_to
        stable_bytes = 0 if stable_to == before else self._unstable_bytes
        self._unstable_bytes += size_bytes
        if stable_to == high_watermark:
            stable_bytes, self._unstable_bytes = self._unstable_bytes, 0
        return stable_bytes
