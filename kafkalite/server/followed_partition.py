"""One partition that this broker follows: what is asked of its leader, and what of the answers is
written here.

Carries out what `replica/follower.py` decides. Nothing in it waits or connects.
"""

from __future__ import annotations

import logging

from kafkalite.errors import CorruptRecordError, ErrorCode
from kafkalite.log.follower_log import BeginsBelowError, append_as_follower
from kafkalite.log.log_cuts import delete_records
from kafkalite.protocol.messages.fetch import EpochEndOffset, FetchPartition, PartitionData
from kafkalite.replica.follower import LogPoint, PartitionFollower, Step, truncation_offset
from kafkalite.replica.follower_session import PartitionKey
from kafkalite.server.partition import Partition
from kafkalite.server.replication_throttles import ReplicationThrottles
from kafkalite.types import LeaderEpoch, Offset, TimestampMs, TopicPartition

_log = logging.getLogger(__name__)

_PASSING = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_LEADER_EPOCH)
"""One of the two has not heard yet what the other has. That is so of thousands at once when a
broker dies, and every second again, so it is said to those alone who ask for details."""


class FollowedPartition:
    """In one leader epoch."""

    __slots__ = ("_lags", "_max_bytes", "_throttles", "core", "key", "name", "partition")

    def __init__(
        self,
        partition: Partition,
        core: PartitionFollower,
        throttles: ReplicationThrottles,
        *,
        max_bytes: int,
    ) -> None:
        """`max_bytes`: `replica.fetch.max.bytes`."""
        self._throttles = throttles
        self._lags = False
        """Whether the leader's high watermark was above the end here, when it was told last."""
        self.partition = partition
        self.core = core
        self.key = PartitionKey(partition.topic_id, partition.index)
        self.name = TopicPartition(partition.topic, partition.index)
        self._max_bytes = max_bytes

    @property
    def is_current(self) -> bool:
        """Whether the metadata has not told of another leader or epoch since."""
        return self.partition.follower is self.core

    def has_to_sync(self) -> bool:
        """Whether what it has is to be on the disk before more is asked for (`flush.messages`),
        which tells the leader that it has the rest. `Partition.fetch_on` says when."""
        partition = self.partition
        is_held_back = partition.log.is_held_back
        if is_held_back and partition.flush_later is not None:
            partition.flush_later(partition)
        return is_held_back

    def is_ready(self, now: TimestampMs) -> bool:
        """Whether to fetch it, or else to ask again after `core.pause`, unless it `has_to_sync`."""
        if self.has_to_sync() or not self.core.is_ready(now):  # It syncs while it pauses, too.
            return False
        throttle = self._throttles.of_fetching(self.partition) if self._lags else None
        if throttle is not None and throttle.must_wait(now, is_in_sync=False):
            self.core.rest(now)
            return False
        return True

    def asked(self) -> FetchPartition:
        """How to fetch it now."""
        log = self.partition.log
        return FetchPartition(
            partition=self.partition.index,
            current_leader_epoch=self.core.leader_epoch,
            fetch_offset=log.end_offset,
            last_fetched_epoch=log.epochs.latest,
            log_start_offset=log.log_start_offset,
            partition_max_bytes=self._max_bytes,
            high_watermark=self.partition.high_watermark,
        )

    def answered(self, data: PartitionData, asked: FetchPartition, now: TimestampMs) -> Step:
        """Take in what the leader answered to `asked`: what was done, or is to be done
        (`ASK_END`)."""
        diverging = data.diverging_epoch
        step = self.core.answered(
            ErrorCode(data.error_code),
            asked_from=Offset(asked.fetch_offset),
            end_offset=self.partition.log.end_offset,
            diverges=diverging.epoch >= 0,
            now=now,
        )
        if step is Step.WAIT:
            code = ErrorCode(data.error_code)
            level = logging.DEBUG if code in _PASSING else logging.INFO
            _log.log(level, "%s: its leader answers %s", self.name, code.name)
        try:
            if step is Step.APPEND:
                self._append(data, now)
            elif step is Step.TRUNCATE:
                self._truncate_to(self._where_it_parts(diverging), now)
                if self.asked() == asked:
                    # It cannot part where it agrees; but nobody is to ask that without a pause.
                    self.core.failed(now)
        except (OSError, CorruptRecordError) as error:
            return self._failed(error, now)
        return step

    def leader_ends(self, end_offset: Offset, now: TimestampMs) -> bool:
        """The leader's log, which does not have what was asked for, ends there. False: that is no
        reason, and it is to be asked where it begins."""
        if end_offset >= self.partition.log.end_offset:
            return False
        try:
            self._truncate_to(end_offset, now)
        except OSError as error:
            self._failed(error, now)
        return True

    def leader_begins(self, start_offset: Offset, now: TimestampMs) -> None:
        """The leader's log begins there."""
        log = self.partition.log
        if start_offset <= log.end_offset:
            self.core.failed(now)  # Then it cannot be told why it refused.
            return
        _log.warning(
            "%s ends at offset %d, below %d, where its leader's begins: it begins anew there",
            self.name,
            log.end_offset,
            start_offset,
        )
        try:
            self._restart_at(start_offset, now)
        except OSError as error:
            self._failed(error, now)

    def _append(self, data: PartitionData, now: TimestampMs) -> None:
        partition, records, size_bytes = self.partition, data.records, 0
        log = partition.log
        if records:
            # What the codec gives of a field of record bytes, when it decodes.
            assert isinstance(records, memoryview)
            epoch = self.core.leader_epoch
            try:
                size_bytes = append_as_follower(log, records, leader_epoch=epoch, now=now)
            except BeginsBelowError as below:
                self._go_back_to(below.offset, now)
                size_bytes = append_as_follower(log, records, leader_epoch=epoch, now=now)
            if log.end_offset >= log.flush_at and partition.flush_later is not None:
                partition.flush_later(partition)
        self._lags = data.high_watermark > log.end_offset
        throttle = self._throttles.of_fetching(partition)
        if throttle is not None:
            throttle.record(size_bytes, now)
        partition.followed(data.high_watermark, size_bytes)
        start = min(data.log_start_offset, partition.high_watermark)
        if start > log.log_start_offset:
            delete_records(log, Offset(start))
            partition.log_start_moved()

    def _go_back_to(self, offset: Offset, now: TimestampMs) -> None:
        """The leader's log begins amid a batch, which begins at `offset`. Records here from there
        on are others, if there are any: of that batch's epoch the leader knows only what is left,
        so that it could not tell where the two logs part. `CorruptRecordError` where one of them is
        committed: then it is the leader's log that is wrong.

        Kafka differs: where a leader's log begins amid a batch of another epoch, it fails a replica
        that is cut there, until the leader changes or it restarts. Here it goes back to that batch.
        """
        partition = self.partition
        if partition.log.end_offset == partition.log.log_start_offset:
            self._restart_at(offset, now)
        elif offset >= partition.high_watermark:
            self._truncate_to(offset, now)
        else:
            raise CorruptRecordError(
                f"the leader has a batch from offset {offset} on, where committed records end at"
                f" {partition.high_watermark}, and the log at {partition.log.end_offset}"
            )

    def _where_it_parts(self, diverging: EpochEndOffset) -> Offset:
        log = self.partition.log
        epoch = LeaderEpoch(diverging.epoch)
        here = log.epochs.end_of(min(epoch, log.epochs.latest), log.end_offset)
        return truncation_offset(
            LogPoint(epoch, Offset(diverging.end_offset)),
            None if here is None else LogPoint(here.epoch, here.end_offset),
            log.end_offset,
        )

    def _truncate_to(self, offset: Offset, now: TimestampMs) -> None:
        partition = self.partition
        if offset < partition.high_watermark:
            _log.warning(
                "%s is cut at offset %d, below its high watermark %d",
                self.name,
                offset,
                partition.high_watermark,
            )
        try:
            partition.directory.truncate_partition(self.name, offset, now)
        finally:
            partition.truncated()  # When a disk refuses, too, the log may be shorter already.

    def _restart_at(self, offset: Offset, now: TimestampMs) -> None:
        try:
            self.partition.directory.restart_partition(self.name, offset, now)
        finally:
            self.partition.truncated()

    def _failed(self, error: OSError | CorruptRecordError, now: TimestampMs) -> Step:
        """The disk, or the leader's bytes, are not to be trusted: maybe the next time."""
        # Its traceback has the views of an answer.
        _log.error("%s cannot be followed: %s", self.name, str(error))
        if isinstance(error, OSError):
            self.partition.refused(error)
        self.core.failed(now)
        return Step.WAIT
