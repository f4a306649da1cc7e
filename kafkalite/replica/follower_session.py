"""The fetch session that a follower has with one leader: what each request must name (KIP-227).

A stepping core. The first request names all partitions and asks for a session; the next ones name
those that are new or are to be fetched otherwise than before, and those that are to be left out.
Topics go by their ids.
A request that comes to nothing ends the session, as does an error of it: the next one names all
again. A leader without a free slot gives no session, and then every request names all.

Source: Kafka's `FetchSessionHandler`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kafkalite.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)
from kafkalite.replica.fetch_session import INITIAL_EPOCH, NO_SESSION
from kafkalite.types import Uuid

_MAX_EPOCH = 2**31 - 1


class PartitionKey(NamedTuple):
    """A partition, by the id of its topic."""

    topic_id: Uuid
    partition: int


class FollowerSession:
    """With one leader."""

    __slots__ = ("_changed", "_epoch", "_forgotten", "_id", "_wanted")

    def __init__(self) -> None:
        self._id = NO_SESSION
        self._epoch = INITIAL_EPOCH
        self._wanted: dict[PartitionKey, FetchPartition] = {}
        self._changed: dict[PartitionKey, FetchPartition] = {}
        """Not as the leader knows it."""
        self._forgotten: dict[PartitionKey, None] = {}
        """The leader has it still."""

    def __len__(self) -> int:
        return len(self._wanted)

    def asked(self, key: PartitionKey) -> FetchPartition | None:
        """How the leader was asked for it last; None when that is to be told otherwise, or was not
        told yet, or it is not fetched."""
        return None if key in self._changed else self._wanted.get(key)

    def want(self, key: PartitionKey, asked: FetchPartition) -> None:
        """Fetch a partition like this from now on."""
        self._wanted[key] = self._changed[key] = asked
        self._forgotten.pop(key, None)

    def leave_out(self, key: PartitionKey) -> None:
        """Fetch a partition no more; nothing happens if it is not fetched."""
        if self._wanted.pop(key, None) is not None:
            self._changed.pop(key, None)
            self._forgotten[key] = None

    @property
    def is_open(self) -> bool:
        """Whether the leader has it, as far as is known: then a request may follow another before
        that is answered."""
        return self._epoch != INITIAL_EPOCH

    @property
    def changed(self) -> frozenset[PartitionKey]:
        """What the next request is to name."""
        return frozenset(self._changed) | frozenset(self._forgotten)

    def fill(self, request: FetchRequest) -> None:
        """Name in `request`, which is sent next, what is to be named."""
        request.session_id, request.session_epoch = self._id, self._epoch
        is_whole = self._epoch == INITIAL_EPOCH
        request.topics = list(_by_topic(self._wanted if is_whole else self._changed))
        if not is_whole:
            request.forgotten_topics_data = list(_forgotten(self._forgotten))
            self._epoch = 1 if self._epoch == _MAX_EPOCH else self._epoch + 1
        self._changed = {}
        self._forgotten = {}

    def succeeded(self, session_id: int) -> None:
        """The leader has answered in the session of that id; 0: in none."""
        if session_id == NO_SESSION:
            self._id, self._epoch = NO_SESSION, INITIAL_EPOCH
        elif session_id != self._id:
            self._id, self._epoch = session_id, 1

    def failed(self) -> None:
        """The leader did not answer, or refused the session: begin another one. The one that was
        is closed by the next request, should the leader still have it."""
        self._epoch = INITIAL_EPOCH


def _by_topic(wanted: dict[PartitionKey, FetchPartition]) -> Iterator[FetchTopic]:
    topics: dict[Uuid, FetchTopic] = {}
    for key, asked in wanted.items():
        topic = topics.get(key.topic_id)
        if topic is None:
            topic = topics[key.topic_id] = FetchTopic(topic_id=key.topic_id, partitions=[])
        topic.partitions.append(asked)
    yield from topics.values()


def _forgotten(keys: dict[PartitionKey, None]) -> Iterator[ForgottenTopic]:
    topics: dict[Uuid, ForgottenTopic] = {}
    for key in keys:
        topic = topics.get(key.topic_id)
        if topic is None:
            topic = topics[key.topic_id] = ForgottenTopic(topic_id=key.topic_id, partitions=[])
        topic.partitions.append(key.partition)
    yield from topics.values()
