"""The leader of one partition: leader epoch, log end offset, in-sync replicas, high watermark.

A follower that has all is not heard of until there is more: its session keeps that to itself. So it
counts as caught up until the next append.

A stepping core. It holds numbers, not bytes: the log tells it where it ends, followers where they
are, and it answers how far readers may see, and which change of the ISR to propose. With itself as
the only replica each append is committed at once.

    in sync    proposed         the high watermark waits for     acks=all needs
    committed  -                the ISR                          min.insync.replicas in the ISR
    committed  one more (grow)  the ISR and the one more         the same: what is committed counts
    committed  fewer (shrink)   the ISR: those to leave too      the same

The high watermark also waits for a replica that has caught up and is about to join; and it rests
while fewer are in sync than `min.insync.replicas` asks for.

Source: Kafka's `Partition.scala` (maybeIncrementLeaderHW, maybeExpandIsr, maybeShrinkIsr,
PendingExpandIsr, PendingShrinkIsr), KIP-497, KIP-841, KIP-903.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.replica.followers import Follower, FollowerFetch
from kafkalite.replica.isr_proposal import ActiveBrokers, IsrProposal, Refusal, meaning_of
from kafkalite.types import (
    NO_BROKER_EPOCH,
    NO_LEADER_EPOCH,
    BrokerEpoch,
    BrokerId,
    IsrMember,
    LeaderEpoch,
    Offset,
    TimestampMs,
)

_START = TimestampMs(0)


class PartitionLeader:
    """What a broker knows of a partition while it leads it, in one leader epoch after the other."""

    __slots__ = (
        "_active",
        "_broker",
        "_followers",
        "_isr_in_order",
        "_lag_time_max_ms",
        "_min_in_sync",
        "end_offset",
        "has_enough_replicas",
        "high_watermark",
        "isr",
        "leader_epoch",
        "partition_epoch",
        "proposal",
        "start_offset",
    )

    def __init__(
        self,
        broker: BrokerId,
        *,
        leader_epoch: LeaderEpoch,
        isr: Collection[BrokerId],
        end_offset: Offset,
        high_watermark: Offset,
        replicas: Iterable[BrokerId] = (),
        partition_epoch: int = 0,
        min_in_sync: int = 1,
        active: ActiveBrokers | None = None,
        lag_time_max_ms: int = 30_000,
        now: TimestampMs = _START,
    ) -> None:
        """`replicas` may name `broker` too; those of the ISR are added. `isr`, as
        everywhere here, in the order of the metadata: who joins is added at its end."""
        assert 0 <= high_watermark <= end_offset
        self._broker = broker
        self._active = {} if active is None else active
        self._lag_time_max_ms = lag_time_max_ms
        self._followers: dict[BrokerId, Follower] = {}
        self.high_watermark = high_watermark
        """Exclusive: all below it is on every in-sync replica."""
        self.end_offset = end_offset
        """The log end offset: where the next record goes."""
        self._min_in_sync = min_in_sync
        self.leader_epoch = NO_LEADER_EPOCH
        self.begin(
            leader_epoch,
            partition_epoch=partition_epoch,
            replicas=replicas,
            isr=isr,
            end_offset=end_offset,
            now=now,
        )

    def begin(
        self,
        leader_epoch: LeaderEpoch,
        *,
        partition_epoch: int,
        replicas: Iterable[BrokerId],
        isr: Collection[BrokerId],
        end_offset: Offset,
        now: TimestampMs,
    ) -> bool:
        """Lead in a newer epoch from `end_offset` on. True if the high watermark moved."""
        assert self._broker in isr, "a leader is in sync with itself"
        is_new = self.leader_epoch == NO_LEADER_EPOCH
        self.leader_epoch = leader_epoch
        self.start_offset = end_offset
        """Where the epoch begins: only who has all below may join the ISR."""
        self.end_offset = end_offset
        self._assign((*replicas, *isr))
        for broker, follower in self._followers.items():
            follower.begin(end_offset, now, is_in_sync=broker in isr, is_new=is_new)
        return self._commit(isr, partition_epoch, now)

    def change(
        self,
        *,
        partition_epoch: int,
        replicas: Iterable[BrokerId],
        isr: Collection[BrokerId],
        now: TimestampMs,
    ) -> bool:
        """The cluster has agreed on another ISR or other replicas, in the same leader epoch. True
        if the high watermark moved. What is older than what is known changes nothing."""
        if partition_epoch < self.partition_epoch:
            return False
        self._assign((*replicas, *isr))
        if partition_epoch == self.partition_epoch and frozenset(isr) == self.isr:
            return False  # Told before, by the answer to a proposal.
        return self._commit(isr, partition_epoch, now)

    def _assign(self, replicas: Iterable[BrokerId]) -> None:
        known = self._followers
        self._followers = {
            broker: known.get(broker) or Follower() for broker in replicas if broker != self._broker
        }

    def _commit(self, isr: Collection[BrokerId], partition_epoch: int, now: TimestampMs) -> bool:
        self.isr = frozenset(isr)
        self._isr_in_order = tuple(isr)
        self.has_enough_replicas = len(isr) >= self._needed_in_sync
        """Whether a produce with acks=all may be accepted."""
        self.partition_epoch = partition_epoch
        self.proposal: IsrProposal | None = None
        """What the controller is asked and has not answered, or has answered in a way that more is
        to come from the metadata."""
        return self._advance(now)

    # Records.

    def appended(self, end_offset: Offset, now: TimestampMs = _START) -> bool:
        """The leader's own log now ends at `end_offset`. True if the high watermark moved."""
        assert end_offset >= self.end_offset
        if self._followers:
            for follower in self._followers.values():
                if follower.end_offset >= self.end_offset:
                    follower.caught_up_ms = now  # Until now there was nothing more to have.
            self.end_offset = end_offset
            return self._advance(now)
        self.end_offset = end_offset
        if end_offset <= self.high_watermark:
            return False
        self.high_watermark = end_offset
        return True

    def follower_fetched(self, broker: BrokerId, fetch: FollowerFetch, now: TimestampMs) -> bool:
        """A follower asks for what comes at `fetch.offset`. True if the high watermark moved.
        NOT_LEADER_OR_FOLLOWER for one that is none, or is an earlier run of its broker."""
        follower = self._followers.get(broker)
        if follower is None:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        before = follower.end_offset
        follower.fetched(fetch, self.end_offset, self._active.get(broker), now)
        return fetch.offset != before and self._advance(now)

    @property
    def high_watermark_lags(self) -> bool:
        """Whether it is below where the epoch begins still: the leader before may have told of
        more, so where consumers' records end is not known yet (KIP-207)."""
        return self.high_watermark < self.start_offset

    @property
    def has_followers(self) -> bool:
        """Whether there are other replicas."""
        return bool(self._followers)

    def has_follower(self, broker: BrokerId) -> bool:
        """Whether that broker has one of the other replicas."""
        return broker in self._followers

    def followers_with(self, offset: int) -> dict[BrokerId, Follower]:
        """In-sync followers that have the records from `offset` on, if there are any yet."""
        return {
            broker: follower
            for broker, follower in self._followers.items()
            if broker in self.isr and follower.log_start_offset <= offset <= follower.end_offset
        }

    def low_watermark(self, log_start_offset: Offset) -> Offset:
        """Below it (exclusive) no replica of an active broker has records any more, as far as is
        known; `log_start_offset` is the leader's."""
        starts = (
            follower.log_start_offset
            for broker, follower in self._followers.items()
            if broker in self._active
        )
        return min((log_start_offset, *starts))

    # In sync.

    @property
    def maximal_isr(self) -> frozenset[BrokerId]:
        """All that may be in sync: those that are, and the one that is proposed to join."""
        proposal = self.proposal
        if proposal is None or proposal.joining is None:
            return self.isr
        return self.isr | {proposal.joining}

    def require(self, min_in_sync: int) -> None:
        """That is `min.insync.replicas` from now on. It counts as far as there are so many
        replicas."""
        self._min_in_sync = min_in_sync
        self.has_enough_replicas = len(self.isr) >= self._needed_in_sync

    @property
    def _needed_in_sync(self) -> int:
        return min(self._min_in_sync, len(self._followers) + 1)

    def expand(self, broker: BrokerId) -> IsrProposal | None:
        """To be asked of a follower that has fetched: the proposal to have it join, if it may.

        It has all that may be committed, and all from before this leader's epoch; its broker is
        active, and the run that fetched is the present one (KIP-841, KIP-903). None while another
        proposal is open."""
        follower = self._followers.get(broker)
        if self.proposal is not None or broker in self.isr or follower is None:
            return None
        end_offset = follower.end_offset
        if end_offset < self.high_watermark or end_offset < self.start_offset:
            return None
        if not self._may_join(broker, follower):
            return None
        return self._propose((*self._isr_in_order, broker), joining=broker)

    def expand_to_any(self, now: TimestampMs) -> IsrProposal | None:
        """As `expand`, of the first that may join and has caught up: to be asked when a proposal
        is settled, and when brokers have come. Who has all there is does not say so again."""
        if self.proposal is not None or len(self.isr) > len(self._followers):
            return None
        for broker, follower in self._followers.items():
            if follower.is_caught_up(self.end_offset, now, self._lag_time_max_ms):
                proposal = self.expand(broker)
                if proposal is not None:
                    return proposal
        return None

    def shrink(self, now: TimestampMs) -> IsrProposal | None:
        """To be asked every half of `replica.lag.time.max.ms`: the proposal to have those leave
        that have not caught up for so long, if there are any. None while another one is open."""
        if self.proposal is not None or len(self.isr) == 1:
            return None
        staying = [
            broker
            for broker in self._isr_in_order
            if broker == self._broker
            or self._followers[broker].is_caught_up(self.end_offset, now, self._lag_time_max_ms)
        ]
        if len(staying) == len(self.isr):
            return None
        return self._propose(staying, joining=None)

    def _propose(self, isr: Iterable[BrokerId], *, joining: BrokerId | None) -> IsrProposal:
        members = tuple(IsrMember(broker, self._epoch_of(broker)) for broker in isr)
        self.proposal = IsrProposal(self.leader_epoch, self.partition_epoch, members, joining)
        return self.proposal

    def _epoch_of(self, broker: BrokerId) -> BrokerEpoch:
        if broker == self._broker:
            return self._active.get(broker, NO_BROKER_EPOCH)
        seen = self._followers[broker].broker_epoch
        return NO_BROKER_EPOCH if seen is None else seen

    def altered(
        self,
        proposal: IsrProposal,
        isr: Collection[BrokerId],
        partition_epoch: int,
        now: TimestampMs,
    ) -> bool:
        """The controller did as proposed. True if the high watermark moved. The metadata may have
        told sooner, and more."""
        if proposal is not self.proposal or partition_epoch < self.partition_epoch:
            return False
        return self._commit(isr, partition_epoch, now)

    def refused(self, proposal: IsrProposal, code: ErrorCode) -> bool:
        """The controller did not. True if the same proposal is to be sent again."""
        if proposal is not self.proposal:
            return False
        refusal = meaning_of(code)
        if refusal is Refusal.DROPPED:
            self.proposal = None
        return refusal is Refusal.ASKED_AGAIN

    # Readers.

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

    def _may_join(self, broker: BrokerId, follower: Follower) -> bool:
        seen, registered = follower.broker_epoch, self._active.get(broker)
        if seen is None or registered is None:
            return False
        return seen in (NO_BROKER_EPOCH, registered)

    def _advance(self, now: TimestampMs) -> bool:
        if not self.has_enough_replicas:
            return False
        committed, waited_for = self.end_offset, self.maximal_isr
        for broker, follower in self._followers.items():
            if follower.end_offset < committed and (
                broker in waited_for
                or (
                    follower.is_caught_up(self.end_offset, now, self._lag_time_max_ms)
                    and self._may_join(broker, follower)
                )
            ):
                committed = follower.end_offset
        if committed <= self.high_watermark:
            return False
        self.high_watermark = committed
        return True
