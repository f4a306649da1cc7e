"""What a fetch is answered: one pass over its partitions, all that the request names or those of
its session that are due.

A pass reads when it is made. It is told by `response`, or not yet: then `wait` prepares for what is
missing, and another pass is made when that has come.

Source: Kafka's `FullFetchContext` and `IncrementalFetchContext`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from kafkalite.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kafkalite.replica.fetch_session import FetchSession, FetchWatcher, SessionPartition, Told
from kafkalite.types import Uuid


class NewSession(NamedTuple):
    """A session that the client wants."""

    names: Mapping[Uuid, str]
    """Of the topics that it would know by id."""
    begin: Callable[[list[Told]], int]
    """Makes it of what is told first; its id, or 0 when none is to be had."""


class FetchedFrom(Protocol):
    """What a partition, or a fetch session, keeps of the fetches that wait for it."""

    fetches: dict[FetchWatcher, None]


class FetchedPartition(FetchedFrom, Protocol):
    """A partition that was read."""

    topic: str


class Reader(Protocol):
    """Reads partition by partition, in the order that it is asked, within the limits of the
    whole."""

    @property
    def found(self) -> FetchedPartition | None:
        """The partition that was read last; None when that was refused, or has parted."""
        ...

    @property
    def visible_end(self) -> int:
        """Where what the client may see of it ends (exclusive)."""
        ...

    @property
    def partitions(self) -> Sequence[FetchedPartition]:
        """All that were read."""
        ...

    @property
    def unknown(self) -> Collection[object]:
        """Those that the metadata does not know."""
        ...

    def one(self, topic: str, topic_id: Uuid, asked: FetchPartition) -> PartitionData:
        """The answer of one partition."""
        ...

    def in_order(
        self, answers: list[tuple[str, Uuid, PartitionData]]
    ) -> list[FetchableTopicResponse]:
        """The answers, the unknown ones last."""
        ...

    def response(self, responses: list[FetchableTopicResponse]) -> FetchResponse:
        """With what stands at the top of an answer."""
        ...


class FetchPass(Protocol):
    """One pass."""

    @property
    def waits_at(self) -> Sequence[FetchedFrom]:
        """Where more may come; empty when nothing is known that could be waited for."""
        ...

    def told(self) -> Iterator[PartitionData]:
        """What `response` would tell."""
        ...

    def response(self) -> FetchResponse:
        """Tell what was read."""
        ...

    def wait(self) -> None:
        """It is not enough yet: hear of all that comes. What is on lease is the caller's to give
        back."""
        ...


class WholePass:
    """All that a request names."""

    __slots__ = ("_new_session", "_read", "_request", "_responses")

    def __init__(self, request: FetchRequest, new_session: NewSession | None, read: Reader) -> None:
        self._request = request
        self._new_session = new_session
        self._read = read
        self._responses = [
            FetchableTopicResponse(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=[
                    read.one(topic.topic, topic.topic_id, asked) for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]

    @property
    def waits_at(self) -> Sequence[FetchedFrom]:
        """See `FetchPass`."""
        return self._read.partitions

    def told(self) -> Iterator[PartitionData]:
        """See `FetchPass`."""
        for topic in self._responses:
            yield from topic.partitions

    def response(self) -> FetchResponse:
        """See `FetchPass`."""
        responses = self._responses
        if self._read.unknown:
            responses = self._read.in_order(
                [
                    (topic.topic, topic.topic_id, data)
                    for topic in responses
                    for data in topic.partitions
                ]
            )
        response = self._read.response(responses)
        if self._new_session is not None:
            told = self._first_told(self._new_session.names, responses)
            response.session_id = self._new_session.begin(told)
        return response

    def wait(self) -> None:
        """See `FetchPass`."""

    def _first_told(
        self, names: Mapping[Uuid, str], responses: list[FetchableTopicResponse]
    ) -> list[Told]:
        """The partitions of a new session stand in the order of the response."""
        asked = {
            (topic.topic, topic.topic_id, each.partition): each
            for topic in self._request.topics
            for each in topic.partitions
        }
        return [
            Told(
                topic.topic or names.get(topic.topic_id, ""),
                topic.topic_id,
                asked[topic.topic, topic.topic_id, data.partition_index],
                data,
            )
            for topic in responses
            for data in topic.partitions
        ]


class SessionPass:
    """The partitions of a session that are due."""

    __slots__ = ("_is_any_known", "_read", "_session", "_told", "_unsettled")

    def __init__(self, session: FetchSession, read: Reader) -> None:
        """Those that turn out to have nothing new are settled."""
        self._session = session
        self._read = read
        self._told: list[tuple[SessionPartition, PartitionData]] = []
        self._unsettled: list[tuple[SessionPartition, FetchedPartition]] = []
        for held in session.in_turn():
            data = read.one(held.topic, held.topic_id, held.asked)
            partition = read.found
            must_tell = held.must_tell(data)
            if must_tell:
                self._told.append((held, data))
            if partition is not None:
                held.topic = partition.topic
                if must_tell or held.asked.fetch_offset < read.visible_end:
                    self._unsettled.append((held, partition))
                else:
                    held.settle(partition.fetches)
        self._is_any_known = bool(read.partitions) or len(session.due) < len(session.partitions)

    @property
    def waits_at(self) -> Sequence[FetchedFrom]:
        """See `FetchPass`."""
        return [self._session] if self._is_any_known else []

    def told(self) -> Iterator[PartitionData]:
        """See `FetchPass`."""
        return (data for _, data in self._told)

    def response(self) -> FetchResponse:
        """See `FetchPass`."""
        session, read = self._session, self._read
        for held, data in self._told:
            session.tell(held, data)
        response = read.response(
            read.in_order([(held.topic, held.topic_id, data) for held, data in self._told])
        )
        response.session_id = session.id
        return response

    def wait(self) -> None:
        """See `FetchPass`."""
        for held, partition in self._unsettled:
            held.watch(partition.fetches)


def keep_last_wishes(request: FetchRequest) -> None:
    """Of a partition that stands in the request twice, only the last wish, at the first's place."""
    if len(request.topics) == 1 and len(request.topics[0].partitions) == 1:
        return
    wishes: dict[tuple[str, Uuid, int], FetchPartition] = {}
    for topic in request.topics:
        for asked in topic.partitions:
            wishes[topic.topic, topic.topic_id, asked.partition] = asked
    if len(wishes) == sum(len(topic.partitions) for topic in request.topics):
        return
    request.topics = []
    for (name, topic_id, _), asked in wishes.items():
        last = request.topics[-1] if request.topics else None
        if last is None or last.topic != name or last.topic_id != topic_id:
            last = FetchTopic(topic=name, topic_id=topic_id, partitions=[])
            request.topics.append(last)
        last.partitions.append(asked)
