"""What a leader knows of one follower: how far it is, when it last had all, and which run of that
broker it is.

A stepping core, told of each Fetch of the follower. Source: Kafka's `Replica` and `ReplicaState`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.types import NO_BROKER_EPOCH, BrokerEpoch, Offset, TimestampMs

UNKNOWN: Final = Offset(-1)
"""The log end offset of a follower that has not fetched yet."""

_NEVER: Final = TimestampMs(0)


class FollowerFetch(NamedTuple):
    """What a follower's Fetch says of one partition."""

    offset: Offset
    """It has all below."""
    log_start_offset: Offset
    """-1: it does not tell."""
    broker_epoch: BrokerEpoch
    """-1: from a broker before KIP-903."""


class Follower:
    """One of the other replicas, as its leader sees it."""

    __slots__ = (
        "_fetched_ms",
        "_leader_end_offset",
        "broker_epoch",
        "caught_up_ms",
        "end_offset",
        "log_start_offset",
    )

    def __init__(self) -> None:
        self.end_offset = UNKNOWN
        self.log_start_offset = UNKNOWN
        self.broker_epoch: BrokerEpoch | None = None
        """Of the run that fetched last; None before its first fetch."""
        self.caught_up_ms = _NEVER
        """The last moment of which it is known that it had all that the leader had then."""
        self._fetched_ms = _NEVER
        self._leader_end_offset = Offset(0)
        """The leader's end at the last fetch."""

    def begin(
        self, leader_end_offset: Offset, now: TimestampMs, *, is_in_sync: bool, is_new: bool
    ) -> None:
        """A leader epoch begins. A replica in sync gets its time to show that it is. `is_new`:
        the leader did not lead before, so that it knows nothing of others."""
        self.caught_up_ms = now if is_in_sync else _NEVER
        if is_new:
            self.end_offset = self.log_start_offset = UNKNOWN
            self.broker_epoch = None
            self._fetched_ms = _NEVER
            self._leader_end_offset = Offset(0)
        else:
            self._fetched_ms = now if is_in_sync else _NEVER
            self._leader_end_offset = leader_end_offset

    def fetched(
        self,
        fetch: FollowerFetch,
        leader_end_offset: Offset,
        registered_epoch: BrokerEpoch | None,
        now: TimestampMs,
    ) -> None:
        """It asks for `fetch.offset`. One that has come to where the leader ended at the fetch
        before had all at that time. NOT_LEADER_OR_FOLLOWER for an earlier run of that broker."""
        epoch = fetch.broker_epoch
        if epoch != NO_BROKER_EPOCH and registered_epoch is not None and registered_epoch > epoch:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if fetch.offset >= leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, now)
        elif fetch.offset >= self._leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, self._fetched_ms)
        self.end_offset = fetch.offset
        self.log_start_offset = fetch.log_start_offset
        self.broker_epoch = epoch
        self._fetched_ms = now
        self._leader_end_offset = max(self._leader_end_offset, leader_end_offset)

    def is_caught_up(
        self, leader_end_offset: Offset, now: TimestampMs, lag_time_max_ms: int
    ) -> bool:
        """Whether it has all, or had at most `replica.lag.time.max.ms` ago."""
        return self.end_offset >= leader_end_offset or now - self.caught_up_ms <= lag_time_max_ms
