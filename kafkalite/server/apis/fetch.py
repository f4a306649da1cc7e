"""Fetch: read record batches, waiting for them if there are too few.

Versions: 4 to 18.
- 4 isolation level, last stable offset. 5 log start offset. 7 fetch sessions (KIP-227).
- 9 fences by leader epoch (KIP-320). 10 zstd. 11 rack and preferred replica (KIP-392).
- 12 flexible, diverging epochs. 13 topics by id (KIP-516). 15 replica state (KIP-903).
- 16 tells the current leader (KIP-951). 17 directory ids. 18 high watermark (KIP-1166).

Records leave as slices of the segment file. The answer waits for `min_bytes`, at most
`max_wait_ms`; an error in any partition is answered at once, except that the metadata does not know
it. The first batch of the first partition
that has one is given whole, above every limit (KIP-74).

Each request begins a fetch session, belongs to one, or has none: `replica/fetch_session.py`.

Whoever tells the epoch of its last record (version 12 on) learns where its log and the leader's
part. A partition that is asked twice is answered once, as asked last.

Kafka differs: a negative `max_bytes` or `partition_max_bytes` gives UNKNOWN_SERVER_ERROR where
there are records. Here such a limit is 0."""

from __future__ import annotations

from collections.abc import Sequence

from kafkalite.errors import ErrorCode, KafkaError
from kafkalite.protocol.api_keys import ApiKey
from kafkalite.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kafkalite.replica.fetch_session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    FetchSession,
    SessionPartition,
)
from kafkalite.server.apis.api import Api
from kafkalite.server.fetch_reader import FetchReader, failure, is_follower, release_records
from kafkalite.server.partition import Partition
from kafkalite.server.purgatory import FetchedFrom, FetchWait, MakeAnswer, Parked
from kafkalite.server.request import RequestContext
from kafkalite.types import TimestampMs, Uuid

API = Api(
    ApiKey.FETCH,
    FetchRequest,
    FetchResponse,
    min_version=4,
    max_version=18,
    missing="followers; aborted transactions",
)

_ISOLATION_LEVELS = (0, 1)
"""read_uncommitted and read_committed."""
_FIRST_VERSION_WITH_TOPIC_IDS = 13


def handle(ctx: RequestContext, request: FetchRequest) -> FetchResponse | Parked:
    """Answer now if there is enough, an error, or no wish to wait; else park."""
    sessions = ctx.services.fetch_sessions
    session = None
    if request.session_epoch not in (INITIAL_EPOCH, FINAL_EPOCH):
        try:
            session = sessions.resume(
                request,
                uses_topic_ids=ctx.version >= _FIRST_VERSION_WITH_TOPIC_IDS,
                now=ctx.services.clock.now_ms(),
            )
        except KafkaError as error:
            return FetchResponse(error_code=error.code)
    elif request.session_id:
        sessions.remove(request.session_id)
    if request.isolation_level not in _ISOLATION_LEVELS:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    if session is not None:
        return _fetch_changes(ctx, request, session)
    return _fetch_all(ctx, request)


def refuse(request: FetchRequest, code: ErrorCode, message: str) -> FetchResponse:
    """The code stands at the top (version 7 on) and in every partition (before)."""
    return FetchResponse(
        error_code=code,
        responses=[
            FetchableTopicResponse(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=[failure(asked.partition, code) for asked in topic.partitions],
            )
            for topic in request.topics
        ],
    )


def release(response: FetchResponse) -> None:
    """Give back the slices of a response that is not sent."""
    for topic in response.responses:
        for partition in topic.partitions:
            release_records(partition)


# A request that names all its partitions.


def _fetch_all(ctx: RequestContext, request: FetchRequest) -> FetchResponse | Parked:
    _keep_last_of_each(request)
    names = _names(ctx, request)
    read = FetchReader(ctx, request)
    response = _read_all(read, request)
    if not read.partitions or not _has_to_wait(request, read):
        return _begin_session(ctx, request, names, response)
    # The slices of a wait are taken anew at its end, so that none is held while nothing is sent.
    release(response)

    def answer() -> FetchResponse:
        late = FetchReader(ctx, request, after_wait=read)
        return _begin_session(ctx, request, names, _read_all(late, request))

    return _wait(ctx, request, read, read.partitions, answer)


def _read_all(read: FetchReader, request: FetchRequest) -> FetchResponse:
    """Everything that may be given now, in the order asked."""
    responses = [
        FetchableTopicResponse(
            topic=topic.topic,
            topic_id=topic.topic_id,
            partitions=[read.one(topic.topic, topic.topic_id, asked) for asked in topic.partitions],
        )
        for topic in request.topics
    ]
    if read.unknown:
        responses = read.in_order(
            [
                (topic.topic, topic.topic_id, data)
                for topic in responses
                for data in topic.partitions
            ]
        )
    return read.response(responses)


def _keep_last_of_each(request: FetchRequest) -> None:
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


def _names(ctx: RequestContext, request: FetchRequest) -> dict[Uuid, str]:
    """Of the topics that a new session names by id, when the request came: a topic that goes later
    is one that the session knows."""
    if request.session_epoch != INITIAL_EPOCH:
        return {}
    known = ctx.services.image.topics_by_id
    return {
        topic.id: topic.name
        for topic in (known.get(asked.topic_id) for asked in request.topics)
        if topic is not None
    }


def _begin_session(
    ctx: RequestContext, request: FetchRequest, names: dict[Uuid, str], response: FetchResponse
) -> FetchResponse:
    """If the client wants one. Its partitions stand in the order of the response."""
    if request.session_epoch != INITIAL_EPOCH:
        return response
    asked = {
        (topic.topic, topic.topic_id, each.partition): each
        for topic in request.topics
        for each in topic.partitions
    }
    told = [
        (
            topic.topic or names.get(topic.topic_id, ""),
            topic.topic_id,
            asked[topic.topic, topic.topic_id, data.partition_index],
            data,
        )
        for topic in response.responses
        for data in topic.partitions
    ]
    services = ctx.services
    response.session_id = services.fetch_sessions.create(
        told,
        candidate_id=int.from_bytes(services.entropy.token_bytes(4), "big") >> 1 or 1,
        is_privileged=is_follower(request),
        uses_topic_ids=ctx.version >= _FIRST_VERSION_WITH_TOPIC_IDS,
        now=services.clock.now_ms(),
    )
    return response


# A request of a session, which knows the partitions.


def _fetch_changes(
    ctx: RequestContext, request: FetchRequest, session: FetchSession
) -> FetchResponse | Parked:
    read = FetchReader(ctx, request)
    changes = _Changes(session, read)
    is_any_known = bool(read.partitions) or len(session.due) < len(session.partitions)
    if not is_any_known or not _has_to_wait(request, read):
        return changes.response()
    changes.wait()

    def answer() -> FetchResponse:
        return _Changes(session, FetchReader(ctx, request, after_wait=read)).response()

    return _wait(ctx, request, read, [session], answer)


class _Changes:
    """One pass over the partitions of a session that are due."""

    __slots__ = ("_read", "_session", "_told", "_unsettled")

    def __init__(self, session: FetchSession, read: FetchReader) -> None:
        """Those that turn out to have nothing new are settled."""
        self._session = session
        self._read = read
        self._told: list[tuple[SessionPartition, PartitionData]] = []
        self._unsettled: list[tuple[SessionPartition, Partition]] = []
        for held in session.in_turn():
            data = read.one(held.topic, held.topic_id, held.asked)
            partition = read.found
            must_tell = held.must_tell(data)
            if must_tell:
                self._told.append((held, data))
            if partition is not None:
                held.topic = partition.topic
                if must_tell or held.asked.fetch_offset < data.high_watermark:
                    self._unsettled.append((held, partition))
                else:
                    held.settle(partition.fetches)

    def response(self) -> FetchResponse:
        """What is new."""
        session, read = self._session, self._read
        for held, data in self._told:
            session.tell(held, data)
        response = read.response(
            read.in_order([(held.topic, held.topic_id, data) for held, data in self._told])
        )
        response.session_id = session.id
        return response

    def wait(self) -> None:
        """It is not enough yet: hear of all that comes. The slices are given back until then."""
        for _, data in self._told:
            release_records(data)
        for held, partition in self._unsettled:
            held.watch(partition.fetches)


# Both.


def _has_to_wait(request: FetchRequest, read: FetchReader) -> bool:
    """Whether it is too little, if there is anything to wait for."""
    return request.max_wait_ms > 0 and read.size_bytes < request.min_bytes and not read.failed


def _wait(
    ctx: RequestContext,
    request: FetchRequest,
    read: FetchReader,
    at: Sequence[FetchedFrom],
    answer: MakeAnswer,
) -> Parked:
    """Until what is missing has come `at` these, or time is up."""
    clock = ctx.services.clock
    return FetchWait(
        clock,
        TimestampMs(clock.now_ms() + request.max_wait_ms),
        missing_bytes=request.min_bytes - read.size_bytes,
        partitions=at,
        answer=answer,
    ).parked
