"""The follower of one partition: what its leader's answers ask of the log here.

A stepping core. It holds no bytes: whoever carries it out tells it where the log ends and what it
knows of leader epochs, and does what it says.

    the answer of the leader            what is to be done
    records, or none                    append them; take over the high watermark and the log start
    a diverging epoch                   truncate to where the two logs part, and fetch on from there
    OFFSET_OUT_OF_RANGE                 ask where the leader's log ends; if that is below the end
                                        here truncate to it, else ask where it begins, and begin
                                        anew there if that is above the end here
    FENCED_LEADER_EPOCH                 nothing, until the metadata tells of another leader
    any other error                     wait `replica.fetch.backoff.ms`

Each fetch names the epoch of the last record here, so the leader sees at once where logs part
(KIP-595); the follower need not ask before it fetches (KIP-101), and does not lose what is
committed when several leaders follow each other quickly (KIP-279): of an epoch that it does not
know itself it cuts all, and the next answer tells of an earlier one.

Kafka differs: to a leader whose Fetch is older than version 12 it sends OffsetForLeaderEpoch
first. Here leaders whose Fetch is older than 15, of Kafka 3.4 and before, are not followed.

Source: Kafka's `AbstractFetcherThread` (processFetchRequest, getOffsetTruncationState,
fetchOffsetAndTruncate) and `ReplicaFetcherThread` (processPartitionData).
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, NamedTuple

from kafkalite.core import NO_PAUSE, Pause
from kafkalite.errors import ErrorCode
from kafkalite.types import BrokerId, LeaderEpoch, Offset, TimestampMs

REST_MS: Final = 200
"""How long a throttled follower rests before it asks whether it may go on."""


class Step(Enum):
    """What an answer asks for."""

    APPEND = auto()
    """Its records, and then `PartitionFollower.heard`."""
    TRUNCATE = auto()
    """To what `truncation_offset` tells."""
    ASK_END = auto()
    """Of the leader's log."""
    WAIT = auto()
    """Until the `pause` is over."""
    STOP = auto()
    """Until the metadata tells of another leader."""
    NOTHING = auto()
    """It was asked before something else happened."""


class LogPoint(NamedTuple):
    """Where an epoch ends (exclusive) in one of the two logs."""

    epoch: LeaderEpoch
    end_offset: Offset


class PartitionFollower:
    """What a broker knows of a partition while it follows another one, in one leader epoch."""

    __slots__ = ("_backoff_ms", "is_stopped", "leader", "leader_epoch", "pause")

    def __init__(self, leader: BrokerId, leader_epoch: LeaderEpoch, *, backoff_ms: int) -> None:
        """`backoff_ms`: `replica.fetch.backoff.ms`."""
        self.leader = leader
        self.leader_epoch = leader_epoch
        self._backoff_ms = backoff_ms
        self.pause = NO_PAUSE
        """Meanwhile it is not fetched."""
        self.is_stopped = False
        """Nor if this is so."""

    def is_ready(self, now: TimestampMs) -> bool:
        """Whether to fetch it."""
        return not self.is_stopped and self.pause.is_over(now)

    def answered(
        self,
        code: ErrorCode,
        *,
        asked_from: Offset,
        end_offset: Offset,
        diverges: bool,
        now: TimestampMs,
    ) -> Step:
        """The leader's answer to a fetch from `asked_from`; the log here ends at `end_offset`."""
        if asked_from != end_offset:
            return Step.NOTHING
        if code is ErrorCode.NONE:
            return Step.TRUNCATE if diverges else Step.APPEND
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            return Step.ASK_END
        if code is ErrorCode.FENCED_LEADER_EPOCH:
            self.is_stopped = True
            return Step.STOP
        self.failed(now)
        return Step.WAIT

    def rest(self, now: TimestampMs) -> None:
        """Copies are to go slowly, and enough went for now."""
        self.pause = Pause.of(REST_MS, now)

    def failed(self, now: TimestampMs) -> None:
        """The leader, or the disk here, did not do what it was to do: wait a while."""
        self.pause = Pause.of(self._backoff_ms, now)


def truncation_offset(leader: LogPoint, here: LogPoint | None, end_offset: Offset) -> Offset:
    """To where a log that ends at `end_offset` is to be cut.

    `leader`: the greatest epoch that is not above the one of the last record here, and where it
    ends there. `here`: the greatest epoch not above that one which is known here; None: no epoch
    is."""
    if here is None:
        return min(leader.end_offset, end_offset)
    if here.epoch != leader.epoch:
        # The leader's epoch is not known here: what came after the one that is cannot be right,
        # and where that one parts the leader tells next.
        return min(here.end_offset, end_offset)
    return min(here.end_offset, leader.end_offset, end_offset)


def committed_here(high_watermark: Offset, told: int, end_offset: Offset) -> Offset:
    """The high watermark of a follower whose leader tells `told`: no higher than its log, and not
    lower than before."""
    return Offset(max(high_watermark, min(told, end_offset)))
