"""Fetch sessions: what a client fetches is remembered, so that it asks and is told changes only.

A stepping core (KIP-227; Kafka's `FetchSession`, `FetchManager`, `FetchSessionCache`). A request
with session epoch 0 names all its partitions and may get a session; the next ones, with epochs 1,
2, 3..., name what changes, and are told of the partitions that have something new: records, an
error, a place where logs part, another high watermark or log start offset. Epoch -1 is a fetch
without a session. A session ends when it is closed by a request with its id and epoch 0 or -1, when
its last partition is forgotten, or when a more valuable one takes its slot; never with a
connection.

      epoch   id     session
        0     any    that one is closed; a new one, if there is a slot
       -1     any    that one is closed; none
       else   known  its epoch, else INVALID_FETCH_SESSION_EPOCH; by names or ids as it began, else
                     FETCH_SESSION_TOPIC_ID_ERROR
       else   else   FETCH_SESSION_ID_NOT_FOUND

Kafka reads every partition of the session for every request. Here a session knows which of them are
due, so that a fetch costs what changed: a partition that has nothing to tell waits among the
watchers of its log, and is due again when that log grows, moves or goes, or the client asks for
another offset of it.

Kafka differs: it has eight caches of an eighth of the slots each, and a new session gets into one
of them by chance; here there is one. A fetch that waits while another request uses or closes its
session is told there INVALID_FETCH_SESSION_EPOCH at its deadline; here it is answered at once with
what there is, and so is the first one, when a request of the same connection closes a session with
id 0.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple, Protocol

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    ForgottenTopic,
    PartitionData,
)
from kafkalite.types import TimestampMs, Uuid

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
NO_SESSION = 0
"""The id that stands for none."""
MIN_EVICTION_MS = 120_000
"""How long a session is safe from more valuable ones, and unused from all. Kafka's
`MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS`."""

_MAX_EPOCH = 2**31 - 1
_HIGH_WATERMARK_NOT_SAID = 2**63 - 1
_NOTHING_TOLD = -1
_by_order = attrgetter("order")

Rank = tuple[bool, int, int]
"""How much a session is worth: a follower's more than a consumer's, then by partitions; its id."""


class FetchWatcher(Protocol):
    """Whoever is to hear what happens to a partition's log, besides the one who did it."""

    def more(self, size_bytes: int, stable_bytes: int) -> None:
        """Readers may see `size_bytes` more, those of what is committed `stable_bytes`."""
        ...

    def wake(self) -> None:
        """Something else happened that ends a wait: another leader or epoch, or no topic."""
        ...

    def look_again(self) -> None:
        """Something else happened that ends no wait: another log start offset."""
        ...


class SessionPartition:
    """A partition of a session: what the client wants of it, and what it was last told."""

    __slots__ = (
        "_high_watermark",
        "_log_start_offset",
        "_watched",
        "asked",
        "order",
        "session",
        "topic",
        "topic_id",
    )

    def __init__(
        self, session: FetchSession, topic: str, topic_id: Uuid, asked: FetchPartition, order: int
    ) -> None:
        self.session = session
        self.topic = topic
        """Of a session by ids: empty until its topic was found."""
        self.topic_id = topic_id
        self.asked = asked
        self.order = order
        """Those that gave records come last next time."""
        self._high_watermark = _NOTHING_TOLD
        self._log_start_offset = _NOTHING_TOLD
        self._watched: dict[FetchWatcher, None] | None = None

    def ask_otherwise(self, asked: FetchPartition) -> None:
        """The client wants it like this from now on. A follower says which high watermark it has
        (version 18): what it was told may have been an answer to what it had asked before, which
        it passed over."""
        self.asked = asked
        if asked.high_watermark != _HIGH_WATERMARK_NOT_SAID:
            self._high_watermark = asked.high_watermark

    def must_tell(self, data: PartitionData) -> bool:
        """Whether `data` says anything that the client does not know."""
        return (
            bool(data.records)
            or data.high_watermark != self._high_watermark
            or data.log_start_offset != self._log_start_offset
            or data.error_code != ErrorCode.NONE
            or data.preferred_read_replica >= 0
            or data.diverging_epoch.epoch >= 0
        )

    def told(self, data: PartitionData) -> None:
        """The client is told `data`."""
        self._log_start_offset = data.log_start_offset
        # After an error the partition is told again, whatever there is to tell.
        self._high_watermark = _NOTHING_TOLD if data.error_code else data.high_watermark

    def settle(self, watchers: dict[FetchWatcher, None]) -> None:
        """The client knows all there is: not due until a watcher of the log hears of something."""
        if self.session.is_open:
            self.session.due.pop(self, None)
            self.watch(watchers)

    def watch(self, watchers: dict[FetchWatcher, None]) -> None:
        """Hear of what happens to the log; `settle`, or for as long as a fetch waits."""
        if self._watched is not watchers and self.session.is_open:
            self.unwatch()
            self._watched = watchers
            watchers[self] = None

    def unwatch(self) -> None:
        """Hear no more of it."""
        if self._watched is not None:
            self._watched.pop(self, None)
            self._watched = None

    def more(self, size_bytes: int, stable_bytes: int) -> None:
        """See `FetchWatcher`."""
        session = self.session
        session.due[self] = None
        for wait in list(session.fetches):
            wait.more(size_bytes, stable_bytes)
        self._stop_watching()

    def wake(self) -> None:
        """See `FetchWatcher`."""
        self.session.due[self] = None
        self.session.wake()
        self._stop_watching()

    def look_again(self) -> None:
        """See `FetchWatcher`."""
        self.session.due[self] = None
        self._stop_watching()

    def _stop_watching(self) -> None:
        """A session that nobody uses any more must cost a log's appends nothing: it hears of one.
        While a fetch waits, every append counts."""
        session = self.session
        if not session.fetches and self in session.due:
            self.unwatch()


class FetchSession:
    """What one client fetches. Made and ended by `FetchSessions`."""

    __slots__ = (
        "_next_order",
        "created_ms",
        "due",
        "epoch",
        "fetches",
        "id",
        "is_old",
        "is_open",
        "is_privileged",
        "last_used_ms",
        "partitions",
        "rank",
        "uses_topic_ids",
    )

    def __init__(
        self, session_id: int, *, is_privileged: bool, uses_topic_ids: bool, now: TimestampMs
    ) -> None:
        self.id = session_id
        self.is_privileged = is_privileged
        """A follower's."""
        self.uses_topic_ids = uses_topic_ids
        self.created_ms = now
        self.last_used_ms = now
        self.epoch = 1
        """That the next request must have."""
        self.is_old = False
        """No longer safe from a more valuable one, as of its last use."""
        self.is_open = True
        self.partitions: dict[tuple[str | Uuid, int], SessionPartition] = {}
        self.due: dict[SessionPartition, None] = {}
        """What may have something to tell."""
        self.fetches: dict[FetchWatcher, None] = {}
        """The fetch that waits, if one does."""
        self.rank: Rank | None = None
        """By which it stands in the cache's lists of those that may be evicted."""
        self._next_order = 0

    def in_turn(self) -> list[SessionPartition]:
        """The partitions that are due, in the session's order."""
        due = self.due
        return sorted(due, key=_by_order) if len(due) > 1 else list(due)

    def put(self, topic: str, topic_id: Uuid, asked: FetchPartition) -> SessionPartition:
        """Have a partition, or have it fetched otherwise; it is due."""
        key = (topic_id if self.uses_topic_ids else topic, asked.partition)
        held = self.partitions.get(key)
        if held is None:
            held = SessionPartition(self, topic, topic_id, asked, self._next_order)
            self._next_order += 1
            self.partitions[key] = held
        else:
            held.ask_otherwise(asked)
        self.due[held] = None
        return held

    def forget(self, topics: Iterable[ForgottenTopic]) -> None:
        """Have these no more; what the session does not have is passed over."""
        for topic in topics:
            for index in topic.partitions:
                name = topic.topic_id if self.uses_topic_ids else topic.topic
                held = self.partitions.pop((name, index), None)
                if held is not None:
                    self.due.pop(held, None)
                    held.unwatch()

    def tell(self, held: SessionPartition, data: PartitionData) -> None:
        """The client is told `data`."""
        held.told(data)
        if data.records:
            held.order = self._next_order
            self._next_order += 1

    def wake(self) -> None:
        """End the wait of the fetch that waits."""
        for wait in list(self.fetches):
            wait.wake()


class Told(NamedTuple):
    """A partition of a new session."""

    topic: str
    """Empty where only the id is known."""
    topic_id: Uuid
    asked: FetchPartition
    data: PartitionData


class FetchSessions:
    """All fetch sessions of a broker, at most `slots`
    (`max.incremental.fetch.session.cache.slots`)."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._sessions: dict[int, FetchSession] = {}
        """By id; the one whose last use is longest ago first."""
        self._for_consumers: list[Rank] = []
        """Who may go for a more valuable session of a consumer, the least valuable first."""
        self._for_followers: list[Rank] = []
        """Who may go for one of a follower: consumers' sessions of any age too."""

    def __len__(self) -> int:
        return len(self._sessions)

    def resume(
        self, request: FetchRequest, *, uses_topic_ids: bool, now: TimestampMs
    ) -> FetchSession | None:
        """The session of an incremental request, brought up to it; None when nothing is left of the
        session, which has ended then: the request is to be answered without one. `KafkaError` as
        the module's table says."""
        session = self._sessions.get(request.session_id)
        if session is None:
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids is not uses_topic_ids:
            raise KafkaError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        if session.fetches:
            session.wake()
        for topic in request.topics:
            for asked in topic.partitions:
                session.put(topic.topic, topic.topic_id, asked)
        if request.forgotten_topics_data:
            session.forget(request.forgotten_topics_data)
        if not session.partitions:
            self._end(session)
            return None
        self._touch(session, now)
        session.epoch = 1 if session.epoch == _MAX_EPOCH else session.epoch + 1
        return session

    def create(
        self,
        told: Sequence[Told],
        *,
        candidate_id: int,
        is_privileged: bool,
        uses_topic_ids: bool,
        now: TimestampMs,
    ) -> int:
        """The id of a new session, whose client is told just that; 0 when no slot is to be had.
        `candidate_id`: a random number from 1 to 2**31 - 1."""
        worth = (is_privileged, len(told), 0)
        if len(self._sessions) >= self._slots and not self._evict(worth, now):
            return NO_SESSION
        while candidate_id in self._sessions:
            candidate_id = candidate_id % _MAX_EPOCH + 1
        session = FetchSession(
            candidate_id, is_privileged=is_privileged, uses_topic_ids=uses_topic_ids, now=now
        )
        for topic, topic_id, asked, data in told:
            session.put(topic, topic_id, asked).told(data)
        self._sessions[candidate_id] = session
        self._touch(session, now)
        return candidate_id

    def remove(self, session_id: int) -> None:
        """End the session of that id, if there is one."""
        session = self._sessions.get(session_id)
        if session is not None:
            self._end(session)

    def _touch(self, session: FetchSession, now: TimestampMs) -> None:
        """The session is used."""
        del self._sessions[session.id]
        self._sessions[session.id] = session
        session.last_used_ms = now
        is_old = now - session.created_ms > MIN_EVICTION_MS
        rank = (session.is_privileged, len(session.partitions), session.id)
        if rank == session.rank and is_old is session.is_old:
            return
        self._strike(session)
        session.rank, session.is_old = rank, is_old
        if is_old:
            insort(self._for_consumers, rank)
        if is_old or not session.is_privileged:
            insort(self._for_followers, rank)

    def _strike(self, session: FetchSession) -> None:
        """Take it off the lists of those that may be evicted."""
        rank = session.rank
        if rank is None:
            return
        for ranks in (self._for_consumers, self._for_followers):
            at = bisect_left(ranks, rank)
            if at < len(ranks) and ranks[at] == rank:
                del ranks[at]

    def _evict(self, newcomer: Rank, now: TimestampMs) -> bool:
        """Make room: the one that is unused for long, else one worth less than `newcomer`."""
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None:
            return False
        if now - oldest.last_used_ms > MIN_EVICTION_MS:
            self._end(oldest)
            return True
        ranks = self._for_followers if newcomer[0] else self._for_consumers
        if not ranks or newcomer < ranks[0]:
            return False
        self._end(self._sessions[ranks[0][2]])
        return True

    def _end(self, session: FetchSession) -> None:
        del self._sessions[session.id]
        self._strike(session)
        session.is_open = False
        session.wake()
        for held in session.partitions.values():
            held.unwatch()
