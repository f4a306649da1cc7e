"""Fetches from one leader all that this broker follows of it: one Fetch at a time, in a session.

Each answer is written as it comes, and the next Fetch goes out at once; the leader keeps it until
it has news, at most `replica.fetch.wait.max.ms`. So a fetch costs what has changed. A partition
that is to wait is left out of the session meanwhile.

While one is kept and there is something new to ask, a second one follows in the same session: the
leader answers the first at once then. So a new partition is fetched as soon as it is there.

Kafka differs: a new partition waits for the end of the fetch that is kept.

Source: Kafka's `ReplicaFetcherThread`, `RemoteLeaderEndPoint` and `AbstractFetcherThread`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from kafkalite.config.views import BrokerConfig
from kafkalite.core import NO_PAUSE, Pause
from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.ports.clock import Clock, Timer
from kafkalite.protocol.messages.fetch import FetchRequest, FetchResponse, ReplicaState
from kafkalite.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kafkalite.protocol.schema import Response
from kafkalite.replica.follower import Step
from kafkalite.replica.follower_session import FollowerSession, PartitionKey
from kafkalite.server.followed_partition import FollowedPartition
from kafkalite.server.offset_lookup import EARLIEST, LATEST
from kafkalite.server.peers import Peers
from kafkalite.types import BrokerEpoch, BrokerId, Offset, TimestampMs

_log = logging.getLogger(__name__)

PURPOSE: Final = "fetcher"
TIMEOUT_MS: Final = 30_000
"""The default of `replica.socket.timeout.ms`."""
_SESSION_ERRORS = (
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
)


class ReplicaFetcher:
    """Of one leader. Idle while there is nothing to fetch."""

    def __init__(
        self,
        leader: BrokerId,
        broker_id: BrokerId,
        *,
        broker_epoch: Callable[[], BrokerEpoch],
        peers: Peers,
        clock: Clock,
        config: BrokerConfig,
    ) -> None:
        """`broker_epoch`: this broker's own, as it is registered now."""
        self._leader = leader
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._peers = peers
        self._clock = clock
        self._config = config
        self._session = FollowerSession()
        self._followed: dict[PartitionKey, FollowedPartition] = {}
        self._left_out: dict[PartitionKey, FollowedPartition] = {}
        """Those that are not in the session: they wait, also for their disk, or are stopped, or the
        leader was asked where its log ends."""
        self._asking: dict[FollowedPartition, None] = {}
        """The last of these."""
        self._in_flight = 0
        self._named_since: frozenset[PartitionKey] = frozenset()
        """By the second of two in flight: what the first tells of these is out of date."""
        self._pause = NO_PAUSE
        """The leader did not answer."""
        self._timer: Timer | None = None
        self._timer_ms = TimestampMs(0)
        self._is_stopped = False

    def __len__(self) -> int:
        return len(self._followed)

    def follow(self, followed: FollowedPartition) -> None:
        """Fetch it from now on; one that is followed already begins anew."""
        self._followed[followed.key] = followed
        self._left_out.pop(followed.key, None)
        self._pause = NO_PAUSE  # The metadata knows better.
        followed.partition.fetch_on = self._fetch_soon
        if followed.has_to_sync():
            self._session.leave_out(followed.key)
            self._left_out[followed.key] = followed
        else:
            self._session.want(followed.key, followed.asked())
        self._fetch_soon()

    def leave(self, key: PartitionKey) -> None:
        """Fetch it no more."""
        self._followed.pop(key, None)
        self._left_out.pop(key, None)
        self._session.leave_out(key)

    def stop(self) -> None:
        """Nothing is fetched any more; what still comes in is passed over."""
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _fetch_soon(self) -> None:
        """In a turn of its own: several partitions come together."""
        self._call_at(self._clock.now_ms())

    def _call_at(self, at_ms: TimestampMs) -> None:
        if self._timer is not None:
            if self._timer_ms <= at_ms:
                return
            self._timer.cancel()
        self._timer_ms = at_ms
        self._timer = self._clock.call_at(at_ms, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        self._fetch()

    def _fetch(self) -> None:
        """Ask for all that is ready, or wait until something is."""
        if self._is_stopped or self._in_flight > 1:
            return
        now = self._clock.now_ms()
        if not self._pause.is_over(now):
            self._call_at(self._pause.until_ms)
            return
        self._take_in_ready(now)
        session = self._session
        if not len(session):
            return
        if self._in_flight:
            if not (session.is_open and session.changed):
                return
            self._named_since = session.changed
        config = self._config
        request = FetchRequest(
            replica_state=ReplicaState(
                replica_id=self._broker_id, replica_epoch=self._broker_epoch()
            ),
            max_wait_ms=config.replica_fetch_wait_max_ms,
            min_bytes=config.replica_fetch_min_bytes,
            max_bytes=config.replica_fetch_response_max_bytes,
        )
        session.fill(request)
        self._in_flight += 1
        self._peers.ask(
            self._leader, request, self._answered, timeout_ms=TIMEOUT_MS, purpose=PURPOSE
        )

    def _take_in_ready(self, now: TimestampMs) -> None:
        """Those that have waited long enough are in the session again."""
        for key, followed in list(self._left_out.items()):
            if followed in self._asking or followed.core.is_stopped:
                continue
            if followed.is_ready(now):
                del self._left_out[key]
                self._session.want(key, followed.asked())
            elif not followed.partition.log.is_held_back:
                self._call_at(followed.core.pause.until_ms)

    def _answered(self, reply: Response | KafkaError) -> None:
        self._in_flight -= 1
        outdated = self._named_since if self._in_flight else frozenset()
        self._named_since = frozenset()
        if self._is_stopped:
            return
        now = self._clock.now_ms()
        if isinstance(reply, KafkaError):
            self._refused(reply, now)
        else:
            assert isinstance(reply, FetchResponse)
            code = ErrorCode(reply.error_code)
            if code is ErrorCode.NONE:
                self._take(reply, outdated, now)
            elif code in _SESSION_ERRORS:
                self._session.failed()
            else:
                self._refused(KafkaError(code), now)
        self._fetch()

    def _refused(self, error: KafkaError, now: TimestampMs) -> None:
        self._session.failed()
        self._pause = Pause.of(self._config.replica_fetch_backoff_ms, now)
        _log.info("broker %d cannot be fetched from: %s", self._leader, error)

    def _take(
        self, response: FetchResponse, outdated: frozenset[PartitionKey], now: TimestampMs
    ) -> None:
        session = self._session
        session.succeeded(response.session_id)
        for topic in response.responses:
            for data in topic.partitions:
                key = PartitionKey(topic.topic_id, data.partition_index)
                followed = self._followed.get(key)
                asked = None if followed is None else session.asked(followed.key)
                if followed is None or asked is None or key in outdated:
                    continue  # It was left out, or asked for otherwise, since.
                self._carried_out(followed, followed.answered(data, asked, now), now)

    def _carried_out(self, followed: FollowedPartition, step: Step, now: TimestampMs) -> None:
        if not followed.is_current or self._followed.get(followed.key) is not followed:
            return  # Its disk has failed just now.
        session, log = self._session, followed.partition.log
        goes_on = step is Step.APPEND or step is Step.TRUNCATE or step is Step.NOTHING
        if goes_on and followed.is_ready(now):
            asked = session.asked(followed.key)
            if (
                asked is None
                or asked.fetch_offset != log.end_offset
                or asked.last_fetched_epoch != log.epochs.latest
                or asked.log_start_offset != log.log_start_offset
            ):
                session.want(followed.key, followed.asked())
            return
        session.leave_out(followed.key)
        self._left_out[followed.key] = followed
        if step is Step.ASK_END:
            self._asking[followed] = None
            self._ask_offset(followed, LATEST)

    # Where the leader's log ends and begins.

    def _ask_offset(self, followed: FollowedPartition, timestamp: int) -> None:
        asked = ListOffsetsPartition(
            partition_index=followed.partition.index,
            current_leader_epoch=followed.core.leader_epoch,
            timestamp=timestamp,
        )
        topic = ListOffsetsTopic(name=followed.partition.topic, partitions=[asked])
        self._peers.ask(
            self._leader,
            ListOffsetsRequest(replica_id=self._broker_id, topics=[topic]),
            partial(self._told_offset, followed, timestamp),
            timeout_ms=TIMEOUT_MS,
        )

    def _told_offset(
        self, followed: FollowedPartition, timestamp: int, reply: Response | KafkaError
    ) -> None:
        if self._is_stopped or not followed.is_current:
            self._asking.pop(followed, None)
            return
        now = self._clock.now_ms()
        if isinstance(reply, KafkaError):
            followed.core.failed(now)
        else:
            assert isinstance(reply, ListOffsetsResponse)
            index = followed.partition.index
            each = (told for topic in reply.topics for told in topic.partitions)
            told = next((told for told in each if told.partition_index == index), None)
            if told is None or told.error_code:
                followed.core.failed(now)
            elif timestamp == EARLIEST:
                followed.leader_begins(Offset(told.offset), now)
            elif not followed.leader_ends(Offset(told.offset), now):
                self._ask_offset(followed, EARLIEST)
                return
        self._asking.pop(followed, None)
        self._fetch_soon()
