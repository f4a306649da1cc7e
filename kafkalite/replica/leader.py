"""The leader of one partition: leader epoch, log end offset, in-sync replicas, high watermark.

A stepping core. It holds numbers, not bytes: the log tells it where it ends, followers where they
are, and it answers how far readers may see. With itself as the only in-sync replica each append is
committed at once. What it does not do yet: shrink and expand the ISR, which comes with replication.

Source: Kafka's `Partition.scala` (maybeIncrementLeaderHW, checkCurrentLeaderEpoch).
"""

from __future__ import annotations

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.types import NO_LEADER_EPOCH, BrokerId, LeaderEpoch, Offset


class PartitionLeader:
    """What a broker knows of a partition while it leads it, from one leader epoch to the next."""

    __slots__ = ("_broker", "_followers", "end_offset", "high_watermark", "isr", "leader_epoch")

    def __init__(
        self,
        broker: BrokerId,
        *,
        leader_epoch: LeaderEpoch,
        isr: frozenset[BrokerId],
        end_offset: Offset,
        high_watermark: Offset,
    ) -> None:
        assert broker in isr, "a leader is in sync with itself"
        assert 0 <= high_watermark <= end_offset
        self._broker = broker
        self._followers: dict[BrokerId, Offset] = {}
        self.leader_epoch = leader_epoch
        self.isr = isr
        self.end_offset = end_offset
        """The log end offset: where the next record goes."""
        self.high_watermark = high_watermark
        """Exclusive: all below it is on every in-sync replica."""
        self._advance()

    def appended(self, end_offset: Offset) -> bool:
        """The leader's own log now ends at `end_offset`. True if the high watermark moved."""
        assert end_offset >= self.end_offset
        self.end_offset = end_offset
        return self._advance()

    def follower_at(self, follower: BrokerId, end_offset: Offset) -> bool:
        """A follower asked for `end_offset`, so it has all below. True if the high watermark
        moved."""
        self._followers[follower] = end_offset
        return self._advance()

    def followers_with(self, offset: int) -> dict[BrokerId, Offset]:
        """In-sync followers that have all below `offset`, and where each ends."""
        return {
            follower: end_offset
            for follower, end_offset in self._followers.items()
            if follower in self.isr and end_offset >= offset
        }

    def has_enough_replicas(self, min_in_sync: int) -> bool:
        """Whether a produce with acks=all may be accepted (`min.insync.replicas`)."""
        return len(self.isr) >= min_in_sync

    def check_epoch(self, claimed: LeaderEpoch) -> ErrorCode:
        """What a client that claims `claimed` as the current leader epoch is told (KIP-320)."""
        if claimed in (NO_LEADER_EPOCH, self.leader_epoch):
            return ErrorCode.NONE
        if claimed < self.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH

    def deletion_end(self, offset: int, policy: tuple[str, ...]) -> Offset:
        """Below where a DeleteRecords that names `offset` deletes (exclusive).

        -1 stands for the high watermark, above which nothing is deleted: OFFSET_OUT_OF_RANGE.
        `policy` is the topic's `cleanup.policy`; what is only compacted keeps its records:
        POLICY_VIOLATION.
        """
        if policy == ("compact",):
            raise KafkaError(ErrorCode.POLICY_VIOLATION)
        end = self.high_watermark if offset == -1 else offset
        if not 0 <= end <= self.high_watermark:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        return Offset(end)

    def _advance(self) -> bool:
        committed = self.end_offset
        if len(self.isr) > 1:
            others = (self._followers.get(b, Offset(0)) for b in self.isr if b != self._broker)
            committed = min(committed, *others)
        if committed <= self.high_watermark:
            return False
        self.high_watermark = committed
        return True
